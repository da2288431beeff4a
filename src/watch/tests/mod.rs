//! The judge on simulated jobs: planted faults are named in time, nobody else is, and without a fault nothing is said.

mod faults;
mod quiet;
mod simulated;

use super::judge::Judge;
use super::judge::finding::WatchFinding;
use simulated::{BEGIN, Simulation};

/// Waits up to this many seconds are no hang.
const AFTER: f64 = 10.0;

/// Watches a simulated job up to a time, with looks `interval` seconds apart. Each finding comes with the time of its
/// look.
fn watch(job: &mut Simulation, until: f64, interval: f64) -> Vec<(f64, WatchFinding)> {
    let (mut judge, mut found, mut now) = (Judge::new(AFTER, false), vec![], 0.0);
    while now < until {
        now += interval;
        job.advance(now);
        let time = (BEGIN + now * 1e9) as u64;
        found.extend(judge.take(job.look(now), time, now).into_iter().map(|finding| (now, finding)));
    }
    found
}
