//! Earlier runs, restarts and hangs that end otherwise: nothing is said of what is not there, and all that is.

use super::simulated::{BEGIN, Fault, Plan, Simulation};
use crate::statuses::{Life, Observed};
use crate::watch::judge::Judge;
use crate::watch::judge::finding::{FindingChange, WatchFinding};
use common::status::progress::ProgressMark;

/// Processes of a job of four ranks, 60 s after its begin.
fn processes() -> Vec<Observed> {
    let mut job = Simulation::new(Plan::of(4), 1);
    job.advance(60.0);
    job.look(60.0)
}

/// Takes looks two seconds apart, and returns what they say and the time of the last.
fn looks(judge: &mut Judge, from: f64, count: u32, processes: &[Observed]) -> Vec<WatchFinding> {
    let times = (0..count).map(|look| from + 2.0 * f64::from(look));
    times.flat_map(|now| judge.take(processes.to_vec(), (BEGIN + now * 1e9) as u64, now)).collect()
}

/// As a process that was killed.
fn killed(mut process: Observed) -> Observed {
    (process.life, process.beats, process.moved) = (Life::Gone, false, vec![false]);
    process
}

fn kinds(findings: &[WatchFinding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.subject.kind()).collect()
}

#[test]
fn files_of_an_earlier_run_say_nothing() {
    let dead: Vec<Observed> = processes().into_iter().map(killed).collect();
    let ended = |mut process: Observed| {
        process.status.over = Some(process.status.written);
        process
    };
    let ended: Vec<Observed> = processes().into_iter().map(ended).collect();
    for earlier in [dead, ended] {
        let mut judge = Judge::new(super::AFTER, false);
        assert_eq!(looks(&mut judge, 0.0, 100, &earlier), []);
        assert!(!judge.is_over() && judge.states().is_empty());
        // a single answer is of what is there
        let mut judge = Judge::new(super::AFTER, true);
        assert!(!looks(&mut judge, 0.0, 2, &earlier).is_empty() && judge.is_over());
    }
}

#[test]
fn a_job_that_was_killed_may_be_started_again_for_two_minutes() {
    let mut judge = Judge::new(super::AFTER, false);
    assert_eq!(looks(&mut judge, 0.0, 2, &processes()), []);
    let dead: Vec<Observed> = processes().into_iter().map(killed).collect();
    assert_eq!(kinds(&looks(&mut judge, 4.0, 50, &dead)), ["process"]);
    assert!(!judge.is_over());
    assert_eq!(kinds(&looks(&mut judge, 104.0, 20, &dead)), ["job"]);
    assert!(judge.is_over());
}

#[test]
fn processes_that_die_one_after_the_other_are_not_over() {
    let mut judge = Judge::new(super::AFTER, false);
    let mut all = processes();
    assert_eq!(looks(&mut judge, 0.0, 2, &all), []);
    all[3] = killed(all[3].clone());
    let first = looks(&mut judge, 4.0, 5, &all);
    all[2] = killed(all[2].clone());
    let second = looks(&mut judge, 14.0, 5, &all);
    let changes: Vec<FindingChange> = first.iter().chain(&second).map(|finding| finding.change).collect();
    assert_eq!(changes, [FindingChange::Begins; 2], "{first:#?} {second:#?}");
}

#[test]
fn a_hang_whose_process_is_killed_does_not_go_on() {
    let plan = Plan { fault: Some((60.0, Fault::Missing { rank: 3 })), ..Plan::of(4) };
    let mut job = Simulation::new(plan, 1);
    let mut judge = Judge::new(super::AFTER, false);
    let mut said = vec![];
    for look in 0..80 {
        let now = 2.0 * f64::from(look);
        job.advance(now);
        let mut processes = job.look(now);
        if now > 120.0 {
            processes[3] = killed(processes[3].clone());
        }
        said.extend(judge.take(processes, (BEGIN + now * 1e9) as u64, now));
    }
    let texts: Vec<&str> = said.iter().map(|finding| finding.text.as_str()).collect();
    assert_eq!(kinds(&said), ["hang", "process", "hang"], "{texts:#?}");
    assert!(texts[0].contains("; it has waited for 1"), "{texts:#?}");
    assert!(texts[2].starts_with("over: "), "{texts:#?}");
}

#[test]
fn parts_of_a_job_are_jobs_with_numbers_of_their_own() {
    let of = |part: &str, comm: &str| {
        let rename = |mut process: Observed| {
            process.file = format!("{part}.{}", process.file);
            process.status.origin.job = None;
            process.status.communicators[0].comm = comm.into();
            process
        };
        processes().into_iter().map(rename).collect::<Vec<Observed>>()
    };
    let mut judge = Judge::new(super::AFTER, false);
    let joined = [of("a", "one"), of("b", "one")].concat();
    let apart = [of("a", "one"), of("b", "two")].concat();
    let numbers = |judge: &Judge| judge.states().iter().map(|state| state.number).collect::<Vec<u64>>();
    looks(&mut judge, 0.0, 1, &joined);
    assert_eq!(numbers(&judge), [1]);
    looks(&mut judge, 2.0, 2, &apart);
    assert_eq!(numbers(&judge), [1, 2]);
    // joined again, the second is no job any more
    looks(&mut judge, 6.0, 1, &joined);
    assert_eq!(numbers(&judge), [1]);
}

/// Looks of files with many windows find what has begun and gone between them.
#[test]
fn a_rank_that_the_newest_window_does_not_show_is_not_said() {
    let said = |newest: u64| {
        let mut all = processes();
        for (rank, process) in all.iter_mut().enumerate() {
            let mut mark = ProgressMark { time: BEGIN as u64, ..ProgressMark::default() };
            let marks = (0..12_u64).map(|window| {
                let more = match window {
                    7..11 if rank == 2 => 100_000_000,
                    11 if rank == 2 => newest,
                    _ => 0,
                };
                mark.number += 4;
                mark.operations += 4;
                mark.time += 1_000_000_000;
                mark.own += 400_000_000 + more;
                mark
            });
            let communicator = &mut process.status.communicators[0];
            (communicator.stride, communicator.marks) = (4, marks.collect());
        }
        looks(&mut Judge::new(super::AFTER, true), 60.0, 1, &all)
    };
    let found = said(100_000_000);
    assert_eq!(kinds(&found), ["rank"], "{found:#?}");
    assert_eq!(kinds(&said(0)), [] as [&str; 0]);
}
