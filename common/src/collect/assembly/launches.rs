//! Reports of kernel launches, and what they change for the communicator's operations.

use super::Assembly;
use crate::collect::operations::OperationsUnderWay;
use crate::launch::times::Replay;
use crate::operation::Operation;
use crate::operation::kernels::KernelTiming;
use crate::record::slot::SlotContent;

/// Marks all these operations as heard of.
fn hear_all(operations: &mut OperationsUnderWay, touched: &mut Vec<u64>, handles: &[u64]) {
    for &handle in handles {
        if let Some(found) = operations.get_mut(handle).filter(|found| !found.heard) {
            found.heard = true;
            touched.push(handle);
        }
    }
}

impl Assembly {
    /// From this call on, kernel launches are reported and events time them.
    pub(crate) fn expect_launches(&mut self) {
        self.kernels.expect_launches();
    }

    /// Returns whether kernel launches are reported.
    pub(crate) fn expects_launches(&self) -> bool {
        self.kernels.expects_launches()
    }

    /// Reports of launches were lost.
    pub(crate) fn lose_news(&mut self) {
        self.kernels.lose_news();
    }

    /// Sets whether stamps are used at all.
    pub(crate) fn use_stamps(&mut self, wanted: bool) {
        self.ignores_stamps = !wanted;
    }

    /// Returns whether there was a call that NCCL launches without reporting an operation.
    pub(super) fn has_silent_calls(&self) -> bool {
        self.silent > 0
    }

    /// Takes in a kernel's launch: its time is to come, or there is none.
    pub(crate) fn launched(&mut self, first: u64, stamps: bool, when: KernelTiming) {
        let Self { kernels, operations, touched, .. } = self;
        hear_all(operations, touched, kernels.launched(first, stamps, when));
    }

    /// Takes in a kernel's time, or that there is none.
    pub(crate) fn timed(&mut self, first: u64, when: KernelTiming) {
        if let (KernelTiming::Timed(time), Some(clocks)) = (when, &mut self.clocks) {
            clocks.events.told(time.learnt, time.stop);
            clocks.events.enqueued(time.before, time.first);
            if let Some(anchor) = time.anchor {
                clocks.anchored([anchor.from, anchor.until], anchor.time);
            }
        }
        self.replays.settled(first);
        self.learn(first, when);
    }

    /// Sets what is known of a kernel's time.
    pub(super) fn learn(&mut self, first: u64, when: KernelTiming) {
        let Self { kernels, operations, touched, .. } = self;
        hear_all(operations, touched, kernels.learn(first, when));
    }

    /// Launches in graphs may get events.
    pub(crate) fn expect_replays(&mut self) {
        self.replays.expect();
    }

    /// From now on, operations of this call are replays of a launch with events.
    pub(crate) fn captured(&mut self, call: u64) {
        self.replays.captured(call);
    }

    /// Operations of this call have no events any more.
    pub(crate) fn forget_captured(&mut self, call: u64) {
        self.replays.forget(call);
    }

    /// Takes the replays since the last call. Comes after all news of captures from before these replays.
    pub(crate) fn take_replays(&mut self) -> Vec<Replay> {
        let (replays, without_events) = self.replays.take();
        for first in without_events {
            self.timed(first, KernelTiming::Unheard);
        }
        replays
    }

    /// Returns whether times of replays are to come.
    pub(crate) fn awaits_replays(&self) -> bool {
        self.replays.are_awaited()
    }

    /// Looks whether an operation that has begun is a replay's, whose kernel's time is to come.
    pub(super) fn replay_begun(
        &mut self,
        event: &SlotContent,
        operation: &Operation,
        is_captured: bool,
        is_skipped: bool,
    ) {
        let first = operation.first_of_kernel();
        if self.replays.begun(event, first, is_captured, is_skipped) {
            self.learn(first, KernelTiming::Awaited);
        }
    }

    /// Gives up the replays whose times are to come: nothing more will come at all.
    pub(super) fn end_replays(&mut self) {
        for first in self.replays.end() {
            self.kernels.learn(first, KernelTiming::Unheard);
        }
    }
}
