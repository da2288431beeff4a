//! How to time the operations of a communicator, given the requested event types and the release of NCCL.

use crate::interface::kind::event;
use crate::opening::asked;
use crate::opening::release::{self, Caller};
use common::config::{self, Preset};
use common::event::{Mask, TimingOptions};
use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicI32;

/// Nanoseconds per tick of a stamp: NVIDIA's GPUs stamp in nanoseconds, AMD's at 100 MHz.
const NVIDIA_TICK: u64 = 1;
const AMD_TICK: u64 = 10;

/// Returns how to time the operations of the communicator whose init is in progress. `asked` are the requested event
/// types, `theirs` those of a second plugin among them, and `known` those of the interface; `logger` is NCCL's log function, and `mask` is NCCL's word for the event types.
pub(crate) fn of(
    caller: Caller,
    [asked, theirs, known]: [u64; 3],
    logger: *const c_void,
    mask: *mut c_int,
) -> TimingOptions {
    let settings = config::settings();
    let lookup = |name: &str| std::env::var(name).ok();
    let launches = asked::times_launches(settings, asked, lookup);
    let presets = |asked| presets(caller, [asked, theirs, known], launches, logger);
    TimingOptions {
        launches,
        counts_self: release::counts_self(caller.release),
        silent_broadcasts: release::has_silent_broadcasts(caller.release, lookup),
        gpu_tick: settings.gpu_tick.unwrap_or(if release::is_rccl(logger) { AMD_TICK } else { NVIDIA_TICK }),
        mask: word(mask, asked, logger, presets),
        asked: asked as i32,
    }
}

/// Returns NCCL's mask word if it is a static variable and not a local one: if it lies in the library that contains
/// NCCL's logger.
fn word(mask: *mut c_int, asked: u64, logger: *const c_void, presets: impl FnOnce(u64) -> [i32; 4]) -> Option<Mask> {
    if mask.is_null() || !release::lie_together(mask.cast_const().cast(), logger) {
        return None;
    }
    // SAFETY: NCCL guarantees an aligned int that lives as long as its library, and it is used only in calls from that
    // library. NCCL accesses it as an atomic, too.
    let word = unsafe { AtomicI32::from_ptr(mask) };
    let kernels = (event::KERNEL_CH | event::KERNEL_PHASE) as i32;
    let lacks_launches = asked & event::KERNEL_LAUNCH == 0;
    Some(Mask { word, own: asked as i32, presets: presets(asked), kernels, lacks_launches })
}

/// Returns the event types of each preset, for a switch while the process runs. Left out are:
///
/// - launches, if none are timed: CUDA's events are prepared when NCCL begins
/// - kernel channels, if NCCL is not asked for all operations from its begin: an operation that nobody has seen may put
///   the stamps out of step
fn presets(caller: Caller, [asked, theirs, known]: [u64; 3], launches: bool, logger: *const c_void) -> [i32; 4] {
    let mut settings = config::settings().clone();
    settings.mask = None;
    if release::is_rccl(logger) {
        settings.gpu_time = settings.gpu_time.without_events();
    }
    let operations = (event::COLL | event::P2P) & known;
    let kernels = if asked & operations == operations { 0 } else { event::KERNEL_CH | event::KERNEL_PHASE };
    let launches = if launches { 0 } else { event::KERNEL_LAUNCH };
    Preset::ALL.map(|preset| {
        settings.preset = preset;
        let types = asked::types(&settings, caller.release, known, |name| std::env::var(name).ok()).mask;
        (types & !(kernels | launches) | theirs) as i32
    })
}
