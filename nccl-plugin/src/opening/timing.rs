//! How to time the operations of a communicator, given the requested event types and the release of NCCL.

use crate::interface::kind::event;
use crate::opening::asked;
use crate::opening::release::{self, Caller};
use common::config;
use common::event::{Mask, Timed};
use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicI32;

/// Nanoseconds per tick of a stamp: NVIDIA's GPUs stamp in nanoseconds, AMD's at 100 MHz.
const NVIDIA_TICK: u64 = 1;
const AMD_TICK: u64 = 10;

/// Returns how to time the operations of the communicator whose init is in progress. `asked` are the requested event
/// types, `logger` is NCCL's log function, and `mask` is NCCL's word for the event types.
pub(crate) fn of(caller: Caller, asked: u64, logger: *const c_void, mask: *mut c_int) -> Timed {
    let settings = config::settings();
    let lookup = |name: &str| std::env::var(name).ok();
    Timed {
        launches: asked::times_launches(settings, asked, lookup),
        counts_self: release::counts_self(caller.release),
        silent_broadcasts: release::has_silent_broadcasts(caller.release, lookup),
        gpu_tick: settings.gpu_tick.unwrap_or(if release::is_rccl(logger) { AMD_TICK } else { NVIDIA_TICK }),
        mask: word(mask, asked, logger),
    }
}

/// Returns NCCL's mask word if it is a static variable and not a local one: if it lies in the library that contains
/// NCCL's logger.
fn word(mask: *mut c_int, asked: u64, logger: *const c_void) -> Option<Mask> {
    if mask.is_null() || !release::lie_together(mask.cast_const().cast(), logger) {
        return None;
    }
    let without = asked & !(event::KERNEL_CH | event::KERNEL_PHASE);
    // SAFETY: NCCL guarantees an aligned int that lives as long as its library, and it is used only in calls from that
    // library. NCCL accesses it as an atomic, too.
    let word = unsafe { AtomicI32::from_ptr(mask) };
    Some(Mask { word, with: asked as i32, without: without as i32 })
}
