//! Threads whose callbacks signals interrupt or leave, threads that are cancelled, and threads with small stacks.

use crate::job::Job;
use crate::tool;

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

/// Those that were left lose their event, and no other one is lost. Several times, as it is chance whether the thread
/// is left as one that is in a callback.
#[test]
fn callbacks_that_a_handler_leaves_lose_their_event_alone() {
    for times in 100..104 {
        let job = busy("left_by_siglongjmp", times).set("NCCL_SCOREP_MEMORY_MB", "2");
        job.set("NCCL_SCOREP_DEADLINE_SECONDS", "0.05").check().figures();
    }
}

/// Where it makes what a thread has of its own: neither this one nor any other waits for that for ever.
#[test]
fn a_thread_that_a_handler_takes_out_of_its_first_callback_harms_no_other() {
    Job::scenario("left_in_its_first_callback", 0, &[]).check().figures();
}

/// Its callback lasts as long as the process, as far as anybody knows. The recording is written on, before its memory
/// is full.
#[test]
fn a_recording_does_not_wait_time_and_again_for_a_callback_that_was_left() {
    let job = Job::scenario("left_and_idle", 0, &[]).set("NCCL_SCOREP_RECORD", ".").set("NCCL_SCOREP_RECORD_MB", "1");
    // but for the first one, parts come when the memory fills up
    let found = job.set("NCCL_SCOREP_RECORD_SECONDS", "3600").check();
    found.figures();
    assert!(found.files() == [1, 1] && !found.said.iter().any(|line| line.contains("full")), "{:?}", found.said);
}

#[test]
fn threads_that_are_cancelled_end_between_callbacks() {
    busy("cancelled_amid_recording", 0).check().figures();
    busy("cancelled_while_waiting", 0).check().figures();
}

/// Also where they may be cancelled at any instruction.
#[test]
fn threads_that_are_cancelled_anywhere_are_in_no_callback() {
    busy("cancelled_anywhere", 0).check().figures();
    busy("cancelled_anywhere", 0).set("NCCL_SCOREP_RECORD", ".").check().figures();
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
