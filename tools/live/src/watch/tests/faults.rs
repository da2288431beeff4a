//! Planted faults are named within 15 s of their effect, and nobody else is.

use super::simulated::{Fault, Noise, Plan, Simulation};
use super::watch;
use crate::watch::judge::finding::{FindingChange, FindingSubject, WatchFinding};
use fastrand::Rng;

/// Seconds within which a fault is named, and one that is not always there.
const SOON: f64 = 15.0;
const LATER: f64 = 100.0;

/// Returns whether a finding names the fault.
fn names(fault: Fault, finding: &WatchFinding) -> bool {
    match (fault, &finding.subject) {
        (Fault::Slow { rank: slow, .. }, FindingSubject::Rank { rank, .. }) => rank.rank == slow as i64,
        (Fault::SlowNode { node, .. }, FindingSubject::Node { host, .. }) => *host == format!("n{node}"),
        (Fault::Stop { rank, .. }, FindingSubject::Pause { ranks, .. }) => {
            ranks.len() == 1 && ranks[0].rank == rank as i64
        }
        (Fault::SlowLink { from: slow, .. }, FindingSubject::Link { from, .. }) => from.rank == slow as i64,
        (Fault::Killed { rank }, FindingSubject::Process) => finding.text.starts_with(&format!("process {rank} ")),
        (Fault::Missing { rank }, FindingSubject::Hang { .. }) => finding.text.contains(&format!("rank {rank} ")),
        _ => false,
    }
}

/// Runs jobs with a fault each, and asserts that at least 95 of 100 are named in time, and at most one other thing is
/// said in 100.
fn all_are_named(what: &str, plan: impl Fn(u64, &mut Rng) -> Plan) {
    let (mut named, mut wrong, mut missed) = (0, vec![], vec![]);
    let seeds = super::seeds();
    let jobs = seeds.end - seeds.start;
    for seed in seeds {
        let plan = plan(seed, &mut Rng::with_seed(seed));
        let Some((at, fault)) = plan.fault else { continue };
        let mut job = Simulation::new(plan.clone(), seed);
        let soon = if matches!(fault, Fault::Slow { every: 2.., .. }) { LATER } else { SOON };
        let found = watch(&mut job, at + soon + 25.0, 2.0);
        let of_fault = |(_, finding): &&(f64, WatchFinding)| names(fault, finding);
        let begun = job.begun.unwrap_or(at);
        match found.iter().find(of_fault) {
            Some((time, _)) if *time <= begun + soon => named += 1,
            late => missed.push(format!("{plan:?} from {begun}: {late:?}")),
        }
        let others = found.iter().filter(|it| !of_fault(it) && it.1.change != FindingChange::Over);
        // a job that stops hangs, too, and a step may be so long that it is a pause
        let is_other = |it: &&(f64, WatchFinding)| {
            !matches!(
                (fault, &it.1.subject),
                (Fault::Killed { .. }, FindingSubject::Hang { .. })
                    | (Fault::Slow { every: 2.., .. }, FindingSubject::Pause { .. })
            )
        };
        wrong.extend(others.filter(is_other).map(|(time, it)| format!("{plan:?}: {time}: {}", it.text)));
    }
    assert!(named * 100 >= jobs * 95, "{what}: {named} of {jobs}: {missed:#?}");
    assert!(wrong.len() as u64 * 100 <= jobs, "{what}: {wrong:#?}");
    println!("{what}: {named} of {jobs} named in time, {} wrong{}{}", wrong.len(), listed(&wrong), listed(&missed));
}

fn listed(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  {line}")).collect()
}

/// A job of 2, 4, 16 or 64 ranks of any noise, in which something goes wrong after a while.
fn any(seed: u64, rng: &mut Rng) -> Plan {
    let ranks = [2, 4, 16, 64][(seed % 4) as usize];
    let noise = match seed / 4 % 3 {
        0 => Noise::Normal(0.01),
        1 => Noise::HeavyTailed(0.005),
        _ => Noise::Uneven(0.004),
    };
    Plan { own: 0.2 + 0.6 * rng.f64(), noise, late_files: seed.is_multiple_of(2), ..Plan::of(ranks) }
}

fn at(rng: &mut Rng) -> f64 {
    30.0 + 100.0 * rng.f64()
}

#[test]
fn a_slow_rank() {
    all_are_named("slow rank", |seed, rng| {
        let plan = any(seed, rng);
        // of two ranks, a tenth may be as they are
        let factor = if plan.ranks == 2 { 1.2 } else { 1.1 };
        Plan { fault: Some((at(rng), Fault::Slow { rank: rng.usize(0..plan.ranks), factor, every: 1 })), ..plan }
    });
}

#[test]
fn a_rank_that_is_slow_in_every_8th_step() {
    all_are_named("rank slow in every 8th step", |seed, rng| {
        let plan = any(seed, rng);
        // of two ranks, a tenth may be as they are
        let factor = if plan.ranks == 2 { 2.6 } else { 1.8 };
        let fault = Fault::Slow { rank: rng.usize(0..plan.ranks), factor, every: 8 };
        Plan { fault: Some((at(rng), fault)), ..plan }
    });
}

#[test]
fn a_slow_rank_of_a_stage() {
    all_are_named("slow rank of a stage", |seed, rng| {
        let plan = Plan { stages: Some(0.3), ..any(seed | 2, rng) };
        Plan { fault: Some((at(rng), Fault::Slow { rank: rng.usize(0..plan.ranks), factor: 1.1, every: 1 })), ..plan }
    });
}

#[test]
fn a_slow_node() {
    all_are_named("slow node", |seed, rng| {
        let plan = any(seed | 2, rng);
        let node = rng.usize(0..plan.ranks / plan.of_node);
        Plan { fault: Some((at(rng), Fault::SlowNode { node, factor: 1.12 })), ..plan }
    });
}

#[test]
fn a_stop_of_five_seconds() {
    all_are_named("stop of 5 s", |seed, rng| {
        let plan = any(seed, rng);
        Plan { fault: Some((at(rng), Fault::Stop { rank: rng.usize(0..plan.ranks), seconds: 5.0 })), ..plan }
    });
}

#[test]
fn a_slow_link() {
    all_are_named("slow link", |seed, rng| {
        let plan = any(seed, rng);
        // of few nodes each pair of them has a link of its own
        let from = plan.of_node * rng.usize(1..=plan.ranks / plan.of_node) - 1;
        Plan { fault: Some((at(rng), Fault::SlowLink { from, factor: 1.5 })), ..plan }
    });
}

#[test]
fn a_killed_process() {
    all_are_named("killed process", |seed, rng| {
        let plan = Plan { late_files: false, ..any(seed, rng) };
        Plan { fault: Some((at(rng), Fault::Killed { rank: rng.usize(0..plan.ranks) })), ..plan }
    });
}

#[test]
fn a_rank_that_calls_nothing_more() {
    all_are_named("rank that calls nothing more", |seed, rng| {
        let plan = any(seed, rng);
        Plan { fault: Some((at(rng), Fault::Missing { rank: rng.usize(0..plan.ranks) })), ..plan }
    });
}
