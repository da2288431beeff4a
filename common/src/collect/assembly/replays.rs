//! Replays of a communicator's captured launches: NCCL names the captured call as the parent of each operation of a
//! replay.
//!
//! A launch may be captured and replayed within one round of the collector, after the news were taken. So the first
//! operation of each captured call counts as a replay, until the news that came meanwhile were taken as well.

use crate::launch::times::Replay;
use crate::record::slot::Recorded;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Replays {
    /// Whether launches in graphs may get events.
    are_expected: bool,
    /// Captured calls whose launches have events.
    calls: FxHashSet<u64>,
    /// Replays that were not taken yet; also of calls whose launches turn out to have no events.
    new: Vec<Replay>,
    /// First operations of the kernels whose time is to come.
    waiting: BTreeSet<u64>,
}

impl Replays {
    /// Launches in graphs may get events.
    pub(super) fn expect(&mut self) {
        self.are_expected = true;
    }

    /// From now on, operations of this call are replays of a launch with events.
    pub(super) fn captured(&mut self, call: u64) {
        self.calls.insert(call);
    }

    /// Operations of this call have no events any more.
    pub(super) fn forget(&mut self, call: u64) {
        self.calls.remove(&call);
    }

    /// Takes the replays since the last call: those of launches with events, and the others.
    pub(super) fn take(&mut self) -> (Vec<Replay>, Vec<Replay>) {
        std::mem::take(&mut self.new).into_iter().partition(|replay| self.calls.contains(&replay.call))
    }

    /// Returns whether times of replays are to come.
    pub(super) fn are_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes in an operation that has begun, with the first one of its kernel; `is_captured` says whether it follows a
    /// captured call as the first one. Returns whether it is a replay's, whose kernel's time is to come from here on.
    pub(super) fn begun(&mut self, event: &Recorded, first: u64, is_captured: bool, is_skipped: bool) -> bool {
        let call = event.parent;
        let is_replay = self.are_expected && is_captured || !self.calls.is_empty() && self.calls.contains(&call);
        let is_new = is_replay && self.waiting.insert(first);
        if is_new {
            let number = if is_skipped { 0 } else { event.handle };
            self.new.push(Replay { call, first, reported: event.start, number });
        }
        is_new
    }

    /// Takes the first operations of the kernels whose times are to come: nothing more will come at all.
    pub(super) fn end(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.waiting)
    }

    /// The kernel's time is known, or will never be.
    pub(super) fn settled(&mut self, first: u64) {
        if !self.waiting.is_empty() {
            self.waiting.remove(&first);
        }
    }
}
