//! The arrivals of all processes, by communicator.

use super::matching::ArrivalsOfMember;
use crate::figures::arrivals::{Arrivals, RankArrivals};

/// The arrivals of all processes, by communicator. Communicators with one rank, and with a rank that two processes
/// report, are left out: nobody knows which of that rank's arrivals belong together.
#[derive(Debug)]
pub struct Gathered(Vec<(u64, Vec<ArrivalsOfMember>)>);

/// A rank as a process reports it.
struct Reported {
    process: u32,
    rank: RankArrivals,
}

impl Gathered {
    /// Gathers the arrivals of each process.
    pub fn of(processes: Vec<Arrivals>) -> Self {
        let of_process = |(process, arrivals): (u32, Arrivals)| {
            arrivals.ranks.into_iter().map(move |rank| Reported { process, rank })
        };
        let mut reported: Vec<Reported> = (0..).zip(processes).flat_map(of_process).collect();
        reported.sort_by_key(|reported| reported.rank.rank);
        let mut reported = reported.into_iter().peekable();
        let mut communicators = Vec::new();
        while let Some(comm) = reported.peek().map(|reported| reported.rank.rank.comm) {
            let ranks: Vec<Reported> =
                std::iter::from_fn(|| reported.next_if(|next| next.rank.rank.comm == comm)).collect();
            let ranks = ranks
                .into_iter()
                .map(|Reported { process, rank }| ArrivalsOfMember::new(process, rank.rank.rank, rank.arrivals));
            let members: Vec<ArrivalsOfMember> = ranks.collect();
            if members.len() > 1 && members.is_sorted_by(|one, next| one.rank < next.rank) {
                communicators.push((comm, members));
            }
        }
        Self(communicators)
    }

    /// Lists the communicators with their members.
    pub(super) fn communicators(&mut self) -> impl Iterator<Item = (u64, &mut Vec<ArrivalsOfMember>)> {
        self.0.iter_mut().map(|(comm, members)| (*comm, members))
    }

    /// Takes the communicators out, one after the other.
    pub(super) fn into_communicators(self) -> impl Iterator<Item = (u64, Vec<ArrivalsOfMember>)> {
        self.0.into_iter()
    }
}
