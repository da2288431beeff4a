//! How late each rank arrives at its collectives.
//!
//! A collective ends when all ranks of the communicator have come, so the last one makes all others wait. Arrivals of all processes are put
//! on the clock of process 0 and matched by communicator, function, sequence number and occurrence. What is less than the clocks leave
//! uncertain is no lateness.

mod matching;
#[cfg(test)]
mod tests;

use crate::arrivals::{Arrival, Arrivals, RankArrivals};
use crate::clock_tree::ClockTree;
use crate::summary::{Lateness, hexadecimal};
use matching::Member;

/// A rank as a process reports it.
struct Reported {
    process: u32,
    rank: RankArrivals,
}

/// Rows for all communicators of which an operation was found with all ranks, from the arrivals of each process. A tick of process 0 is
/// worth so many nanoseconds. A communicator has no rows where it is not known how well times of its ranks compare.
pub fn lateness(mut processes: Vec<Arrivals>, clocks: &ClockTree, nanoseconds_per_tick: f64) -> Vec<Lateness> {
    // what one process has left out, all leave out
    let with_ranks = processes.iter().filter(|process| !process.ranks.is_empty());
    let one_in = with_ranks.map(|process| process.one_in).fold(1, u32::max);
    let mut reported = Vec::new();
    for (process, mut arrivals) in (0..).zip(processes.drain(..)) {
        arrivals.thin(one_in);
        reported.extend(arrivals.ranks.into_iter().map(|rank| Reported { process, rank }));
    }
    reported.sort_by_key(|reported| reported.rank.rank);
    let mut rows = Vec::new();
    let mut reported = reported.into_iter().peekable();
    while let Some(comm) = reported.peek().map(|reported| reported.rank.rank.comm) {
        let ranks: Vec<Reported> = std::iter::from_fn(|| reported.next_if(|next| next.rank.rank.comm == comm)).collect();
        let Some(error) = uncertainty(&ranks, clocks, nanoseconds_per_tick) else { continue };
        let mut members = members(ranks, clocks);
        let operations = matching::compare(&mut members, nanoseconds_per_tick, error);
        if operations > 0 {
            rows.extend(members.into_iter().map(|mut member| Lateness {
                comm: hexadecimal(comm),
                rank: member.rank(),
                operations,
                one_in,
                error_us: error / 1e3,
                mean_us: member.mean(operations).map(|nanoseconds| nanoseconds / 1e3),
                p99_us: member.p99(operations).map(|nanoseconds| nanoseconds / 1e3),
                last: member.last(),
            }));
        }
    }
    rows
}

/// The largest uncertainty of the time between arrivals of two of the ranks, nanoseconds. `None` when it is not known, or there are no two
/// ranks with arrivals each.
fn uncertainty(ranks: &[Reported], clocks: &ClockTree, nanoseconds_per_tick: f64) -> Option<f64> {
    let ends = |reported: &Reported| {
        let times = || reported.rank.arrivals.iter().map(|arrival| arrival.time);
        Some([times().min()?, times().max()?])
    };
    let ends: Vec<[u64; 2]> = ranks.iter().map(ends).collect::<Option<_>>()?;
    let apart = |one: usize, other: usize| {
        // clocks are the less certain the farther from their comparisons: at the first arrivals, or at the last
        let moment = |place: usize, end: usize| (ranks[place].process, ends[place][end]);
        let between = |end| clocks.uncertainty_between(moment(one, end), moment(other, end));
        let ticks = between(0)?.max(between(1)?);
        Some(ticks as f64 * nanoseconds_per_tick + ranks[one].rank.error + ranks[other].rank.error)
    };
    let farthest = |from: usize| {
        let others = (0..ranks.len()).filter(|&other| other != from);
        let apart: Vec<(usize, f64)> = others.map(|other| Some((other, apart(from, other)?))).collect::<Option<_>>()?;
        apart.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))
    };
    // clocks make a tree. There the farthest from anywhere is one of the two that are farthest apart
    let (one, _) = farthest(0)?;
    let (_, error) = farthest(one)?;
    error.is_finite().then_some(error)
}

/// The ranks with their arrivals in ticks of process 0, which the clocks of all are connected with.
fn members(ranks: Vec<Reported>, clocks: &ClockTree) -> Vec<Member> {
    let mut members: Vec<(i32, Vec<Arrival>)> = Vec::new();
    for Reported { process, rank: RankArrivals { rank, mut arrivals, .. } } in ranks {
        arrivals
            .iter_mut()
            .for_each(|arrival| arrival.time = clocks.to_root(process, arrival.time).map_or(0, |(ticks, _)| ticks));
        match members.last_mut() {
            // reported twice: of each operation, nobody knows which
            Some((known, all)) if *known == rank.rank => all.append(&mut arrivals),
            _ => members.push((rank.rank, arrivals)),
        }
    }
    members.into_iter().map(|(rank, arrivals)| Member::new(rank, arrivals)).collect()
}
