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
mod causality;
pub mod clock_tree;
mod compared;
mod comparison;
mod gathered;
mod matched;
mod matching;
mod sums;
#[cfg(test)]
mod tests;

use crate::figures::arrivals::{Arrival, Arrivals};
use crate::lateness::clock_tree::ClockTree;
use crate::summary::{Bandwidth, Communicator, Lateness};
use bandwidth::Bandwidths;
use compared::Compared;
use matched::Lengths;
use std::sync::Arc;
use sums::Sums;

pub use alignment::aligned;
pub use comparison::{Comparison, Wait, Waits};
pub use gathered::Gathered;
pub use matched::{Late, Matched};

/// Works out the rows of all communicators of which an operation was found with all ranks, from each process' arrivals.
/// A tick of process 0 is `nanoseconds_per_tick` long. Lateness needs connected clocks, bandwidth does not.
pub fn lateness(
    processes: Vec<Arrivals>,
    clocks: &ClockTree,
    nanoseconds_per_tick: f64,
    communicators: &[Communicator],
) -> (Vec<Lateness>, Vec<Bandwidth>) {
    let (processes, one_in) = thin(processes);
    let mut sums: Vec<Sums> = Vec::new();
    let mut bandwidths = Bandwidths::default();
    matched(processes, clocks, nanoseconds_per_tick, |matched| {
        bandwidths.add(&matched);
        match sums.last_mut() {
            Some(last) if last.comm == matched.comm => last.add(&matched),
            _ => sums.push(Sums::of(&matched)),
        }
    });
    (sums.into_iter().flat_map(|sums| sums.into_rows(one_in)).collect(), bandwidths.into_rows(communicators, one_in))
}

/// Thins all processes as much as the thinnest one. Returns one in how many operations is left.
fn thin(mut processes: Vec<Arrivals>) -> (Vec<Arrivals>, u32) {
    let with_ranks = processes.iter().filter(|process| !process.ranks.is_empty());
    let one_in = with_ranks.map(|process| process.one_in).fold(1, u32::max);
    processes.iter_mut().for_each(|process| process.thin(one_in));
    (processes, one_in)
}

/// Passes every operation that all ranks of its communicator have to `each`, communicator by communicator. If the clock
/// of a rank's process is not connected with that of process 0, the begins of that communicator's ranks are unknown.
pub fn matched(processes: Vec<Arrivals>, clocks: &ClockTree, nanoseconds_per_tick: f64, mut each: impl FnMut(Matched)) {
    let clocks = Arc::new(clocks.clone());
    for (comm, mut members) in Gathered::of(processes).into_communicators() {
        let ranks: Vec<i32> = members.iter().map(|member| member.rank).collect();
        let comparison = Comparison::of(&mut members, &clocks, nanoseconds_per_tick, false);
        matching::for_each(&mut members, |arrivals| {
            let compared = comparison.as_ref().and_then(|comparison| comparison.of_all(arrivals));
            let late = compared.iter().flat_map(Compared::late).zip(&ranks).map(|(late, &rank)| Late {
                rank,
                late: late.late * nanoseconds_per_tick,
                error: late.error * nanoseconds_per_tick,
                likely: late.likely * nanoseconds_per_tick,
            });
            let bytes = arrivals.first().map(|first| first.bytes);
            each(Matched {
                comm,
                operation: arrivals.first().map(Arrival::operation).unwrap_or_default(),
                ranks: late.collect(),
                last: compared.as_ref().and_then(Compared::last).and_then(|place| ranks.get(place).copied()),
                lengths: Lengths::of(arrivals),
                bytes: bytes.filter(|&bytes| arrivals.iter().all(|arrival| arrival.bytes == bytes)),
            });
        });
    }
}
