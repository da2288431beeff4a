//! The functions that a program calls which replays recorded callbacks, and one for programs that read the figures
//! themselves. NCCL and Score-P never call them.

use crate::opening::release::{Release, learn_types};
use common::guard::guard;
use common::{callbacks, origin};
use std::ffi::{CStr, c_char, c_int};

/// Passes the recorded event times of the calling thread's next kernel launch. A program that replays recorded
/// callbacks calls this right before the launch's callback.
///
/// - `first`, `last`: the events before and behind the launch, nanoseconds of the events' clock.
/// - `learnt`: when the recording process learnt these times, ticks.
/// - `begin`: when the kernel began, nanoseconds of the events' clock; 0 if the recording lacks it.
/// - `at`: when the first event was recorded, ticks; 0 for the time of the launch's callback.
#[unsafe(no_mangle)]
pub extern "C" fn scorep_nccl_kernel_events(first: u64, last: u64, learnt: u64, begin: u64, at: u64) {
    guard("scorep_nccl_kernel_events", (), || {
        let begin = Some(begin).filter(|&begin| begin != 0);
        callbacks::replay_launch(common::launch::Recorded { first, begin, last, learnt, at, anchor: None });
    });
}

/// Passes an anchor of the clock of CUDA's events from a recording, right before [`scorep_nccl_kernel_events`]: the moment
/// `time`, nanoseconds of the events' clock, lies between `from` and `until`, ticks.
#[unsafe(no_mangle)]
pub extern "C" fn scorep_nccl_kernel_anchor(time: u64, from: u64, until: u64) {
    guard("scorep_nccl_kernel_anchor", (), || callbacks::replay_anchor(common::launch::Anchor { from, until, time }));
}

/// Says how many callbacks the recording lacks; they count as dropped. A program that replays recorded callbacks calls
/// this.
#[unsafe(no_mangle)]
pub extern "C" fn scorep_nccl_recording_lacks(callbacks: u64) {
    guard("scorep_nccl_recording_lacks", (), || common::missing::lack(callbacks));
}

/// Names the recorded process: its process id, and the description that the first line of a recording has. A program
/// that replays recorded callbacks calls this before the first init. A description that cannot be read is ignored.
///
/// # Safety
/// `process` is NULL or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scorep_nccl_recorded_process(pid: u32, process: *const c_char) {
    guard("scorep_nccl_recorded_process", (), || {
        // SAFETY: the caller upholds the condition.
        let text = (!process.is_null()).then(|| unsafe { CStr::from_ptr(process) });
        if let Some(text) = text {
            origin::replay(pid, text.to_bytes());
            learn_types(origin::of_figures().1.releases().map(Release));
        }
    });
}

/// Says that the recording ends before the recorded process did. A program that replays recorded callbacks calls this.
#[unsafe(no_mangle)]
pub extern "C" fn scorep_nccl_recording_is_cut() {
    guard("scorep_nccl_recording_is_cut", (), common::missing::cut);
}

/// Waits at most `milliseconds` until the figures include everything recorded before the call. Returns 1 if they do, 0
/// otherwise.
///
/// NCCL and Score-P never call this. Programs that read the figures themselves or replay recorded callbacks may call
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn scorep_nccl_flush(milliseconds: u32) -> c_int {
    guard("scorep_nccl_flush", 0, || {
        let patience = std::time::Duration::from_millis(u64::from(milliseconds));
        c_int::from(common::control::flush(patience))
    })
}
