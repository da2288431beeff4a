//! Replays of a communicator's captured launches: NCCL names the captured call as the parent of each operation of a
//! replay.

use super::Assembly;
use crate::launch::times::Replay;
use crate::operation::Operation;
use crate::operation::kernels::When;
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
    /// The kernel's time is known, or will never be.
    pub(super) fn settled(&mut self, first: u64) {
        if !self.waiting.is_empty() {
            self.waiting.remove(&first);
        }
    }
}

impl Assembly {
    /// From now on, operations of this call are replays of a launch with events.
    pub(crate) fn captured(&mut self, call: u64) {
        self.replays.calls.insert(call);
    }

    /// Operations of this call have no events any more.
    pub(crate) fn forget_captured(&mut self, call: u64) {
        self.replays.calls.remove(&call);
    }

    /// Takes the replays since the last call.
    pub(crate) fn take_replays(&mut self) -> Vec<Replay> {
        std::mem::take(&mut self.replays.new)
    }

    /// Returns whether times of replays are to come.
    pub(crate) fn awaits_replays(&self) -> bool {
        !self.replays.waiting.is_empty()
    }

    /// Looks whether an operation that has begun is a replay's, whose kernel's time is to come.
    pub(super) fn replay_begun(&mut self, event: &Recorded, operation: &Operation, is_skipped: bool) {
        let (call, first) = (event.parent, operation.first_of_kernel());
        if !self.replays.calls.is_empty() && self.replays.calls.contains(&call) && self.replays.waiting.insert(first) {
            let number = if is_skipped { 0 } else { event.handle };
            self.replays.new.push(Replay { call, first, reported: event.start, number });
            self.learn(first, When::Awaited);
        }
    }

    /// Gives up the replays whose times are to come: nothing more will come at all.
    pub(super) fn end_replays(&mut self) {
        for first in std::mem::take(&mut self.replays.waiting) {
            self.kernels.learn(first, When::Unheard);
        }
    }
}
