//! What the rounds of a process go by, and what one took in.

use crate::record::recorder::Recorder;

/// What one round took in.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Events that were not seen before.
    pub events: u32,
    /// All that began before was taken in, in ticks.
    pub horizon: u64,
}

impl Round {
    /// One that has taken in nothing, since there was nothing at that time.
    pub fn at(now: u64) -> Self {
        Self { events: 0, horizon: now }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { events: self.events.saturating_add(other.events), horizon: self.horizon.min(other.horizon) }
    }
}

/// What the rounds of a process go by.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// What was recorded.
    pub recorder: &'a Recorder,
    /// The events' clock, read before.
    pub now: u64,
    /// Late events of communicators that have ended are not waited for.
    pub hasty: bool,
}
