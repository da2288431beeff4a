//! The judge on simulated jobs: planted faults are named in time, nobody else is, and without a fault nothing is said.

mod faults;
mod quiet;
mod runs;
mod simulated;

use super::judge::Judge;
use super::judge::finding::WatchFinding;
use simulated::{BEGIN, Simulation};
use std::ops::Range;

/// Waits up to this many seconds are no hang.
const AFTER: f64 = 10.0;

/// Variable with the seeds of the jobs with a fault, as `1000..1100`. Jobs without one are watched for a day then.
const SEEDS: &str = "SCOREP_NCCL_SEEDS";

/// Returns the seeds, one a job.
fn seeds() -> Range<u64> {
    let given = std::env::var(SEEDS).ok();
    let given = given.as_deref().map(|range| {
        let (first, end) = range.split_once("..").expect("seeds are FIRST..END");
        first.parse().expect("a number")..end.parse().expect("a number")
    });
    given.unwrap_or(0..20)
}

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
