//! Compares the begins of one communicator's operations, one operation at a time.

use super::begins::Begins;
use super::causality::{Bounds, Seen};
use super::compared::Compared;
use super::gathered::Gathered;
use super::matching::{self, Member};
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
    /// Most likely begin, ticks of process 0.
    pub start: i64,
    /// The end that belongs to that begin, ticks of process 0.
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
        members: &mut [Member],
        clocks: &Arc<ClockTree>,
        nanoseconds_per_tick: f64,
        messages: bool,
    ) -> Option<Self> {
        let begins = Begins::of(members, clocks, nanoseconds_per_tick)?;
        let mut seen = Seen::new(members.len());
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
        Some(Self { begins, bounds: seen.bounds(), nanoseconds_per_tick, ranks })
    }

    /// Compares the begins of all members, in the order of ranks. `None` if one is unknown.
    pub(super) fn of_all(&self, arrivals: &[Arrival]) -> Option<Compared> {
        let moments = self.begins.moments(arrivals)?;
        let places: Vec<usize> = (0..moments.len()).collect();
        Some(Compared::new(&moments, &places, &self.bounds, self.nanoseconds_per_tick))
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
        let compared = Compared::new(&moments, &places, &self.bounds, self.nanoseconds_per_tick);
        let starts = compared.begins().iter().map(|begin| zero.saturating_add(begin.round() as i64));
        let lengths = moments.iter().map(|moment| moment.stop.saturating_sub(moment.time));
        let spans: Vec<[i64; 2]> =
            starts.zip(lengths).map(|(start, length)| [start, start.saturating_add_unsigned(length)]).collect();
        let last = compared.last();
        let wait = |([start, stop], late): ([i64; 2], super::compared::Late)| Wait {
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
