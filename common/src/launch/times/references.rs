//! The events of each context behind which other events are placed.
//!
//! CUDA's time between two events has 24 bits: the closer they are, the better it is. So a launch is placed behind the
//! launch or anchor that was placed before it, and a replay, which has just been, behind the latest one.

use crate::launch::Launch;
use crate::launch::cuda::CudaEvent;
use crate::launch::launches::Launches;
use rustc_hash::FxHashMap;

/// An event whose time is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReferenceEvent {
    /// Generation of the pool when the event was made.
    pub(super) generation: u32,
    pub(super) event: CudaEvent,
    /// Time of the event, nanoseconds of the events' clock.
    pub(super) time: u64,
}

/// The references of one context.
#[derive(Debug, Default)]
struct OfContext {
    /// The event that was placed last.
    last: Option<ReferenceEvent>,
    /// The launch that has it, which nobody else may use meanwhile; `None` for an anchor's event.
    launch: Option<Box<Launch>>,
    /// The event of the anchor that the context keeps.
    anchor: Option<ReferenceEvent>,
}

/// The references of all contexts, by the numbers of their pools.
#[derive(Debug, Default)]
pub(super) struct ReferenceEvents(FxHashMap<usize, OfContext>);

impl ReferenceEvents {
    /// Returns the event of a pool's present context that was placed last.
    pub(super) fn last(&self, pool: usize, launches: &Launches) -> Option<ReferenceEvent> {
        self.0.get(&pool)?.last.filter(|of| !launches.is_of_before(pool, of.generation))
    }

    /// Returns the latest event of a pool's present context that was placed.
    pub(super) fn latest(&self, pool: usize, launches: &Launches) -> Option<ReferenceEvent> {
        let OfContext { last, anchor, .. } = self.0.get(&pool)?;
        let of_now = |of: &ReferenceEvent| !launches.is_of_before(pool, of.generation);
        [last, anchor].into_iter().copied().flatten().filter(of_now).max_by_key(|of| of.time)
    }

    /// Takes in the event of an anchor, which the context keeps from now on in place of the one before.
    pub(super) fn anchored(&mut self, pool: usize, event: ReferenceEvent, launches: &Launches) {
        let context = self.0.entry(pool).or_default();
        (context.last, context.anchor) = (Some(event), Some(event));
        context.launch.take().into_iter().for_each(|launch| launches.give_back(launch));
    }

    /// Takes in the last event of a launch that is over.
    pub(super) fn ended(&mut self, pool: usize, event: ReferenceEvent, launch: Box<Launch>, launches: &Launches) {
        let context = self.0.entry(pool).or_default();
        context.last = Some(event);
        context.launch.replace(launch).into_iter().for_each(|launch| launches.give_back(launch));
    }

    /// Forgets the events of a pool. Returns the launch that has one.
    pub(super) fn close(&mut self, pool: usize) -> Option<Box<Launch>> {
        self.0.remove(&pool)?.launch
    }
}
