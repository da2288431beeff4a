//! Jobs that are well, and what is unknown.

use super::super::diagnose;
use super::super::finding::HangVerdict;
use super::job::{At, Job, NOW, ago};
use crate::statuses::Life;
use common::origin::wall_clock;
use common::status::{OpenCall, Waiting};

fn world(quiet: u64) -> Job {
    Job::of(3).communicator("world", &[0, 1, 2], quiet)
}

#[test]
fn a_job_is_well_idle_over_or_unknown() {
    let verdict = |job: &Job| (job.diagnosis().verdict, job.diagnosis().findings.len());
    assert_eq!(verdict(&world(1)), (HangVerdict::Well, 0));
    assert_eq!(world(1).diagnosis().quiet, Some(2.0));
    assert_eq!(verdict(&world(60)), (HangVerdict::Idle, 0));
    let moving = world(60).with(1, |process| process.moved[0] = true);
    assert_eq!(verdict(&moving), (HangVerdict::Well, 0));
    let over = (0..3).fold(world(60), |job, rank| {
        job.with(rank, |process| (process.status.over, process.life) = (Some(ago(9)), Life::Gone))
    });
    assert_eq!(verdict(&over), (HangVerdict::Over, 0));
    assert_eq!(diagnose(&[], 5.0).verdict, HangVerdict::Unknown);
    let off = (0..3).fold(world(1), |job, rank| job.with(rank, |process| process.status.off = Some("why".into())));
    assert_eq!(verdict(&off), (HangVerdict::Unknown, 0));
    assert!(off.diagnosis().unknown.iter().any(|line| line == "process ranks 0-2: nothing is recorded: why"));
}

#[test]
fn ranks_without_a_status_are_said_and_not_guessed() {
    let mut job = world(1);
    job.0.remove(1);
    let diagnosis = job.diagnosis();
    assert_eq!((diagnosis.verdict, diagnosis.findings.len()), (HangVerdict::Well, 0));
    assert_eq!(diagnosis.unknown, ["communicator world: rank 1 has no status here"]);
}

#[test]
fn what_is_not_counted_is_not_compared() {
    for change in [
        (|process| process.status.communicators[0].counts_all = false) as fn(&mut crate::statuses::Observed),
        |process| process.status.silent_since = Some(ago(30)),
        |process| process.status.off = Some("why".into()),
    ] {
        let job =
            [0, 1].into_iter().fold(world(50), |job, rank| job.enters(rank, "world", "AllReduce", 40, At::Finished));
        let diagnosis = job.with(2, change).diagnosis();
        assert_eq!((diagnosis.verdict, diagnosis.findings.len()), (HangVerdict::Idle, 0), "{diagnosis:#?}");
        assert_eq!(diagnosis.unknown.len(), 1, "{:?}", diagnosis.unknown);
    }
}

/// Ends are not seen any more where the library is off, or its thread does not answer.
#[test]
fn calls_and_transfers_of_an_old_state_are_no_hang() {
    let job = |change: fn(&mut crate::statuses::Observed)| {
        let mut job = world(50).transfers(1, "world", 2, true, Waiting::Network);
        let call = OpenCall { func: "AllReduce".into(), since: ago(40) };
        job.at(1, "world").calls.push(call);
        job.with(1, change).diagnosis()
    };
    assert_eq!(job(|_| ()).verdict, HangVerdict::Hang);
    for change in
        [(|process| process.status.off = Some("why".into())) as fn(&mut crate::statuses::Observed), |process| {
            process.status.silent_since = Some(ago(30))
        }]
    {
        let diagnosis = job(change);
        assert_eq!((diagnosis.verdict, diagnosis.findings.len()), (HangVerdict::Idle, 0), "{diagnosis:#?}");
    }
}

#[test]
fn silent_processes_for_which_nobody_waits_are_a_doubt() {
    let silent = |life| {
        let diagnosis = world(50).with(1, |process| (process.life, process.beats) = (life, false)).diagnosis();
        assert_eq!(diagnosis.findings.len(), 1);
        diagnosis.verdict
    };
    assert_eq!(silent(Life::Elsewhere), HangVerdict::Unknown);
    // it runs here, and writes nothing
    assert_eq!(silent(Life::Runs), HangVerdict::Unknown);
    // nobody waits for it yet
    assert_eq!(silent(Life::Gone), HangVerdict::Hang);
    assert_eq!(silent(Life::Stopped), HangVerdict::Hang);
}

#[test]
fn without_gpu_events_waits_are_known_by_what_is_entered() {
    let blind = |job: Job| {
        let blinded = (0..3).fold(job, |job, rank| {
            job.with(rank, |process| {
                let at = &mut process.status.communicators[0];
                at.sees_gpu = false;
                at.operations.iter_mut().for_each(|operation| (operation.begun, operation.finished) = (None, None));
            })
        });
        blinded.diagnosis()
    };
    let idle = blind(world(50));
    assert_eq!((idle.verdict, idle.unknown.len()), (HangVerdict::Idle, 1), "{idle:?}");
    assert_eq!(blind(world(50).enters(0, "world", "AllReduce", 40, At::Begun)).verdict, HangVerdict::Hang);
}

#[test]
fn statuses_of_an_earlier_run_are_left_out() {
    let mut job = world(1);
    let earlier = Job::of(2).communicator("old", &[0, 1], 50).enters(0, "old", "AllReduce", 40, At::Begun);
    job.0.extend(earlier.0.into_iter().map(|mut process| {
        (process.life, process.beats) = (Life::Gone, false);
        process.status.origin.started = wall_clock(i128::from(ago(9000)));
        process.status.written = ago(5000);
        process
    }));
    let diagnosis = job.diagnosis();
    assert_eq!((diagnosis.verdict, diagnosis.processes.earlier, diagnosis.processes.all), (HangVerdict::Well, 2, 3));
    // of runs that are over, the latest counts
    let job = Job(job
        .0
        .into_iter()
        .map(|mut process| {
            process.status.over = Some(NOW);
            process
        })
        .collect());
    assert_eq!((job.diagnosis().verdict, job.diagnosis().processes.earlier), (HangVerdict::Over, 2));
}

/// Durations are by each file's own clock.
#[test]
fn clocks_of_hosts_may_differ() {
    let job = world(50).enters(0, "world", "AllReduce", 40, At::Begun).enters(1, "world", "AllReduce", 40, At::Begun);
    let shift = |process: &mut crate::statuses::Observed| {
        let shift = 7200 * 1_000_000_000;
        process.status.written += shift;
        for operation in &mut process.status.communicators[0].operations {
            operation.entered += shift;
            operation.begun = operation.begun.map(|time| time + shift);
            operation.finished = operation.finished.map(|time| time + shift);
        }
    };
    let diagnosis = job.with(1, shift).diagnosis();
    assert_eq!((diagnosis.findings.len(), diagnosis.communicators[0].wait.as_ref().unwrap().seconds), (1, 40.0));
}
