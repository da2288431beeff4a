//! The input and the result of a round of the collector.

use crate::record::recorder::Recorder;

/// The result of a round.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Number of events that were not seen before.
    pub events: u32,
    /// All events that began before this time were taken in, in ticks.
    pub horizon: u64,
}

impl Round {
    /// Returns a round at this time that had nothing to take in.
    pub fn at(now: u64) -> Self {
        Self { events: 0, horizon: now }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { events: self.events.saturating_add(other.events), horizon: self.horizon.min(other.horizon) }
    }
}

/// The input of a round.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// The recorder of the process.
    pub recorder: &'a Recorder,
    /// Time of the events' clock, read before the round.
    pub now: u64,
    /// Whether late events of communicators that have ended are not waited for.
    pub hasty: bool,
}
