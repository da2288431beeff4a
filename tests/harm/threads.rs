//! Threads whose callbacks signals interrupt, and threads with small stacks.

use crate::harm::job::Job;
use crate::support::tool;
use std::path::Path;

/// Memory and windows so small that they come round all the time. The deadline is the usual one: a thread may lose its
/// processor within a callback, and its handler may wait for a child, for longer than a short one.
pub(crate) fn busy(name: &str, number: u32) -> Job {
    Job::scenario(name, number, &[]).set("NCCL_SCOREP_WINDOW_EVENTS", "64").set("NCCL_SCOREP_MEMORY_MB", "8")
}

/// A job with everything that has a thread of the library.
fn with_all_threads(scenario: &str, number: u32) -> Job {
    let nvml = Path::new(env!("NVML_STAND_IN")).parent().unwrap().to_str().unwrap();
    let job = Job::scenario(scenario, number, &[]).set("NCCL_SCOREP_RECORD", ".").set("NCCL_SCOREP_STATUS", "status");
    let job = job.set("NCCL_SCOREP_OTEL", "on").set("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:9");
    let job = job.set("NCCL_SCOREP_PROM_DIR", ".").set("NCCL_SCOREP_CONDITIONS", "all").set("NCCL_SCOREP_NVLINK", "on");
    job.set("LD_LIBRARY_PATH", nvml).set("NVML_STAND_IN_FILE", "/dev/null")
}

/// A profiler's SIGPROF, a thousand times a second on each thread.
#[test]
fn callbacks_that_a_signal_interrupts_are_as_others() {
    busy("interrupted", 0).check().figures();
    busy("interrupted_by_callbacks", 0).check().figures();
}

/// A program whose main thread ends by `pthread_exit` ends with its last thread, also with all of the library's threads.
#[test]
fn no_thread_of_the_library_keeps_a_process() {
    let job = Job::scenario("main_thread_that_ends_first", 0, &[]).set("NCCL_SCOREP_RECORD", ".");
    let job = job.set("NCCL_SCOREP_STATUS", "status").before(r#""$@"; status=$?; rm -rf status; exit $status"#);
    let found = job.check();
    found.figures();
    assert!(found.files() == [1, 1] && found.said.is_empty(), "{:?}", found.said);
    assert_eq!(found.figures().summaries[0]["complete"], true);
}

/// Among so many threads at full speed, the collector has a hundredth of a processor to read what is left.
#[test]
#[ignore = "a process that ends amid 200 threads"]
fn a_process_that_ends_in_a_crowd_of_threads_leaves_its_summary() {
    let found = Job::scenario("ended_in_a_crowd", 200, &[]).check();
    assert_eq!(found.figures().summaries[0]["complete"], true, "{:?}", found.said);
    assert!(!found.said.iter().any(|line| line.contains("for too long")), "{:?}", found.said);
}

/// Its thread holds the loader's lock until the process has ended; the library's threads do not need it.
#[test]
fn a_process_that_ends_within_the_loader_waits_for_no_thread() {
    let job = Job::scenario("left_within_the_loader", 0, &[env!("CONSTRUCTOR")]).set("NCCL_SCOREP_RECORD", ".");
    let over =
        r#""$@"; status=$?; grep -q '"over":[0-9]' status/*.status.json || status=9; rm -rf status; exit $status"#;
    let found = job.set("NCCL_SCOREP_STATUS", "status").before(over).check();
    found.figures();
    assert!(found.files() == [1, 1] && found.said.is_empty(), "{:?}", found.said);
}

/// The interrupted thread holds the lock of the C library's memory, for which the library's threads wait.
#[test]
fn a_signal_handler_may_end_the_process_within_an_init() {
    for allocation in [1, 2] {
        let job = Job::scenario("ended_within_an_init", allocation, &[]).set("NCCL_SCOREP_STATUS", "status");
        job.before(&format!("export LD_PRELOAD={}", env!("LOCKED_MEMORY"))).play();
    }
}

/// With everything that has a thread.
#[test]
fn the_librarys_threads_neither_call_the_loader_nor_read_the_environment() {
    let job = with_all_threads("left_to_own_threads", 0).set("WATCHED_CALLS", "calls");
    let job = job.before(&format!("export LD_PRELOAD={}", env!("WATCHED_CALLS")));
    job.play();
    assert_eq!(std::fs::read_to_string(job.path().join("calls")).unwrap(), "");
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

/// Also for the first init of a process, with everything that it begins.
#[test]
fn a_small_stack_is_large_enough_for_the_first_init() {
    let Ok(library) = tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing)) else { return };
    Job::scenario("begun_on_a_small_stack", 16, &[]).with_library(library.clone()).check().figures();
    let job = with_all_threads("begun_on_a_small_stack", 16).with_library(library);
    job.play();
    let is_of_exports =
        |line: &str| line.contains("could not be exported") || line.contains("built without OpenTelemetry");
    assert!(job.said().lines().all(is_of_exports), "{}", job.said());
}
