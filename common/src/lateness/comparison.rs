//! Compares the begins of one communicator's operations, one operation at a time.

use super::begins::Begins;
use super::causality::{Bounds, ClockBounds};
use super::compared::ComparedBegins;
use super::gathered::Gathered;
use super::matching::{self, ArrivalsOfMember};
use crate::figures::arrivals::Arrival;
use crate::lateness::clock_tree::ClockTree;
use std::sync::Arc;

/// The clocks of a communicator's members, as the members' operations bound them.
#[derive(Debug)]
pub struct Comparison {
    begins: Begins,
    bounds: Bounds,
    nanoseconds_per_tick: f64,
    /// Ranks of the members, ascending.
    ranks: Vec<i32>,
}

/// How long each member waited for the last one in an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Waits {
    /// By member, in the order in which the members were named.
    pub ranks: Vec<Wait>,
    /// Place in `ranks` of the member that is later than every other one by more than the likely error.
    pub last: Option<usize>,
}

/// A member's time in an operation. It waits from its begin to the latest begin of all members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wait {
    /// Most likely begin, ticks of process 0; nanoseconds of the common clock in a report.
    pub start: i64,
    /// The end that belongs to that begin, in the same unit.
    pub stop: i64,
    /// Error of the wait that 19 of 20 operations do not exceed, nanoseconds.
    pub likely: f64,
    /// Largest error of the wait, nanoseconds.
    pub error: f64,
}

impl Comparison {
    /// Bounds the members' clocks by the operations that all of them have, and with `messages` by their sends and
    /// receives. `None` if a member's clock is not connected with that of process 0.
    pub(super) fn of(
        members: &mut [ArrivalsOfMember],
        clocks: &Arc<ClockTree>,
        nanoseconds_per_tick: f64,
        messages: bool,
    ) -> Option<Self> {
        let begins = Begins::of(members, clocks, nanoseconds_per_tick)?;
        let mut seen = ClockBounds::new(members.len());
        matching::for_each(members, |arrivals| begins.moments(arrivals).iter().for_each(|moments| seen.add(moments)));
        if messages {
            matching::for_each_message(members, |[sender, receiver], [sent, received]| {
                if sender.min(receiver) == 0
                    && let Some((sent, received)) = begins.moment(sender, sent).zip(begins.moment(receiver, received))
                {
                    seen.add_message([(sender, &sent), (receiver, &received)]);
                }
            });
        }
        let ranks = members.iter().map(|member| member.rank).collect();
        Some(Self { begins, bounds: seen.into_bounds(), nanoseconds_per_tick, ranks })
    }

    /// Compares the begins of all members, in the order of ranks. `None` if one is unknown.
    pub(super) fn of_all(&self, arrivals: &[Arrival]) -> Option<ComparedBegins> {
        let moments = self.begins.moments(arrivals)?;
        let places: Vec<usize> = (0..moments.len()).collect();
        Some(ComparedBegins::new(&moments, &places, &self.bounds, self.nanoseconds_per_tick))
    }

    /// Compares the begins of an operation of the named ranks, in ascending order. `None` if a begin is unknown, or a
    /// rank is no member.
    pub fn waits(&self, arrivals: &[(i32, Arrival)]) -> Option<Waits> {
        let place = |&(rank, _): &(i32, Arrival)| {
            // the usual case: all members take part
            let guess = usize::try_from(rank).ok().filter(|&guess| self.ranks.get(guess) == Some(&rank));
            guess.or_else(|| self.ranks.binary_search(&rank).ok())
        };
        let places: Vec<usize> = arrivals.iter().map(place).collect::<Option<_>>()?;
        let moments = places.iter().zip(arrivals).map(|(&place, (_, arrival))| self.begins.moment(place, arrival));
        let moments: Vec<_> = moments.collect::<Option<_>>()?;
        let zero = i64::try_from(moments.first()?.time).ok()?;
        let compared = ComparedBegins::new(&moments, &places, &self.bounds, self.nanoseconds_per_tick);
        let starts = compared.begins().iter().map(|begin| zero.saturating_add(begin.round() as i64));
        let lengths = moments.iter().map(|moment| moment.stop.saturating_sub(moment.time));
        let spans: Vec<[i64; 2]> =
            starts.zip(lengths).map(|(start, length)| [start, start.saturating_add_unsigned(length)]).collect();
        let last = compared.last();
        let wait = |([start, stop], late): ([i64; 2], super::compared::MemberLateness)| Wait {
            start,
            stop,
            likely: late.likely * self.nanoseconds_per_tick,
            error: late.error * self.nanoseconds_per_tick,
        };
        Some(Waits { ranks: spans.into_iter().zip(compared.waits()).map(wait).collect(), last })
    }
}

impl Gathered {
    /// Makes the comparison of each communicator, by its id; `None` where a member's clock is not connected with that
    /// of process 0. A tick of process 0 is `nanoseconds_per_tick` long.
    pub fn comparisons(
        self,
        clocks: &Arc<ClockTree>,
        nanoseconds_per_tick: f64,
    ) -> impl Iterator<Item = (u64, Option<Comparison>)> {
        self.into_communicators()
            .map(move |(comm, mut members)| (comm, Comparison::of(&mut members, clocks, nanoseconds_per_tick, true)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::name::NcclName;
    use crate::figures::arrivals::{ArrivalShare, Arrivals, RankArrivals};
    use crate::lateness::clock_tree::{ClockOffset, ParentLink};
    use crate::sums::run_sums::CommunicatorRank;
    use std::ffi::CStr;

    /// Returns an arrival of 10 us, known to 100 us, or to 30 us more or less than what it shows.
    fn arrival(function: &CStr, sequence: u64, time: u64, shown_late: bool) -> Arrival {
        let time = if shown_late { time + 30_000 } else { time };
        let function = NcclName::of(Some(function));
        Arrival { function, sequence, time, length: 10_000, clock: [100_000; 2], ..Arrival::default() }
    }

    /// Returns the comparison of three ranks of one machine that begin all-reduces together; the clock of the last
    /// rank's GPU is 30 us late.
    fn comparison(together: bool) -> Comparison {
        let of = |rank: i32| {
            let reduce = |at: u64| arrival(c"AllReduce", at, (at + 1) * 1_000_000, rank == 2);
            let sent = |at: u64, to: i32| {
                let arrival = arrival(c"Send", to as u64, (at + 1) * 1_000_000, rank == 2);
                Arrival { occurrence: at as u32, ..arrival }
            };
            let received = |at: u64, from: i32| Arrival { function: NcclName::of(Some(c"Recv")), ..sent(at, from) };
            let arrivals = if together {
                (0..100).map(reduce).collect()
            } else {
                let others = (0..3).filter(|&other| other != rank);
                others.flat_map(|it| (0..100).flat_map(move |at| [sent(at, it), received(at, it)])).collect()
            };
            let rank = RankArrivals { rank: CommunicatorRank { comm: 1, rank }, share: ArrivalShare::ALL, arrivals };
            Arrivals { ranks: vec![rank], ..Arrivals::default() }
        };
        let link = ParentLink { parent: 0, begin: None, end: ClockOffset { own: 0, parents: 0, error: 0 } };
        let clocks = Arc::new(ClockTree::new(&[Some(link); 3]));
        Gathered::of(vec![of(0), of(1), of(2)]).comparisons(&clocks, 1.0).next().unwrap().1.unwrap()
    }

    #[test]
    fn operations_bound_the_clocks_of_members_with_and_without_the_first_one() {
        for comparison in [comparison(true), comparison(false)] {
            for ranks in [&[0, 1, 2][..], &[1, 2]] {
                // rank 2 begins 50 us after the others, and its clock shows 80
                let time = |rank: i32| if rank == 2 { 50_050_000 } else { 50_000_000 };
                let arrivals: Vec<(i32, Arrival)> =
                    ranks.iter().map(|&rank| (rank, arrival(c"Broadcast", 0, time(rank), rank == 2))).collect();
                let Waits { ranks: waits, last } = comparison.waits(&arrivals).unwrap();
                assert_eq!(last, Some(ranks.len() - 1), "{waits:?}");
                let latest = waits.iter().map(|wait| wait.start).max().unwrap();
                for (wait, rank) in waits.iter().zip(ranks) {
                    let true_wait = if *rank == 2 { 0.0 } else { 50_000.0 };
                    let off = ((latest - wait.start) as f64 - true_wait).abs();
                    // 10 us either way for both clocks, where the GPUs' clocks leave 200 open
                    assert!(off <= wait.error && wait.error <= 41_000.0, "{ranks:?}: {wait:?}");
                    assert_eq!(wait.stop - wait.start, 10_000);
                }
            }
        }
    }

    #[test]
    fn only_members_are_compared() {
        let comparison = comparison(true);
        let of = |rank| (rank, arrival(c"Broadcast", 0, 50_000_000, false));
        assert_eq!(comparison.waits(&[of(0), of(3)]), None);
        assert_eq!(comparison.waits(&[]), None);
    }
}
