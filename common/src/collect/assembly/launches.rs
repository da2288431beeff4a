//! What is heard of the launches of a communicator's kernels, and what follows for the time of its operations.

use super::Assembly;
use crate::collect::operations::Operations;
use crate::operation::kernels::When;

/// Something was heard of all these operations.
fn hear_all(operations: &mut Operations, touched: &mut Vec<u64>, handles: &[u64]) {
    for &handle in handles {
        if let Some(found) = operations.get_mut(handle).filter(|found| !found.heard) {
            found.heard = true;
            touched.push(handle);
        }
    }
}

impl Assembly {
    /// Launches are told of, and events time them.
    pub(crate) fn expect_launches(&mut self) {
        self.kernels.expect_launches();
    }

    /// Whether they are.
    pub(crate) fn expects_launches(&self) -> bool {
        self.kernels.expects_launches()
    }

    /// Whether news of launches were lost.
    pub(crate) fn lose_news(&mut self, lost: bool) {
        self.news_lost = lost;
    }

    /// Stamps are used, or not, whatever they say.
    pub(crate) fn use_stamps(&mut self, wanted: bool) {
        self.ignores_stamps = !wanted;
    }

    /// Whether there was a call that NCCL launches without telling of it.
    pub(super) fn has_silent_calls(&self) -> bool {
        self.silent > 0
    }

    /// Something is heard of a kernel's launch: that its time is to come, or that there is none.
    pub(crate) fn launched(&mut self, first: u64, stamps: bool, when: When) {
        let Self { kernels, operations, touched, .. } = self;
        hear_all(operations, touched, kernels.launched(first, stamps, when));
    }

    /// A kernel's time is known, or will not be.
    pub(crate) fn timed(&mut self, first: u64, when: When) {
        let Self { kernels, operations, touched, events_track, .. } = self;
        if let (When::Timed(time), Some(track)) = (when, events_track) {
            track.told(time.learnt, time.stop);
            track.enqueued(time.before, time.first);
        }
        hear_all(operations, touched, kernels.learn(first, when));
    }
}
