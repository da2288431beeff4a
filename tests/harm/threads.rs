//! Threads whose callbacks signals interrupt, and threads with small stacks.

use crate::harm::job::Job;
use crate::support::tool;

/// Memory and windows so small that they come round all the time. The deadline is the usual one: a thread may lose its
/// processor within a callback, and its handler may wait for a child, for longer than a short one.
pub(crate) fn busy(name: &str, number: u32) -> Job {
    Job::scenario(name, number, &[]).set("NCCL_SCOREP_WINDOW_EVENTS", "64").set("NCCL_SCOREP_MEMORY_MB", "8")
}

/// A profiler's SIGPROF, a thousand times a second on each thread.
#[test]
fn callbacks_that_a_signal_interrupts_are_as_others() {
    busy("interrupted", 0).check().figures();
    busy("interrupted_by_callbacks", 0).check().figures();
}

/// The least that there may be, and 16 KiB. A debug build keeps copies on the stack that the shipped library does not
/// have.
#[test]
fn small_stacks_are_large_enough() {
    let Ok(library) = tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing)) else { return };
    for kibibytes in [0, 16] {
        Job::scenario("small_stacks", kibibytes, &[]).with_library(library.clone()).check().figures();
    }
}
