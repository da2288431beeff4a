//! Bounds of the members' clocks from their operations: no rank ends an all-reduce before all have begun it.
//!
//! So two members' clocks bound each other as a GPU's clock and the host's do ([`GpuTrack`]): when one member begins,
//! the other has not ended; when one ends, the other has begun. Each operation bounds the offset from both sides.
//! Operations near in time also bound it for an operation in which a rank waited for long.

use super::matching::BeginEnd;
use crate::clock::gpu_track::{Corridor, GpuTrack};
use crate::event::name::NcclName;
use std::ffi::CStr;

/// Functions that no rank ends before all have begun.
pub(super) const TOGETHER: [&CStr; 3] = [c"AllReduce", c"AllGather", c"ReduceScatter"];

/// A value for each pair of clocks: a member's (stamps, events), and the first member's (stamps, events).
type OfMember<T> = [[T; 2]; 2];

/// The operations' bounds of the members' clocks, as they are collected.
#[derive(Debug)]
pub(super) struct ClockBounds {
    together: [NcclName; 3],
    tracks: Vec<OfMember<GpuTrack>>,
}

impl ClockBounds {
    /// Makes an empty collection for this number of members.
    pub(super) fn new(members: usize) -> Self {
        let together = TOGETHER.map(|name| NcclName::of(Some(name)));
        Self { together, tracks: (0..members).map(|_| OfMember::default()).collect() }
    }

    /// Adds the members' begins and ends of an operation.
    pub(super) fn add(&mut self, moments: &[BeginEnd]) {
        let [first, ..] = moments else { return };
        if !self.together.contains(&first.operation.0) {
            return;
        }
        for (moment, tracks) in moments.iter().zip(&mut self.tracks).skip(1) {
            let track = &mut tracks[usize::from(moment.by_events)][usize::from(first.by_events)];
            track.told(moment.stop, earliest(first));
            track.enqueued(earliest(moment), first.stop);
        }
    }

    /// Adds the places and moments of a message's sender and receiver: no receive ends before its send has begun.
    /// Bounds are kept for messages from and to the first member.
    pub(super) fn add_message(&mut self, [(sender, sent), (receiver, received)]: [(usize, &BeginEnd); 2]) {
        let (place, moment, first) = if sender == 0 { (receiver, received, sent) } else { (sender, sent, received) };
        let Some(tracks) = self.tracks.get_mut(place).filter(|_| place > 0) else { return };
        let track = &mut tracks[usize::from(moment.by_events)][usize::from(first.by_events)];
        if sender == 0 {
            track.told(received.stop, earliest(sent));
        } else {
            track.enqueued(earliest(sent), received.stop);
        }
    }

    /// Returns the bounds, once all operations were added. Each member's operations are given up for its bounds, since
    /// the first process of a large job would need most of its memory for both of all members.
    pub(super) fn into_bounds(self) -> Bounds {
        // both times are in ticks of the same length
        let bounds = |track: GpuTrack| track.bounds(1.0);
        Bounds(self.tracks.into_iter().map(|tracks| tracks.map(|tracks| tracks.map(bounds))).collect())
    }
}

/// Returns whether no rank ends the operation before all have begun it.
pub(super) fn is_together(moment: &BeginEnd) -> bool {
    TOGETHER.map(|name| NcclName::of(Some(name))).contains(&moment.operation.0)
}

/// Returns a time at which the member had not begun yet, on its own clock.
pub(super) fn earliest(moment: &BeginEnd) -> u64 {
    moment.time.saturating_sub(moment.begin[0].ceil() as u64)
}

/// The bounds of the members' clocks.
#[derive(Debug)]
pub(super) struct Bounds(Vec<OfMember<Option<Corridor>>>);

impl Bounds {
    /// Returns the least and the most that the clock of the member at this place may have shown when the first member's
    /// clock, that of its CUDA events or that of its stamps, showed `time`.
    pub(super) fn at(&self, place: usize, moment: &BeginEnd, (time, by_events): (u64, bool)) -> Option<[u64; 2]> {
        let bounds = &self.0.get(place)?[usize::from(moment.by_events)][usize::from(by_events)];
        bounds.as_ref()?.at(time)
    }
}
