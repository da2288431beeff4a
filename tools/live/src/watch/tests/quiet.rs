//! Without a fault, nothing is said.

use super::simulated::{Fault, Noise, Plan, Simulation};
use super::watch;

const DAY: f64 = 86_400.0;
const HOURS: f64 = 3.0 * 3600.0;

/// Asserts that a day of a job without a fault gives no finding; of the suite's own seeds, some hours. Looks are rare,
/// since marks last a minute.
fn is_quiet(plan: Plan, seed: u64) {
    let length = if std::env::var_os(super::SEEDS).is_some() { DAY } else { HOURS };
    let found = watch(&mut Simulation::new(plan.clone(), super::seeds().start + seed), length, 20.0);
    let said: Vec<String> = found.iter().map(|(at, finding)| format!("{at}: {}", finding.text)).collect();
    assert!(said.is_empty(), "{plan:?}: {said:#?}");
}

#[test]
fn a_day_of_normal_noise() {
    is_quiet(Plan { own: 0.8, ..Plan::of(16) }, 1);
    is_quiet(Plan { own: 0.8, noise: Noise::Normal(0.03), phases: true, ..Plan::of(2) }, 2);
}

#[test]
fn a_day_of_heavy_tails() {
    is_quiet(Plan { own: 0.8, noise: Noise::HeavyTailed(0.02), ..Plan::of(16) }, 3);
    is_quiet(Plan { own: 0.8, noise: Noise::HeavyTailed(0.02), ..Plan::of(4) }, 4);
}

#[test]
fn a_day_of_many_ranks() {
    is_quiet(Plan { own: 1.5, ..Plan::of(64) }, 5);
}

#[test]
fn a_day_of_ranks_that_are_not_alike() {
    is_quiet(Plan { own: 0.8, noise: Noise::Uneven(0.02), phases: true, late_files: true, ..Plan::of(16) }, 6);
}

#[test]
fn a_day_of_stages() {
    is_quiet(Plan { own: 0.8, stages: Some(0.4), late_files: true, ..Plan::of(16) }, 7);
}

#[test]
fn a_day_of_batches_of_any_size() {
    is_quiet(Plan { own: 0.8, batches: 0.5, ..Plan::of(8) }, 9);
    is_quiet(Plan { own: 0.8, batches: 0.3, phases: true, ..Plan::of(2) }, 10);
}

#[test]
fn a_day_that_begins_slowly() {
    is_quiet(Plan { own: 0.8, warms_up: true, late_files: true, ..Plan::of(16) }, 11);
    is_quiet(Plan { own: 0.8, warms_up: true, stages: Some(0.4), ..Plan::of(4) }, 12);
}

/// It is too little for two ranks, and makes its link longer by a fifth.
#[test]
fn of_two_ranks_one_is_a_little_late() {
    for seed in 20..30 {
        let fault = Some((60.0, Fault::Slow { rank: 1, factor: 1.08, every: 1 }));
        let mut job = Simulation::new(Plan { own: 0.8, fault, ..Plan::of(2) }, super::seeds().start + seed);
        let said: Vec<String> = watch(&mut job, 300.0, 2.0).into_iter().map(|(_, finding)| finding.text).collect();
        assert!(said.is_empty(), "{seed}: {said:#?}");
    }
}

#[test]
fn a_rank_that_saves_the_state_each_ten_minutes_is_said_once() {
    let mut said = vec![];
    let mut job = Simulation::new(Plan::of(8), 8);
    let mut judge = super::Judge::new(super::AFTER, false);
    for look in 1..1800 {
        let now = f64::from(look) * 2.0;
        if look % 300 == 0 {
            job.pause(Fault::Stop { rank: 0, seconds: 5.0 + f64::from(look % 7) / 3.0 });
        }
        job.advance(now);
        let time = (super::BEGIN + now * 1e9) as u64;
        said.extend(judge.take(job.look(now), time, now).into_iter().map(|finding| finding.text));
    }
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].starts_with("rank 0 on n0 paused once, for "), "{said:#?}");
}
