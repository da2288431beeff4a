//! Bounds of the members' clocks from their operations: nobody ends an all-reduce before all have begun it.
//!
//! So a member's clock stands to another one's as a GPU's to the host's ([`GpuTrack`]): when the first one begins, the
//! other one has not ended; when the first one ends, the other one has begun. Each operation bounds the offset from
//! both sides, and those near in time bound it for an operation that was waited for long.

use super::matching::Moment;
use crate::clock::gpu_track::{GpuMapping, GpuTrack};
use crate::event::name::Name;
use std::ffi::CStr;

/// Functions of which nobody ends before all have begun.
pub(super) const TOGETHER: [&CStr; 3] = [c"AllReduce", c"AllGather", c"ReduceScatter"];

/// The clocks of a member, of stamps and of CUDA's events, beside those of the first member.
type OfMember<T> = [[T; 2]; 2];

/// The members' clocks, as their operations show them.
#[derive(Debug)]
pub(super) struct Seen {
    together: [Name; 3],
    tracks: Vec<OfMember<GpuTrack>>,
}

impl Seen {
    /// Nothing yet, of so many members.
    pub(super) fn new(members: usize) -> Self {
        let together = TOGETHER.map(|name| Name::of(Some(name)));
        Self { together, tracks: (0..members).map(|_| OfMember::default()).collect() }
    }

    /// Takes in when the members began an operation, and when they ended it.
    pub(super) fn add(&mut self, moments: &[Moment]) {
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

    /// The bounds, once all is seen.
    pub(super) fn bounds(&self) -> Bounds {
        // both clocks are in ticks of one clock
        let mapping = |track: &GpuTrack| track.mapping(1.0);
        Bounds(
            self.tracks.iter().map(|tracks| tracks.each_ref().map(|tracks| tracks.each_ref().map(mapping))).collect(),
        )
    }
}

/// Whether nobody ends the operation before all have begun it.
pub(super) fn is_together(moment: &Moment) -> bool {
    TOGETHER.map(|name| Name::of(Some(name))).contains(&moment.operation.0)
}

/// When the member had not begun yet, on its own clock.
pub(super) fn earliest(moment: &Moment) -> u64 {
    moment.time.saturating_sub(moment.begin[0].ceil() as u64)
}

/// The bounds of the members' clocks.
#[derive(Debug)]
pub(super) struct Bounds(Vec<OfMember<Option<GpuMapping>>>);

impl Bounds {
    /// The least and the most that the clock of the member at that place can have shown when the first member's clock
    /// showed its own begin.
    pub(super) fn at(&self, place: usize, moment: &Moment, first: &Moment) -> Option<[u64; 2]> {
        let mapping = &self.0.get(place)?[usize::from(moment.by_events)][usize::from(first.by_events)];
        mapping.as_ref()?.bounds(first.time)
    }
}
