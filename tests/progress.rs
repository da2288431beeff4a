//! The marks and links of a process' state (`NCCL_SCOREP_STATUS`): are the times between marks those of the GPU, at the
//! same numbers on all ranks, and are there none where the times are not known?
//!
//! The hosts choose the stamps of the GPU, so marks are compared exactly.

use crate::support::status;

use common::status::StatusCommunicator;
use common::status::progress::{LinkSum, MOST_MARKS, ProgressMark};
use status::{Job, of};

const SETTINGS: &[(&str, &str)] = &[("NCCL_SCOREP_PRESET", "full"), ("NCCL_SCOREP_TRUST_NCCL", "on")];

fn begun(settings: &[(&str, &str)]) -> Job {
    Job::begin(7, &[SETTINGS, settings].concat())
}

/// Waits until the last mark of a communicator has this number.
fn marked(job: &Job, comm: &str, number: u64) -> StatusCommunicator {
    let is_marked = |one: &StatusCommunicator| one.marks.last().is_some_and(|mark| mark.number >= number);
    let is_there = |one: &StatusCommunicator| one.comm.ends_with(comm) && is_marked(one);
    of(&job.await_status(|status| status.communicators.iter().any(is_there)), comm).clone()
}

/// Numbers and own times of marks.
fn own(marks: &[ProgressMark]) -> Vec<(u64, u64)> {
    marks.iter().map(|mark| (mark.number, mark.own)).collect()
}

/// Two ranks, one of which is slower, have marks at the same numbers, whose own times are those of the plan.
#[test]
fn own_times_are_exact_and_numbers_agree() {
    let periods = [50_000, 57_000];
    let jobs = periods.map(|period| {
        let mut job = begun(&[]);
        job.order(&format!("init ab {} 2\n timed ab 40 1000 20000 {period}\n run", u64::from(period > 50_000)));
        job
    });
    for (job, period) in jobs.iter().zip(periods) {
        let status = marked(job, "ab", 40);
        // the first one begins the time
        let plan: Vec<_> = (1..=40).map(|number| (number, (number - 1) * (period - 20_000))).collect();
        assert_eq!((status.stride, own(&status.marks)), (1, plan));
        assert!(status.marks.iter().all(|mark| (mark.operations, mark.bytes) == (mark.number, 4096 * mark.number)));
        let times: Vec<u64> = status.marks.iter().map(|mark| mark.time).collect();
        assert!(times.is_sorted() && times[0] >= status.opened && times[39] <= job.status().unwrap().written);
    }
}

/// There are at most 64 marks: the newest ones, at multiples of a power of two, until they are a second apart.
#[test]
fn strides_double() {
    let mut job = begun(&[]);
    job.order("init ab 0 2\n timed ab 1000 0 20000 50000\n run");
    let status = marked(&job, "ab", 1000 / 16 * 16);
    assert_eq!(status.stride, 16);
    assert_eq!(own(&status.marks), (1..=62).map(|place| (16 * place, (16 * place - 1) * 30_000)).collect::<Vec<_>>());
    job.order("timed ab 3096 0 20000 50000\n run");
    let status = marked(&job, "ab", 4096);
    let numbers: Vec<u64> = status.marks.iter().map(|mark| mark.number).collect();
    assert_eq!((status.stride, numbers), (64, (1..=MOST_MARKS as u64).map(|place| 64 * place).collect()));
}

/// Operations of two communicators that overlap on the GPU count once. A rank's marks count those of both.
#[test]
fn overlaps_count_once() {
    let mut job = begun(&[]);
    job.order("init ab 0 2\n init cd 0 2");
    // ab is on the GPU from 0 to 600 us of each millisecond, cd from 400 to 800 us
    for step in 0..20 {
        let begin = step * 1_000_000;
        job.order(&format!("timed ab 1 {begin} 600000 1\n timed cd 1 {} 400000 1", begin + 400_000));
    }
    job.order("run");
    let marks = ["ab", "cd"].map(|comm| marked(&job, comm, 19).marks);
    let plan = |of: &[ProgressMark]| (1..=of.len() as u64).map(|number| (number, (number - 1) * 200_000)).collect();
    let plans: [Vec<_>; 2] = [plan(&marks[0]), plan(&marks[1])];
    assert_eq!(marks.each_ref().map(|marks| own(marks)), plans);
    let operations = marks.map(|marks| marks[9].operations);
    assert_eq!(operations, [19, 20]);
}

/// Sends and receives use the GPU and have no numbers.
#[test]
fn sends_use_the_gpu_and_have_no_numbers() {
    let mut job = begun(&[]);
    job.order(
        "init ab 0 2\n timed ab 1 0 100000 1
         call s ab Send 100 ncclInt8\n return s\n start o ab Send 100 ncclInt8 s\n at o 150000 100000
         timed ab 1 300000 100000 1\n run",
    );
    let status = marked(&job, "ab", 2);
    assert_eq!(own(&status.marks), [(1, 0), (2, 100_000)]);
    assert_eq!(status.marks[1].operations, 3);
}

/// A collective of which NCCL reports the call alone may be on the GPU unseen: no mark moves on until its operation comes.
#[test]
fn a_call_without_an_operation_holds_the_marks_of_all_communicators() {
    let mut job = begun(&[]);
    job.order("init ab 0 2\n init cd 0 2\n timed ab 10 0 20000 50000\n run");
    marked(&job, "ab", 10);
    job.order("call c cd AllReduce 9 ncclInt8\n return c\n timed ab 10 0 20000 50000\n run");
    let has_ended = |one: &StatusCommunicator| one.comm.ends_with("ab") && one.finished == 20;
    job.await_status(|status| status.communicators.iter().any(has_ended));
    for _ in 0..2 {
        assert_eq!(of(&job.next_status(), "ab").marks.last().unwrap().number, 10);
    }
    job.order("start o cd AllReduce 9 ncclInt8 c\n at o 0 20000\n run");
    let marks = marked(&job, "ab", 20).marks;
    assert_eq!((marks.len(), marks.last().unwrap().operations), (20, 20));
}

/// Where CUDA events time the kernels, own times are theirs. The stand-in's lie some microseconds around.
#[test]
fn events_time_the_marks() {
    let mut job = begun(&[
        ("NCCL_SCOREP_PRESET", "network"),
        ("NCCL_SCOREP_GPU_TIME", "events"),
        ("HOST_DRIVER", env!("CUDA_STAND_IN")),
    ]);
    job.order(
        "init ab 0 2
         kernel a ab AllReduce 8 ncclInt8 10 20\n kernel b ab AllReduce 8 ncclInt8 30 40
         kernel c ab AllReduce 8 ncclInt8 55 60\n gpu_at 70",
    );
    let marks = own(&marked(&job, "ab", 3).marks);
    let plan = [(1, 0), (2, 10_000_000), (3, 25_000_000)];
    let is_near =
        |(&(number, own), (of, planned)): (&(u64, u64), (u64, u64))| number == of && own.abs_diff(planned) < 20_000;
    assert!(marks.len() == 3 && marks.iter().zip(plan).all(is_near), "{marks:?}");
}

/// An operation whose time is not known ends the marks. Others follow behind it, at the numbers of the communicator.
#[test]
fn marks_begin_anew_behind_a_gap() {
    let mut job = begun(&[("NCCL_SCOREP_SETTLE_SECONDS", "0.05")]);
    job.order("init ab 0 2\n timed ab 10 0 20000 50000\n run");
    assert_eq!(marked(&job, "ab", 10).marks.len(), 10);
    // the GPU's stamps of this algorithm are not those of its kernel
    job.order("algorithm TREE LL\n timed ab 1 0 20000 50000\n run");
    let gap = job.await_status(|status| of(status, "ab").marks.is_empty());
    assert_eq!((of(&gap, "ab").stride, of(&gap, "ab").counts_all), (0, true));
    job.order("algorithm RING LL\n timed ab 5 0 20000 60000\n run");
    let status = marked(&job, "ab", 16);
    assert_eq!(own(&status.marks), (12..=16).map(|number| (number, (number - 12) * 40_000)).collect::<Vec<_>>());
    assert_eq!(status.marks[4].operations, 16);
}

/// There are no marks where operations are left out, or have no times of the GPU.
#[test]
fn there_are_no_marks_without_times_of_all_operations() {
    for (setting, value) in [
        ("NCCL_SCOREP_MIN_BYTES", "100"),
        ("NCCL_SCOREP_PRESET", "api"),
        ("NCCL_SCOREP_GPU_TIME", "off"),
        // without calls of the API and without transfers
        ("NCCL_SCOREP_MASK", "66"),
    ] {
        let mut job = begun(&[(setting, value)]);
        job.order("init ab 0 2\n whole ab 70");
        std::thread::sleep(std::time::Duration::from_millis(600));
        let status = job.next_status();
        let status = of(&status, "ab");
        assert_eq!((status.stride, status.marks.len()), (0, 0), "{setting}");
    }
}

/// Ranks of one communicator in a process have a GPU each, and whose operations are on which is not known.
#[test]
fn there_are_no_marks_with_several_gpus_in_a_process() {
    let mut job = begun(&[]);
    job.order("init ab 0 2\n timed ab 10 0 20000 50000\n run");
    assert_eq!(marked(&job, "ab", 10).stride, 1);
    job.order("init ab 1 2\n timed ab 10 0 20000 50000\n run");
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert!(job.next_status().communicators.iter().all(|one| (one.stride, one.marks.len()) == (0, 0)));
}

/// GPUs in different communicators are several GPUs, too; communicators on one GPU are not.
#[test]
fn there_are_no_marks_with_communicators_on_several_gpus() {
    let mut job = begun(&[("LD_PRELOAD", env!("CURRENT_GPU_STAND_IN"))]);
    job.order("gpu 0000:0a:00.0\n init ab 0 2\n init cd 0 2\n timed ab 10 0 20000 50000\n run");
    assert_eq!(marked(&job, "ab", 10).stride, 1);
    job.order("gpu 0000:0b:00.0\n init ef 0 2\n timed ab 10 0 20000 50000\n run");
    let is_open = |one: &StatusCommunicator| one.comm.ends_with("ef");
    let has_ended = |one: &StatusCommunicator| one.comm.ends_with("ab") && one.finished == 20;
    let status = job
        .await_status(|status| status.communicators.iter().any(is_open) && status.communicators.iter().any(has_ended));
    assert!(status.communicators.iter().all(|one| (one.stride, one.marks.len()) == (0, 0)));
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert!(job.next_status().communicators.iter().all(|one| (one.stride, one.marks.len()) == (0, 0)));
}

/// Links are the sums of the transfers, by peer and direction, as the summary has them.
#[test]
fn links_are_the_sums_of_transfers() {
    let mut job = begun(&[]);
    job.order(
        "init ab 0 4\n call c ab AllReduce 9 ncclInt8\n return c\n start o ab AllReduce 9 ncclInt8 c
         transfers o 1 1 3 1000\n transfers o 3 0 2 500\n transfers o 1 1 1 24\n transfers o 2 1 1 7
         begin o\n finish o",
    );
    let status = job.await_status(|status| status.communicators.first().is_some_and(|one| one.links.len() == 3));
    let links = of(&status, "ab").links.clone();
    let plain: Vec<_> = links.iter().map(|link| (link.peer, link.sends, link.transfers, link.bytes)).collect();
    assert_eq!(plain, [(1, true, 4, 3024), (2, true, 1, 7), (3, false, 2, 1000)]);
    job.order("finalize ab");
    assert!(of(&job.next_status(), "ab").links.is_empty(), "of a communicator that has ended");
    let summary = job.end();
    let time = |link: &LinkSum| {
        let rows = summary["states"].as_array().unwrap().iter();
        let is_of = |row: &&serde_json::Value| {
            row["peer"] == link.peer && row["direction"] == if link.sends { "send" } else { "receive" }
        };
        rows.clone().find(is_of).map(|row| (row["network_us"].as_f64().unwrap() * 1000.0).round() as u64)
    };
    for link in &links {
        assert_eq!(time(link), Some(link.network), "{}", summary["states"]);
    }
}
