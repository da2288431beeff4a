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
mod causality;
pub mod clock_tree;
mod compared;
mod matched;
mod matching;
mod sums;
#[cfg(test)]
mod tests;

use crate::figures::arrivals::{Arrival, Arrivals, Known, RankArrivals};
use crate::lateness::clock_tree::ClockTree;
use crate::summary::{Bandwidth, Communicator, Lateness};
use bandwidth::Bandwidths;
use causality::Seen;
use compared::Compared;
use matched::Lengths;
pub use matched::{Late, Matched};
use matching::{Member, Moment};
use sums::Sums;

pub use alignment::aligned;

/// A rank as a process reports it.
struct Reported {
    process: u32,
    rank: RankArrivals,
}

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
    for_each_communicator(processes, |comm, mut members| {
        let ranks: Vec<i32> = members.iter().map(|member| member.rank).collect();
        let begins = Begins::of(&members, clocks, nanoseconds_per_tick);
        let moments = |arrivals: &[Arrival]| begins.as_ref().and_then(|begins| begins.moments(arrivals));
        let mut seen = Seen::new(members.len());
        matching::for_each(&mut members, |arrivals| moments(arrivals).iter().for_each(|moments| seen.add(moments)));
        let bounds = seen.bounds();
        matching::for_each(&mut members, |arrivals| {
            let compared = moments(arrivals).map(|moments| Compared::new(&moments, &bounds, nanoseconds_per_tick));
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
    });
}

/// Passes the members of every communicator with more than one rank to `each`.
fn for_each_communicator(processes: Vec<Arrivals>, mut each: impl FnMut(u64, Vec<Member>)) {
    let of_process =
        |(process, arrivals): (u32, Arrivals)| arrivals.ranks.into_iter().map(move |rank| Reported { process, rank });
    let mut reported: Vec<Reported> = (0..).zip(processes).flat_map(of_process).collect();
    reported.sort_by_key(|reported| reported.rank.rank);
    let mut reported = reported.into_iter().peekable();
    while let Some(comm) = reported.peek().map(|reported| reported.rank.rank.comm) {
        let ranks: Vec<Reported> =
            std::iter::from_fn(|| reported.next_if(|next| next.rank.rank.comm == comm)).collect();
        let ranks =
            ranks.into_iter().map(|Reported { process, rank }| Member::new(process, rank.rank.rank, rank.arrivals));
        let members: Vec<Member> = ranks.collect();
        // a rank reported twice: nobody knows which of its arrivals belong together
        if members.len() > 1 && members.is_sorted_by(|one, next| one.rank < next.rank) {
            each(comm, members);
        }
    }
}

/// Works out the members' begins in ticks of process 0.
struct Begins<'a> {
    clocks: &'a ClockTree,
    nanoseconds_per_tick: f64,
    /// Each member's process, and the ticks of process 0 per tick of it.
    processes: Vec<(u32, f64)>,
    /// Steps to process 0 that all members have in common. They shift all times alike.
    in_common: Vec<u32>,
}

impl<'a> Begins<'a> {
    /// Returns `None` if a member's clock is not connected with that of process 0.
    fn of(members: &[Member], clocks: &'a ClockTree, nanoseconds_per_tick: f64) -> Option<Self> {
        let ways: Vec<Vec<u32>> = members.iter().map(|member| clocks.way(member.process)).collect::<Option<_>>()?;
        let in_common =
            ways.first()?.iter().copied().filter(|step| ways.iter().all(|way| way.contains(step))).collect();
        let processes = members.iter().map(|member| Some((member.process, clocks.rate(member.process)?)));
        Some(Self { clocks, nanoseconds_per_tick, processes: processes.collect::<Option<_>>()?, in_common })
    }

    /// Returns the members' moments of an operation, if all their begins are known.
    fn moments(&self, arrivals: &[Arrival]) -> Option<Vec<Moment>> {
        arrivals.iter().enumerate().map(|(place, arrival)| self.moment(place, arrival)).collect()
    }

    /// Returns the moment of the member at this place.
    fn moment(&self, place: usize, arrival: &Arrival) -> Option<Moment> {
        let &(process, rate) = self.processes.get(place)?;
        let (time, _) = self.clocks.to_root(process, arrival.time).filter(|_| arrival.known == Known::Begin)?;
        let length = arrival.length as f64 / self.nanoseconds_per_tick;
        let ticks = |own: u64| own as f64 * rate;
        Some(Moment {
            operation: arrival.operation(),
            time,
            stop: time.saturating_add(length.ceil() as u64),
            clock: arrival.clock.map(ticks),
            nodes: self.clocks.own_uncertainty(process, arrival.time, &self.in_common),
            begin: [ticks(arrival.ahead), if arrival.by_events { length } else { 0.0 }],
            by_events: arrival.by_events,
        })
    }
}
