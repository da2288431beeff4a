//! Work at the first init of each NCCL: decide which event types to ask for, and tell the user.

pub mod asked;
pub(crate) mod image;
pub(crate) mod logger;
pub mod release;
pub mod shared_memory;
pub(crate) mod timing;
pub mod unasked;

use crate::interface::kind::event;
use crate::opening::asked::AskedTypes;
use crate::opening::image::Copies;
use crate::opening::logger::{LogLine, Logger};
use crate::opening::release::Caller;
use crate::opening::shared_memory::LEAST;
use common::clock::CLOCK;
use common::config::{GpuTime, Settings};
use common::{log, notes, origin, process};
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

/// The event types asked of each NCCL in this process: there may be two, PyTorch's and the system's.
static ASKED: Mutex<Vec<(Caller, u64)>> = Mutex::new(Vec::new());

/// Returns the event types to ask the caller for, out of the `known` types of its interface. The caller's first call
/// decides them, and gets a line for NCCL's log, too.
pub(crate) fn mask(caller: Caller, known: u64, logger: Logger) -> (u64, Option<LogLine>) {
    // a forked child does nothing here: it could wait forever for a thread that only its parent has
    let Some(recorder) = process::begin() else { return (0, None) };
    let mut settled = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&(_, mask)) = settled.iter().find(|(other, _)| *other == caller) {
        return (mask, None);
    }
    let mut settings = recorder.settings().clone();
    if release::is_rccl(logger.address()) {
        warn_of_no_cuda(&settings);
        settings.gpu_time = settings.gpu_time.without_events();
    }
    release::learn_types([caller.release]);
    let asked = asked::types(&settings, caller.release, known, |name| std::env::var(name).ok());
    origin::met(caller.known.then(|| caller.release.to_string()), caller.version);
    let line = introduction(caller, &settings, &asked);
    log::info(&line);
    warn(&asked, caller);
    settled.push((caller, asked.mask));
    (asked.mask, Some(LogLine::new(&line)))
}

/// Returns one line about NCCL, the event types and Score-P, for NCCL's log and the library's.
fn introduction(caller: Caller, settings: &Settings, asked: &AskedTypes) -> String {
    let types = match settings.mask {
        Some(_) => "mask".into(),
        None => format!("preset {}", settings.preset.name()),
    };
    let scorep = if CLOCK.is_score_p() { "with Score-P" } else { "without Score-P" };
    format!("scorep-nccl {}: {caller}, {types} (0x{:x}), {scorep}", env!("CARGO_PKG_VERSION"), asked.mask)
}

/// Warns of everything that needs the user's action.
fn warn(asked: &AskedTypes, caller: Caller) {
    for trouble in asked.left_out.iter().filter(|_| !asked.has_events) {
        let line = format!("GPU times are off: {}", trouble.told(caller));
        log::warn(&line);
        notes::add(line);
    }
    if asked.mask & event::KERNEL_CH != 0 {
        warn_of_shared_memory();
    }
    warn_of_copies();
}

/// Warns that events cannot time operations: AMD's GPUs have no CUDA events.
fn warn_of_no_cuda(settings: &Settings) {
    if settings.gpu_time == GpuTime::Events {
        let line = "GPU times are off: NCCL_SCOREP_GPU_TIME=events asks for CUDA's events, and the caller is RCCL. Set it to stamps";
        log::warn(line);
        notes::add(line.into());
    }
}

/// Warns once if the shared memory is too small for kernel events.
fn warn_of_shared_memory() {
    static ONCE: Once = Once::new();
    let Some(size) = shared_memory::size(Path::new("/dev/shm")).filter(|&size| size < LEAST) else { return };
    let (size, least) = (size >> 20, LEAST >> 20);
    ONCE.call_once(|| {
        log::warn(&format!(
            "/dev/shm has {size} MiB; NCCL's kernel events need more and can fail with less than {least} MiB. Enlarge it, or set \
             NCCL_SCOREP_PRESET=api"
        ));
    });
}

/// Warns once if the process has loaded several copies of this library.
fn warn_of_copies() {
    static ONCE: Once = Once::new();
    let Copies { others: others @ 1.., in_program } = image::copies() else { return };
    let line = if in_program {
        "this library is linked into the program, where NCCL calls it, and loaded as well: NCCL and Score-P do not reach the same \
         copy. Set NCCL_PROFILER_PLUGIN=scorep instead of STATIC_PLUGIN"
            .to_owned()
    } else {
        format!(
            "{} copies of this library are loaded: NCCL and Score-P do not reach the same one. Make the other names symbolic \
             links to libscorep_substrate_nccl.so",
            others + 1
        )
    };
    ONCE.call_once(|| {
        log::warn(&line);
        notes::add(line);
    });
}
