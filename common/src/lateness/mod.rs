//! Works out how late each rank arrives at its collectives.
//!
//! A collective ends when all ranks of the communicator have come, so the last rank makes all others wait. The arrivals
//! of all processes are put on the clock of process 0, and matched by communicator, function, sequence number and
//! occurrence.
//!
//! Each operation has its own bounds: from the GPUs' clocks around it, from the nodes' clocks, and from the operations
//! themselves (`causality`). A difference within the likely error is no lateness. The rank that came last waits for
//! nobody: its time is that of the transfer (`bandwidth`).

mod alignment;
mod bandwidth;
mod begins;
mod boot_clocks;
mod causality;
pub mod clock_tree;
mod compared;
mod comparison;
mod ends;
mod gathered;
mod matched;
mod matching;
mod sums;
#[cfg(test)]
mod tests;
mod trend;

use crate::figures::arrivals::{Arrival, ArrivalShare, Arrivals};
use crate::lateness::clock_tree::ClockTree;
use crate::summary::{Bandwidth, Lateness, SummaryCommunicator};
use bandwidth::Bandwidths;
use compared::ComparedBegins;
use matched::Lengths;
use std::collections::BTreeMap;
use std::sync::Arc;
use sums::LatenessSums;

pub use alignment::aligned;
pub use boot_clocks::{Boot, BootClocks};
pub use comparison::{Comparison, Wait, Waits};
pub use gathered::Gathered;
pub use matched::{LateRank, MatchedOperation};

/// Works out the rows of all communicators of which an operation was found with all ranks, from each process' arrivals.
/// A tick of process 0 is `nanoseconds_per_tick` long. Lateness needs connected clocks, bandwidth does not.
pub fn lateness(
    processes: Vec<Arrivals>,
    clocks: &ClockTree,
    nanoseconds_per_tick: f64,
    communicators: &[SummaryCommunicator],
) -> (Vec<Lateness>, Vec<Bandwidth>) {
    let (processes, shares) = thin(processes);
    let one_in = |comm: u64| shares.get(&comm).copied().unwrap_or_default().one_in();
    let mut sums: Vec<LatenessSums> = Vec::new();
    let mut bandwidths = Bandwidths::default();
    matched(processes, clocks, nanoseconds_per_tick, |matched| {
        bandwidths.add(&matched);
        match sums.last_mut() {
            Some(last) if last.comm == matched.comm => last.add(&matched),
            _ => sums.push(LatenessSums::of(&matched)),
        }
    });
    let rows = sums.into_iter().flat_map(|sums| {
        let one_in = one_in(sums.comm);
        sums.into_rows(one_in)
    });
    (rows.collect(), bandwidths.into_rows(communicators, one_in))
}

/// Thins the ranks of each communicator as much as its thinnest one. Returns each communicator's share.
fn thin(mut processes: Vec<Arrivals>) -> (Vec<Arrivals>, BTreeMap<u64, ArrivalShare>) {
    let mut shares: BTreeMap<u64, ArrivalShare> = BTreeMap::new();
    for rank in processes.iter().flat_map(|process| &process.ranks) {
        let share = shares.entry(rank.rank.comm).or_default();
        *share = share.and(rank.share);
    }
    for rank in processes.iter_mut().flat_map(|process| &mut process.ranks) {
        rank.thin(shares.get(&rank.rank.comm).copied().unwrap_or_default());
    }
    (processes, shares)
}

/// Passes every operation that all ranks of its communicator have to `each`, communicator by communicator. If the clock
/// of a rank's process is not connected with that of process 0, the begins of that communicator's ranks are unknown.
pub fn matched(
    processes: Vec<Arrivals>,
    clocks: &ClockTree,
    nanoseconds_per_tick: f64,
    mut each: impl FnMut(MatchedOperation),
) {
    let clocks = Arc::new(clocks.clone());
    for (comm, mut members) in Gathered::of(processes).into_communicators() {
        let ranks: Vec<i32> = members.iter().map(|member| member.rank).collect();
        let comparison = Comparison::of(&mut members, &clocks, nanoseconds_per_tick, false);
        matching::for_each(&mut members, |arrivals| {
            let compared = comparison.as_ref().and_then(|comparison| comparison.of_all(arrivals));
            let late = compared.iter().flat_map(ComparedBegins::late).zip(&ranks).map(|(late, &rank)| LateRank {
                rank,
                late: late.late * nanoseconds_per_tick,
                error: late.error * nanoseconds_per_tick,
                likely: late.likely * nanoseconds_per_tick,
            });
            let bytes = arrivals.first().map(|first| first.bytes);
            each(MatchedOperation {
                comm,
                operation: arrivals.first().map(Arrival::operation).unwrap_or_default(),
                ranks: late.collect(),
                last: compared.as_ref().and_then(ComparedBegins::last).and_then(|place| ranks.get(place).copied()),
                lengths: Lengths::of(arrivals),
                bytes: bytes.filter(|&bytes| arrivals.iter().all(|arrival| arrival.bytes == bytes)),
            });
        });
    }
}
