//! The file of a process' state where CUDA's events time the kernels: does it say that the GPU's stream has come to an
//! operation, also if the report comes before the operation is read; that nothing is known where events give no time;
//! and that the library's thread does not answer, or is off? CUDA's driver is a stand-in (tests/c/cuda/cuda_driver.c).

use crate::support::{status, tool};

use common::status::Status;
use common::status::request::StatusRequest;
use serde_json::{Value, json};
use status::{Job, of};
use std::time::{Duration, Instant};

/// Events alone time operations.
const EVENTS: &[(&str, &str)] = &[
    ("NCCL_SCOREP_GPU_TIME", "events"),
    ("HOST_DRIVER", env!("CUDA_STAND_IN")),
    ("NCCL_SCOREP_SETTLE_SECONDS", "0.001"),
];

/// Whether each operation has begun and has finished.
fn stages(status: &Status) -> Vec<(bool, bool)> {
    let operations = &of(status, "ab").operations;
    operations.iter().map(|operation| (operation.begun.is_some(), operation.finished.is_some())).collect()
}

#[test]
fn events_show_that_the_gpu_has_come_to_an_operation() {
    for version in [6, 7] {
        let mut job = Job::begin(version, EVENTS);
        job.order("init ab 0 2\n kernel a ab AllReduce 8 ncclInt8 10 20\n kernel b ab AllReduce 8 ncclInt8 30 40");
        let status = job.next_status();
        assert!(of(&status, "ab").sees_gpu, "{status:#?}");
        assert_eq!(stages(&status), [(false, false); 2]);
        job.order("gpu_at 10");
        assert_eq!(stages(&job.next_status()), [(true, false), (false, false)]);
        // both kernels' times have come: the first is over, and the stream has come to the second
        job.order("gpu_at 35");
        let status = job.next_status();
        assert_eq!(stages(&status), [(true, true), (true, false)]);
        assert_eq!((of(&status, "ab").begun, of(&status, "ab").finished), (2, 1));
        job.order("gpu_at 50");
        let status = job.next_status();
        assert_eq!(stages(&status), [(true, true); 2]);
        assert_eq!((of(&status, "ab").begun, of(&status, "ab").finished), (2, 2));
        assert_eq!(job.end()["operations"][0]["count"], 2);
    }
}

/// The report of its end comes before the operation is read.
#[test]
fn the_end_of_a_short_kernel_is_seen_though_no_operation_follows() {
    let mut job = Job::begin(7, EVENTS);
    let finished = |job: &Job| stages(&job.next_status()).iter().filter(|(_, finished)| *finished).count();
    job.order("init ab 0 2\n gpu_at 50\n kernel a ab AllReduce 8 ncclInt8 10 20");
    assert_eq!(finished(&job), 1);
    job.order("kernel b ab AllReduce 8 ncclInt8 51 60\n gpu_at 70\n kernel c ab AllReduce 8 ncclInt8 0 0");
    assert_eq!(finished(&job), 3);
    let status = job.next_status();
    assert_eq!((of(&status, "ab").begun, of(&status, "ab").finished), (3, 3));
}

/// Nothing tells when an operation of a graph is over: it must not pass for one that the GPU does not begin.
#[test]
fn an_operation_that_events_do_not_time_is_not_followed() {
    let mut job = Job::begin(7, EVENTS);
    job.order("init ab 0 1\n kernel a ab AllReduce 8 ncclInt8 0 10\n gpu_at 20");
    assert!(of(&job.next_status(), "ab").sees_gpu);
    job.order("captured b ab AllReduce 8 ncclInt8");
    let status = job.next_status();
    assert!(!of(&status, "ab").sees_gpu && of(&status, "ab").operations.iter().all(|one| one.finished.is_none()));
    let answer = hang(&job, "0.1");
    assert_eq!((answer["verdict"].as_str(), &answer["findings"]), (Some("idle"), &json!([])), "{answer:#}");
    job.order("kernel c ab AllReduce 8 ncclInt8 20 30\n gpu_at 40");
    assert!(of(&job.next_status(), "ab").sees_gpu);
}

/// The answer of `hang`, where waits count from so many seconds on.
fn hang(job: &Job, after: &str) -> Value {
    let mut hang = tool::tool();
    hang.arg("hang").arg(job.status_directory()).args(["--json", "--after", after]);
    serde_json::from_slice(&hang.output().unwrap().stdout).unwrap()
}

#[test]
fn hang_tells_an_operation_that_the_gpu_has_not_begun_from_one_that_does_not_end() {
    let mut job = Job::begin(7, EVENTS);
    job.order("init ab 0 1\n kernel a ab AllReduce 8 ncclInt8 10 20");
    job.next_status();
    let cause = |job: &Job| hang(job, "0.1")["findings"][0]["cause"].clone();
    assert_eq!(cause(&job), "not_begun");
    job.order("gpu_at 10");
    job.next_status();
    assert_eq!(cause(&job), "unfinished");
    job.order("gpu_at 20");
    job.next_status();
    assert_eq!(hang(&job, "0.1")["findings"], json!([]));
}

/// The library's thread asks CUDA, which does not answer. The job goes on.
#[test]
fn a_library_that_does_not_answer_is_said_to_be_silent() {
    let mut job = Job::begin(7, EVENTS);
    job.order("init ab 0 2\n kernel a ab AllReduce 8 ncclInt8 10 20");
    let before = job.next_status();
    assert_eq!(before.silent_since, None);
    job.order("hold\n kernel b ab AllReduce 8 ncclInt8 30 40");
    let status = job.await_status(|status| status.silent_since.is_some());
    assert!(status.silent_since.unwrap() >= before.written && status.silent_since.unwrap() <= status.written);
    // it is written on, with the state of before
    let later = job.next_beat(|_| true);
    assert_eq!((later.silent_since, later.over), (status.silent_since, None));
    let answer = hang(&job, "0.1");
    assert_eq!((answer["verdict"].as_str(), &answer["findings"]), (Some("unknown"), &json!([])), "{answer:#}");
    let unknown = answer["unknown"].to_string();
    assert!(unknown.contains("the library's thread has not answered: the state is an old one"), "{unknown}");
    job.order("release\n gpu_at 50");
    let status = job.await_status(|status| status.silent_since.is_none());
    assert_eq!(of(&status, "ab").operations.len(), 2);
    assert!(hang(&job, "60")["unknown"].to_string().find("answered").is_none());
    assert_eq!(job.end()["operations"][0]["count"], 2);
    assert_eq!(job.status().unwrap().silent_since, None);
}

#[test]
fn a_library_that_is_off_says_why() {
    let mut job = Job::begin(7, &[("NCCL_SCOREP_PRESET", "api"), ("NCCL_SCOREP_PANIC", "stop_event")]);
    job.order("init ab 0 2");
    assert_eq!(job.next_status().off, None);
    // the call returns, which the library does not see any more
    job.order("call c ab AllReduce 8 ncclInt8\n return c");
    let status = job.await_status(|status| status.off.is_some());
    assert!(status.off.as_ref().unwrap().contains("a fault in stop_event was stopped"), "{status:#?}");
    job.order("whole ab 3");
    assert_eq!(job.next_status().off, status.off);
    let answer = hang(&job, "0.1");
    assert_eq!((answer["verdict"].as_str(), &answer["findings"]), (Some("unknown"), &json!([])), "{answer:#}");
    assert!(answer["unknown"].to_string().contains("nothing is recorded: a fault in stop_event"), "{answer:#}");
    assert!(job.wait().success());
    assert!(job.status().unwrap().over.is_some() && job.status().unwrap().off.is_some());
}

/// An operation that the figures have given up stays unfinished in the status, and so does its transfer, until a later
/// operation shows that it is over: its own end is not seen any more.
#[test]
fn an_end_behind_the_deadline_is_learnt_from_the_next_operation() {
    let settings = [
        ("NCCL_SCOREP_PRESET", "full"),
        ("NCCL_SCOREP_TRUST_NCCL", "on"),
        ("NCCL_SCOREP_DEADLINE_SECONDS", "0.1"),
        ("NCCL_SCOREP_WINDOW_SECONDS", "0.1"),
        ("NCCL_SCOREP_SUMMARY_SECONDS", "0"),
    ];
    let mut job = Job::begin(7, &settings);
    job.order("init ab 0 2\n start a ab AllReduce 8 ncclInt8\n begin a\n proxy p a 1 0 1\n step s p\n sent s");
    let given_up = || {
        let ticket = job.ask(StatusRequest { summary: true, ..StatusRequest::default() });
        let path = job.answered(&ticket).answer.unwrap().summary.unwrap();
        let summary: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        summary["processes"][0]["unfinished"] != 0
    };
    job.next_status();
    let begun = Instant::now();
    while !given_up() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the operation is not given up");
    }
    let shown = |status: &Status| (stages(status)[0], of(status, "ab").waits.len());
    assert_eq!(shown(&job.next_status()), ((true, false), 1));
    job.order("end s\n end p\n finish a");
    assert_eq!(shown(&job.next_status()), ((true, false), 1));
    job.order("whole ab 1");
    assert_eq!(shown(&job.next_status()), ((true, true), 0));
}
