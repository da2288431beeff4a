//! Replays of a communicator's captured launches: NCCL names the captured call as the parent of each operation of a
//! replay.

use crate::launch::times::Replay;
use crate::record::slot::Recorded;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Replays {
    /// Captured calls whose launches have events.
    calls: FxHashSet<u64>,
    /// Replays that were not taken yet.
    new: Vec<Replay>,
    /// First operations of the kernels whose time is to come.
    waiting: BTreeSet<u64>,
}

impl Replays {
    /// From now on, operations of this call are replays of a launch with events.
    pub(super) fn captured(&mut self, call: u64) {
        self.calls.insert(call);
    }

    /// Operations of this call have no events any more.
    pub(super) fn forget(&mut self, call: u64) {
        self.calls.remove(&call);
    }

    /// Takes the replays since the last call.
    pub(super) fn take(&mut self) -> Vec<Replay> {
        std::mem::take(&mut self.new)
    }

    /// Returns whether times of replays are to come.
    pub(super) fn are_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes in an operation that has begun, with the first one of its kernel. Returns whether it is a replay's, whose
    /// kernel's time is to come from here on.
    pub(super) fn begun(&mut self, event: &Recorded, first: u64, is_skipped: bool) -> bool {
        let call = event.parent;
        let is_new = !self.calls.is_empty() && self.calls.contains(&call) && self.waiting.insert(first);
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
