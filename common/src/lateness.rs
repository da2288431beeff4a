//! How late each rank arrives at its collectives.
//!
//! A collective ends when all ranks of the communicator have come, so the last one makes all others wait. Arrivals of all processes are put
//! on the clock of process 0 and matched by communicator, function, sequence number and occurrence. Each operation has
//! its own bounds: of the GPUs' clocks around it, of the nodes' clocks, and of the operations themselves (`causality`).
//! A difference within the likely error is no lateness. The rank that came last waits for nobody: its time is that of the transfer
//! (`bandwidth`).

mod bandwidth;
mod causality;
mod compared;
mod matching;
mod sums;
#[cfg(test)]
mod tests;

use crate::arrivals::{Arrivals, RankArrivals};
use crate::clock_tree::ClockTree;
use crate::name::Name;
use crate::summary::{Bandwidth, Communicator, Lateness};
use bandwidth::Bandwidths;
use causality::Seen;
use compared::Compared;
use matching::{Member, Moment};
use sums::Sums;

/// A rank as a process reports it.
struct Reported {
    process: u32,
    rank: RankArrivals,
}

/// An operation that all ranks of its communicator have.
#[derive(Debug)]
pub struct Matched {
    /// Communicator.
    pub comm: u64,
    /// Function, NCCL's sequence number, and how many of the same number began before.
    pub operation: (Name, u64, u32),
    /// The ranks, in their order.
    pub ranks: Vec<Late>,
    /// The one that is later than every other by more than is most likely off.
    pub last: Option<i32>,
    /// The least of the ranks' times, nanoseconds.
    pub least: f64,
    /// Bytes of the operation of each rank, where they are the same and known.
    pub bytes: Option<u64>,
}

/// How late a rank began an operation, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Late {
    /// Rank.
    pub rank: i32,
    /// After the first one, most likely.
    pub late: f64,
    /// By how much that can be off.
    pub error: f64,
    /// By how much it is off in 19 of 20 operations, at the most.
    pub likely: f64,
}

/// Rows for all of the communicators of which an operation was found with all ranks, from the arrivals of each process. A tick of process 0
/// is worth so many nanoseconds.
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
    (sums.into_iter().flat_map(|sums| sums.into_rows(one_in)).collect(), bandwidths.into_rows(communicators))
}

/// What one process has left out, all leave out. Gives one in how many operations is left.
fn thin(mut processes: Vec<Arrivals>) -> (Vec<Arrivals>, u32) {
    let with_ranks = processes.iter().filter(|process| !process.ranks.is_empty());
    let one_in = with_ranks.map(|process| process.one_in).fold(1, u32::max);
    processes.iter_mut().for_each(|process| process.thin(one_in));
    (processes, one_in)
}

/// Gives `each` every operation that all ranks of its communicator have, by communicator. A communicator with a rank
/// whose process' clock is not connected with that of process 0 is left out.
pub fn matched(processes: Vec<Arrivals>, clocks: &ClockTree, nanoseconds_per_tick: f64, mut each: impl FnMut(Matched)) {
    let of_process =
        |(process, arrivals): (u32, Arrivals)| arrivals.ranks.into_iter().map(move |rank| Reported { process, rank });
    let mut reported: Vec<Reported> = (0..).zip(processes).flat_map(of_process).collect();
    reported.sort_by_key(|reported| reported.rank.rank);
    let mut reported = reported.into_iter().peekable();
    while let Some(comm) = reported.peek().map(|reported| reported.rank.rank.comm) {
        let ranks: Vec<Reported> = std::iter::from_fn(|| reported.next_if(|next| next.rank.rank.comm == comm)).collect();
        let Some(mut members) = members(ranks, clocks) else { continue };
        if members.len() < 2 {
            continue;
        }
        let mut seen = Seen::new(members.len());
        matching::for_each(&mut members, |moments| seen.add(moments));
        let bounds = seen.bounds();
        let ranks: Vec<i32> = members.iter().map(|member| member.rank).collect();
        matching::for_each(&mut members, |moments| {
            let compared = Compared::new(moments, &bounds, nanoseconds_per_tick);
            let late = compared.late().into_iter().zip(&ranks).map(|(late, &rank)| Late {
                rank,
                late: late.late * nanoseconds_per_tick,
                error: late.error * nanoseconds_per_tick,
                likely: late.likely * nanoseconds_per_tick,
            });
            let least = moments.iter().map(|moment| moment.stop.saturating_sub(moment.time)).min().unwrap_or(0);
            let bytes = moments.first().map(|first| first.bytes);
            each(Matched {
                least: least as f64 * nanoseconds_per_tick,
                bytes: bytes.filter(|&bytes| bytes > 0 && moments.iter().all(|moment| moment.bytes == bytes)),
                comm,
                operation: moments.first().map(|first| first.operation).unwrap_or_default(),
                ranks: late.collect(),
                last: compared.last().and_then(|place| ranks.get(place).copied()),
            });
        });
    }
}

/// The ranks with their arrivals in ticks of process 0; `None` where one has no clock that is connected with it.
fn members(ranks: Vec<Reported>, clocks: &ClockTree) -> Option<Vec<Member>> {
    let ways: Vec<Vec<u32>> = ranks.iter().map(|reported| clocks.way(reported.process)).collect::<Option<_>>()?;
    // steps that all have in common shift all alike
    let in_common: Vec<u32> = ways.first()?.iter().copied().filter(|step| ways.iter().all(|way| way.contains(step))).collect();
    let mut members: Vec<(i32, Vec<Moment>)> = Vec::new();
    for Reported { process, rank: RankArrivals { rank, arrivals } } in ranks {
        let rate = clocks.rate(process)?;
        let ticks = |own: u64| own as f64 * rate;
        let mut moments = Vec::with_capacity(arrivals.len());
        for arrival in arrivals {
            let (time, _) = clocks.to_root(process, arrival.time)?;
            moments.push(Moment {
                operation: arrival.operation(),
                time,
                stop: time.saturating_add(ticks(arrival.length).ceil() as u64),
                clock: arrival.clock.map(ticks),
                nodes: clocks.own_uncertainty(process, arrival.time, &in_common),
                begin: [ticks(arrival.ahead), if arrival.by_events { ticks(arrival.length) } else { 0.0 }],
                by_events: arrival.by_events,
                bytes: arrival.bytes,
            });
        }
        match members.last_mut() {
            // reported twice: of each operation, nobody knows which
            Some((known, all)) if *known == rank.rank => all.append(&mut moments),
            _ => members.push((rank.rank, moments)),
        }
    }
    Some(members.into_iter().map(|(rank, moments)| Member::new(rank, moments)).collect())
}
