//! Causes that make others wait in several communicators, and several causes at once.

use super::super::Condition;
use super::super::finding::{HangVerdict, RootCause};
use super::job::{At, Job, who};
use crate::statuses::Life;

/// Processes 0 and 1 wait for process 1 in `a`, which waits in `b` for process 2, which waits in `c` for process 3.
fn chain() -> Job {
    let job = Job::of(4).communicator("a", &[0, 1], 50).communicator("b", &[1, 2], 50).communicator("c", &[2, 3], 50);
    let job = job.enters(0, "a", "AllReduce", 40, At::Begun).enters(1, "b", "AllGather", 41, At::Begun);
    job.enters(2, "c", "ReduceScatter", 42, At::Begun)
}

#[test]
fn a_chain_of_waits_is_followed_to_its_end() {
    let diagnosis = chain().diagnosis();
    assert_eq!(diagnosis.findings.len(), 1, "{diagnosis:#?}");
    let RootCause::NotEntered { wait } = &diagnosis.findings[0].cause else { unreachable!() };
    assert_eq!(who(wait), ("c", Some(100), vec![0], vec![1]));
    let others: Vec<_> = diagnosis.findings[0].waits.iter().map(|wait| wait.communicator.name.as_str()).collect();
    assert_eq!(others, ["b", "a"]);
}

#[test]
fn at_the_end_of_a_chain_may_be_a_dead_process() {
    let diagnosis = chain().with(3, |process| (process.life, process.beats) = (Life::Gone, false)).diagnosis();
    assert_eq!(diagnosis.findings.len(), 1, "{diagnosis:#?}");
    let RootCause::Processes { condition: Condition::Dead, processes } = &diagnosis.findings[0].cause else {
        unreachable!()
    };
    assert_eq!((processes.len(), processes[0].pid, diagnosis.findings[0].waits.len()), (1, 1003, 3));
}

#[test]
fn a_chain_may_lead_into_a_circle() {
    let job = Job::of(3).communicator("a", &[0, 1], 50).communicator("b", &[1, 2], 50).communicator("c", &[1, 2], 50);
    let job = job.enters(0, "a", "AllReduce", 40, At::Begun).enters(1, "b", "AllReduce", 40, At::Begun);
    let diagnosis = job.enters(2, "c", "AllReduce", 40, At::Begun).diagnosis();
    assert_eq!(diagnosis.findings.len(), 1, "{diagnosis:#?}");
    let RootCause::Crossed { circle } = &diagnosis.findings[0].cause else { unreachable!() };
    assert_eq!(circle.len(), 2);
    assert_eq!(diagnosis.findings[0].waits.iter().map(who).collect::<Vec<_>>(), [("a", Some(100), vec![0], vec![1])]);
}

#[test]
fn causes_that_have_nothing_to_do_with_each_other_are_all_named() {
    let job = Job::of(6).communicator("a", &[0, 1], 50).communicator("b", &[2, 3], 50).communicator("c", &[4, 5], 50);
    let job = job.enters(0, "a", "AllReduce", 40, At::Begun).enters(2, "b", "AllReduce", 40, At::Begun);
    let job = job.enters(4, "c", "AllReduce", 40, At::Begun).enters(5, "c", "AllGather", 40, At::Begun);
    let diagnosis = job.with(1, |process| (process.life, process.beats) = (Life::Gone, false)).diagnosis();
    let causes: Vec<&str> = diagnosis
        .findings
        .iter()
        .map(|finding| match finding.cause {
            RootCause::Processes { .. } => "dead",
            RootCause::Desynchronised { .. } => "desynchronised",
            RootCause::NotEntered { .. } => "not entered",
            _ => "other",
        })
        .collect();
    assert_eq!(causes, ["dead", "desynchronised", "not entered"]);
}

#[test]
fn a_part_of_a_job_may_hang_while_the_rest_goes_on() {
    let job = Job::of(4).communicator("a", &[0, 1], 50).communicator("b", &[2, 3], 0);
    let job = job.enters(0, "a", "AllReduce", 40, At::Begun);
    let job = job.with(2, |process| process.moved[0] = true).with(3, |process| process.moved[0] = true);
    let diagnosis = job.diagnosis();
    assert_eq!((diagnosis.verdict, diagnosis.findings.len()), (HangVerdict::Hang, 1));
}

#[test]
fn the_processes_of_a_dead_host_are_one_cause() {
    let job = Job::of(8).communicator("world", &[0, 1, 2, 3, 4, 5, 6, 7], 50);
    let job = (0..4).fold(job, |job, rank| job.enters(rank, "world", "AllReduce", 40, At::Begun));
    let job = (4..8)
        .fold(job, |job, rank| job.with(rank, |process| (process.life, process.beats) = (Life::Elsewhere, false)));
    let diagnosis = job.diagnosis();
    assert_eq!(diagnosis.findings.len(), 1);
    let RootCause::Processes { condition: Condition::Silent, processes } = &diagnosis.findings[0].cause else {
        unreachable!()
    };
    assert_eq!((processes.len(), diagnosis.processes.silent, diagnosis.findings[0].waits.len()), (4, 4, 1));
}

/// The host has gone on calling, and one earlier operation does not finish.
#[test]
fn of_many_operations_the_first_that_stands_counts() {
    let job = Job::of(2).communicator("world", &[0, 1], 50);
    let mut job = (0..2).fold(job, |job, rank| job.enters(rank, "world", "AllReduce", 40, At::Begun));
    for (rank, more) in [(0, 10), (1, 5)] {
        job = (0..more).fold(job, |job, _| job.enters(rank, "world", "AllReduce", 39, At::Entered));
    }
    let diagnosis = job.diagnosis();
    assert_eq!(diagnosis.findings.len(), 1);
    let RootCause::Unfinished { wait, .. } = &diagnosis.findings[0].cause else { unreachable!("{diagnosis:#?}") };
    assert_eq!(who(wait), ("world", Some(100), vec![0, 1], vec![]));
}
