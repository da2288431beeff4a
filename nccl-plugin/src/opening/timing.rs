//! How the operations of a communicator are timed: by what its NCCL is asked for, and what that NCCL is known for.

use crate::interface::kind::event;
use crate::opening::asked;
use crate::opening::release::{self, Caller};
use common::config;
use common::event::{Mask, Timed};
use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicI32;

/// Nanoseconds that a stamp counts: NVIDIA's GPUs stamp nanoseconds, AMD's at 100 MHz.
const NVIDIA_TICK: u64 = 1;
const AMD_TICK: u64 = 10;

/// Of the communicator whose init is under way: `asked` are the event types that NCCL is asked for, `logger` is its
/// function for log lines, and `mask` its word for the types.
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

/// NCCL's word, where it is known to be a variable of its library and not of a function: it lies in the library of
/// NCCL's logger.
fn word(mask: *mut c_int, asked: u64, logger: *const c_void) -> Option<Mask> {
    if mask.is_null() || !release::lie_together(mask.cast_const().cast(), logger) {
        return None;
    }
    let without = asked & !(event::KERNEL_CH | event::KERNEL_PHASE);
    // SAFETY: an aligned int of a library that stays loaded as long as it calls us, and only then is it used; NCCL
    // reads and writes it as an atomic, too.
    let word = unsafe { AtomicI32::from_ptr(mask) };
    Some(Mask { word, with: asked as i32, without: without as i32 })
}
