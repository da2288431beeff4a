//! Bytes over NVLink, as NVML counts them on the process' GPUs while it runs (`NCCL_SCOREP_NVLINK`), beside those that
//! NCCL's operations should have moved; and the rate over PCIe and the bytes of the node's network adapters.
//!
//! A thread of its own calls NVML, once a second. The same thread reads the GPUs' conditions ([`conditions`]). Nobody waits for it without a deadline, since a call of NVML's may
//! hang where a GPU has failed. NVML counts all traffic of a GPU, of all processes.

mod bytes;
mod gpus;
mod rates;
mod watched;

use crate::base::answer::{self, Reply};
use crate::base::bell::Bell;
use crate::base::{lock, log, moments, own_thread, shortage};
use crate::clock::CLOCK;
use crate::config::Settings;
use crate::hardware::Ways;
use crate::hardware::nics::{self, SYSFS};
use crate::hardware::nvml::NvmlLibrary;
use crate::launch::gate::Gate;
use crate::sums::run_sums::{CommunicatorRank, MovedBytes, OverNvlink};
use crate::{conditions, links, origin};
pub use bytes::{AbsenceReason, AdapterBytes, GpuBytes, PcieRate};
use crossbeam_queue::ArrayQueue;
pub(crate) use rates::{rates, want as want_rates};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};
use watched::{Adapters, WatchedGpu};

/// Time between two readings.
const PERIOD: Duration = Duration::from_secs(1);
/// Time for which the end of the measurement waits for the last reading.
const LAST: Duration = Duration::from_millis(500);
/// Time for which the end of the process waits for a call of NVML's under way.
const UNDER_WAY: Duration = Duration::from_millis(200);

/// All figures of the last reading.
#[derive(Debug, Clone, PartialEq)]
pub struct NvlinkReading {
    /// Seconds from the first reading to the last one.
    pub seconds: f64,
    /// The process' GPUs.
    pub gpus: Vec<GpuBytes>,
    /// The node's network adapters.
    pub adapters: Vec<AdapterBytes>,
    /// Why there are no GPUs here.
    pub why: Option<AbsenceReason>,
    /// Whether NVML has not answered at the end: the figures are those of an earlier moment.
    pub is_old: bool,
    /// Whether this was read after the end of the measurement, so that all operations' bytes are among these.
    pub is_last: bool,
}

static READING: Mutex<Option<NvlinkReading>> = Mutex::new(None);
/// Orders for one more reading each, which the thread answers.
static ORDERS: LazyLock<ArrayQueue<Reply<()>>> = LazyLock::new(|| ArrayQueue::new(4));
static BELL: LazyLock<Bell> = LazyLock::new(Bell::default);
/// Shut at the end of the process.
static GATE: LazyLock<Gate> = LazyLock::new(Gate::default);
/// Bytes over NVLink of all GPUs together.
static SUMS: Ways<AtomicU64> = Ways { sent: AtomicU64::new(0), received: AtomicU64::new(0) };
/// Set while the thread runs.
static RUNS: AtomicBool = AtomicBool::new(false);
/// Whether it reads bytes.
static COUNTS: AtomicBool = AtomicBool::new(false);
/// Whether it reads the GPUs' conditions.
static WATCHES: AtomicBool = AtomicBool::new(false);
/// Set at the end of the measurement.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Begins to read, if it is wanted. Called once, before the first event. Not inlined, for threads with little stack.
#[inline(never)]
pub(crate) fn begin(settings: &Settings) {
    // a replay's operations have moved nothing on this machine
    let (counts, watches) = (settings.nvlink && !origin::is_recorded(), conditions::have_gpus(settings));
    if !counts && !watches {
        return;
    }
    COUNTS.store(counts, Ordering::Relaxed);
    WATCHES.store(watches, Ordering::Relaxed);
    if counts {
        // the first word, for whoever asks before NVML has answered
        publish(NvlinkReading::without("NVML has not answered yet"));
    }
    RUNS.store(true, Ordering::Relaxed);
    let library = NvmlLibrary::load();
    let guarded = move || {
        if catch_unwind(AssertUnwindSafe(|| watch(library))).is_err() {
            log::warn(
                "a fault in the reading of NVML's figures was stopped; they are not read from here on, all else goes on",
            );
            set_old(true);
        }
        RUNS.store(false, Ordering::Relaxed);
    };
    if let Err(error) = own_thread::spawn("scorep-nccl-nvl", guarded) {
        RUNS.store(false, Ordering::Relaxed);
        let why = format!("no thread to ask NVML with ({error})");
        log::warn(&format!("{why}: NVML's figures are not read"));
        if counts {
            publish(NvlinkReading::without(&why));
        }
    }
}

/// Notes the GPU of a new communicator, on NCCL's thread, whose current GPU it is. Not for the hot path. `counts_gpus`
/// says whether somebody asks [`has_several_gpus`].
pub(crate) fn open(rank: Option<CommunicatorRank>, counts_gpus: bool) {
    let runs = RUNS.load(Ordering::Relaxed);
    let is_new = (runs || counts_gpus || links::are_wanted()) && gpus::note(rank);
    if is_new {
        conditions::gpus::meet(gpus::all());
    }
    if runs && is_new {
        // its counters' zero should lie before its first operation
        BELL.ring();
    }
    links::open(is_new, self::gpus, self::runs);
}

/// Returns whether a thread asks NVML for the bytes.
pub(crate) fn runs() -> bool {
    RUNS.load(Ordering::Relaxed)
}

/// Returns the process' GPUs that were met, by their places on the PCI bus.
pub(crate) fn gpus() -> Vec<String> {
    gpus::all()
}

/// Returns whether the process has made communicators on more than one GPU.
pub(crate) fn has_several_gpus() -> bool {
    gpus::count() > 1
}

/// Returns the GPU of a rank whose communicator has ended, and forgets the rank.
pub(crate) fn close(rank: CommunicatorRank) -> Option<String> {
    let gpu = gpus::of(rank);
    gpus::forget(rank);
    gpu
}

/// Reads the bytes once more, and waits for it a little.
pub(crate) fn last() {
    if !RUNS.load(Ordering::Relaxed) || !COUNTS.load(Ordering::Relaxed) {
        return;
    }
    // who has not answered since the last order is not waited for a second time
    let is_silent = lock::hold(&READING).is_some_and(|reading| reading.as_ref().is_some_and(|last| last.is_old));
    ENDS.store(true, Ordering::Release);
    let (reply, answer) = answer::pair();
    let ordered = ORDERS.push(reply).is_ok();
    BELL.ring();
    set_old(!ordered || answer.wait(if is_silent { Duration::ZERO } else { LAST }).is_err());
}

fn set_old(is_old: bool) {
    if let Some(mut reading) = lock::hold(&READING)
        && let Some(reading) = reading.as_mut()
    {
        reading.is_old = is_old;
    }
}

/// Ends all calls of NVML, before the process' libraries end.
pub(crate) fn end() {
    if RUNS.load(Ordering::Relaxed) {
        GATE.shut();
        GATE.wait(UNDER_WAY);
    }
}

/// Returns the last reading; `None` if it was not asked for.
pub fn reading() -> Option<NvlinkReading> {
    lock::hold(&READING)?.clone()
}

/// Returns the bytes over NVLink of all the process' GPUs together, at the last reading.
pub(crate) fn sums() -> Ways<u64> {
    Ways { sent: SUMS.sent.load(Ordering::Relaxed), received: SUMS.received.load(Ordering::Relaxed) }
}

/// Sums the bytes that NCCL's operations should have moved, by GPU. Ranks whose GPU is not known stand under `None`.
pub(crate) fn by_gpu(moved: &OverNvlink) -> BTreeMap<Option<String>, MovedBytes> {
    moved.by_gpu(gpus::of)
}

impl NvlinkReading {
    fn without(why: &str) -> Self {
        let why = Some(AbsenceReason(why.into()));
        Self { seconds: 0.0, gpus: vec![], adapters: vec![], why, is_old: false, is_last: false }
    }
}

fn publish(reading: NvlinkReading) {
    let counted = || reading.gpus.iter().filter_map(|gpu| gpu.nvlink.as_ref().ok());
    SUMS.sent.store(counted().map(|bytes| bytes.sent).sum(), Ordering::Relaxed);
    SUMS.received.store(counted().map(|bytes| bytes.received).sum(), Ordering::Relaxed);
    if let Some(mut last) = lock::hold(&READING) {
        *last = Some(reading);
    }
}

/// Runs the thread.
fn watch(library: Result<NvmlLibrary, String>) {
    let nvml = {
        let Some(_inside) = GATE.enter() else { return };
        library.and_then(NvmlLibrary::begin)
    };
    let counts = COUNTS.load(Ordering::Relaxed);
    if nvml.is_err() && !counts {
        return;
    }
    let mut watched: Vec<WatchedGpu> = vec![];
    let mut adapters = Adapters::default();
    let begun = Instant::now();
    loop {
        if shortage::is_out_of_memory() {
            own_thread::stop();
        }
        let order = ORDERS.pop();
        let is_last = ENDS.load(Ordering::Acquire);
        let next = moments::after(Instant::now(), PERIOD);
        let Some(inside) = GATE.enter() else { return };
        if let Ok(nvml) = &nvml {
            for bus in gpus::all() {
                if !watched.iter().any(|gpu| gpu.is_at(&bus)) {
                    watched.push(WatchedGpu::new(nvml, bus));
                }
            }
            if WATCHES.load(Ordering::Relaxed) {
                watched.iter_mut().for_each(|gpu| gpu.watch(nvml));
            }
            if counts {
                watched.iter_mut().for_each(|gpu| gpu.read(nvml));
            }
        }
        drop(inside);
        if !counts {
            BELL.wait(next.saturating_duration_since(Instant::now()));
            continue;
        }
        adapters.read(nics::read(Path::new(SYSFS)));
        let why = match &nvml {
            Err(why) => Some(AbsenceReason(why.clone())),
            Ok(_) if watched.is_empty() => {
                Some(AbsenceReason("CUDA has not named a GPU of the process' communicators".into()))
            }
            Ok(_) => None,
        };
        publish(NvlinkReading {
            seconds: begun.elapsed().as_secs_f64(),
            gpus: watched.iter().map(WatchedGpu::bytes).collect(),
            adapters: adapters.bytes(),
            why,
            is_old: false,
            is_last,
        });
        rates::take(CLOCK.now(), Instant::now(), sums());
        match (order, &nvml) {
            (Some(order), _) => order.give(()),
            (None, Ok(nvml)) => {
                for gpu in &mut watched {
                    // a measurement takes 40 ms: the end waits for one of them at most
                    let Some(_inside) = GATE.enter().filter(|_| ORDERS.is_empty()) else { break };
                    gpu.measure_pcie(nvml);
                }
            }
            (None, Err(_)) => {}
        }
        if ORDERS.is_empty() {
            BELL.wait(next.saturating_duration_since(Instant::now()));
        }
    }
}
