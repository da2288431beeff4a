//! The begins of a communicator's members on the clock of process 0.

use super::matching::{ArrivalsOfMember, BeginEnd};
use crate::figures::arrivals::{Arrival, KnownTime};
use crate::lateness::clock_tree::ClockTree;
use std::sync::Arc;

/// Works out the members' begins in ticks of process 0.
#[derive(Debug)]
pub(super) struct Begins {
    clocks: Arc<ClockTree>,
    nanoseconds_per_tick: f64,
    /// Each member's process, the one that compared its node's clock, and the ticks of process 0 per tick of it.
    processes: Vec<(u32, u32, f64)>,
    /// Steps to process 0 that all members have in common. They shift all times alike.
    in_common: Vec<u32>,
}

impl Begins {
    /// Returns `None` if a member's clock is not connected with that of process 0.
    pub(super) fn of(members: &[ArrivalsOfMember], clocks: &Arc<ClockTree>, nanoseconds_per_tick: f64) -> Option<Self> {
        let ways: Vec<Vec<u32>> = members.iter().map(|member| clocks.way(member.process)).collect::<Option<_>>()?;
        let in_common =
            ways.first()?.iter().copied().filter(|step| ways.iter().all(|way| way.contains(step))).collect();
        let of_member = |(member, way): (&ArrivalsOfMember, &Vec<u32>)| {
            Some((member.process, way.first().copied().unwrap_or(0), clocks.rate(member.process)?))
        };
        let processes = members.iter().zip(&ways).map(of_member).collect::<Option<_>>()?;
        Some(Self { clocks: Arc::clone(clocks), nanoseconds_per_tick, processes, in_common })
    }

    /// Returns the members' moments of an operation, if all their begins are known.
    pub(super) fn moments(&self, arrivals: &[Arrival]) -> Option<Vec<BeginEnd>> {
        arrivals.iter().enumerate().map(|(place, arrival)| self.moment(place, arrival)).collect()
    }

    /// Returns the moment of the member at this place.
    pub(super) fn moment(&self, place: usize, arrival: &Arrival) -> Option<BeginEnd> {
        let &(process, node, rate) = self.processes.get(place)?;
        let own = Some(arrival.time).filter(|_| arrival.known == KnownTime::Begin)?;
        let (time, nodes) = self.clocks.to_root_beside(process, own, &self.in_common)?;
        let length = arrival.length as f64 / self.nanoseconds_per_tick;
        let ticks = |own: u64| own as f64 * rate;
        Some(BeginEnd {
            operation: arrival.operation(),
            time,
            stop: time.saturating_add(length.ceil() as u64),
            clock: arrival.clock.map(ticks),
            node,
            nodes,
            begin: [ticks(arrival.ahead), if arrival.by_events { length } else { 0.0 }],
            by_events: arrival.by_events,
            is_anchored: arrival.is_anchored,
        })
    }
}
