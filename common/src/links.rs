//! Rates of the machine's links, as they can be: NVLink and PCIe of the process' GPUs, and the network adapters that NCCL
//! would take. Read once, when NCCL makes its first communicator on a GPU (`NCCL_SCOREP_LINKS`).
//!
//! A thread of its own reads them and ends. No callback waits for it. NVML is asked only if NCCL has loaded it already: the
//! library loads nothing for this. What cannot be read is not known.

use crate::base::{log, own_thread, shortage};
use crate::config::Settings;
use crate::hardware::links as known;
pub use crate::hardware::links::{GpuLinks, ProcessLinks};
use crate::hardware::nics::SYSFS;
use crate::hardware::nics::rates::{Choice, rates};
use crate::hardware::nvml::{Nvml, NvmlGpu, NvmlLibrary};
use crate::hardware::pcie;
use crate::launch::gate::Gate;
use crate::origin;
use std::cell::LazyCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

/// Time for which the end of the process waits for a call of NVML's under way.
const UNDER_WAY: Duration = Duration::from_millis(200);

/// NCCL's choice of adapters; set if the rates are wanted.
static WANTED: OnceLock<Choice> = OnceLock::new();
/// Number of orders to read that are not over. The thread that takes the first one takes all.
static ORDERS: AtomicUsize = AtomicUsize::new(0);
/// Shut at the end of the process.
static GATE: LazyLock<Gate> = LazyLock::new(Gate::default);

/// Lets the rates be read later, if they are wanted. Called once, before the first communicator.
pub(crate) fn begin(settings: &Settings) {
    // a replay's job had the links of another machine
    if settings.links && !origin::is_recorded() {
        let _ = WANTED.set(Choice::of(|name| std::env::var(name).ok()));
    }
}

/// Returns whether the rates are wanted.
pub(crate) fn are_wanted() -> bool {
    WANTED.get().is_some()
}

/// Orders the rates to be read: NCCL makes a communicator, on a GPU that was not met before if `is_new`. On NCCL's
/// thread; returns at once. `gpus` returns the places of the GPUs that were met, `asks` whether a thread of NVLink's asks
/// NVML for them.
pub(crate) fn open(is_new: bool, gpus: fn() -> Vec<String>, asks: fn() -> bool) {
    let Some(choice) = WANTED.get() else { return };
    let is_first = || !known::are_noted();
    if !(is_new || is_first()) || ORDERS.fetch_add(1, Ordering::AcqRel) > 0 {
        return;
    }
    let library = NvmlLibrary::loaded();
    let guarded = move || {
        let nvml = LazyCell::new(|| library?.begin().ok());
        let read = || {
            let mut orders = ORDERS.load(Ordering::Acquire);
            loop {
                read(choice, gpus, asks, || nvml.as_ref());
                match ORDERS.compare_exchange(orders, 0, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => return,
                    Err(more) => orders = more,
                }
            }
        };
        if catch_unwind(AssertUnwindSafe(read)).is_err() {
            log::warn("a fault in the reading of the links' rates was stopped; they are not known, all else goes on");
        }
    };
    if own_thread::spawn("scorep-nccl-lnk", guarded).is_err() {
        ORDERS.store(0, Ordering::Release);
    }
}

/// Reads the rates of all GPUs that were met, and of the adapters.
fn read<'a>(choice: &Choice, gpus: fn() -> Vec<String>, asks: fn() -> bool, nvml: impl Fn() -> Option<&'a Nvml>) {
    if shortage::is_out_of_memory() {
        own_thread::stop();
    }
    let (sysfs, buses) = (Path::new(SYSFS), gpus());
    let adapters = rates(sysfs, choice);
    let gpus: Vec<GpuLinks> = buses
        .into_iter()
        .map(|gpu| GpuLinks { pcie_mbit_s: pcie::mbit_s(sysfs, &gpu), gpu, ..GpuLinks::default() })
        .collect();
    let places: Vec<String> = gpus.iter().map(|gpu| gpu.gpu.clone()).collect();
    known::note(|known| {
        known.adapters = adapters;
        gpus.into_iter().for_each(|gpu| known.of(&gpu.gpu).pcie_mbit_s = gpu.pcie_mbit_s);
    });
    // its thread asks NVML for everything
    if asks() {
        return;
    }
    let Some(_inside) = GATE.enter() else { return };
    let Some(nvml) = nvml() else { return };
    for place in places {
        if let Ok(gpu) = nvml.at(&place) {
            note_nvlinks(nvml, &gpu);
        }
    }
}

/// Asks NVML for a GPU's NVLinks. Not on a thread of NCCL's or of the application's.
pub(crate) fn note_nvlinks(nvml: &Nvml, gpu: &NvmlGpu) {
    let Some((links, mbit_s)) = nvml.nvlinks_up(gpu).filter(|_| are_wanted()) else { return };
    known::note(|known| {
        let of = known.of(&gpu.bus);
        (of.nvlinks, of.nvlink_mbit_s) = (Some(links), Some(mbit_s).filter(|&rate| rate > 0));
    });
}

/// Ends all calls of NVML, before the process' libraries end.
pub(crate) fn end() {
    if ORDERS.load(Ordering::Acquire) > 0 {
        GATE.shut();
        GATE.wait(UNDER_WAY);
    }
}
