//! Takes in the operations and the calls that have begun.

use super::Assembly;
use crate::collect::pending_calls::PendingCall;
use crate::event::handle::Handle;
use crate::event::kind::EventKind;
use crate::operation::verdict::Cause;
use crate::operation::{Operation, moment};
use crate::record::context::switching::{CLOSE, ChannelsAsked, Switched};
use crate::record::payload::OfCall;
use crate::record::pool::Pool;
use crate::record::slot::SlotContent;
use crate::record::window::WINDOWS;

impl Assembly {
    /// Returns whether NCCL was asked for the kernel channels of an operation when it was called, at this time.
    fn asked_at(&self, called: u64) -> ChannelsAsked {
        self.switched.asked_at(called, (CLOSE / self.nanoseconds_per_tick) as u64)
    }

    /// Reads a living event of this communicator and of a wanted kind.
    pub(super) fn living(&self, pool: &Pool, handle: u64, wanted: impl Fn(EventKind) -> bool) -> Option<SlotContent> {
        let handle = Handle::parse(handle)?;
        let (slot, block) = pool.find(handle)?;
        let event = slot.read(handle.generation())?;
        (block.window() / WINDOWS == self.index && wanted(event.kind)).then_some(event)
    }

    pub(super) fn operation_begun(&mut self, pool: &Pool, event: &SlotContent) {
        let mut operation = Operation::new(event);
        if !self.in_step.seen(operation.order) {
            return;
        }
        let mut call = self.calls.remove(event.parent);
        if call.is_none()
            && let Some(event) =
                self.living(pool, event.parent, |kind| matches!(kind, EventKind::CollApi | EventKind::P2pApi))
        {
            self.call_begun(&event);
            call = self.calls.remove(event.handle);
        }
        operation.not_begun = operation.not_begun.max(call.and_then(|call| moment(call.time)));
        if call.is_some_and(|call| !call.captured) && !self.no_kernel_events {
            self.in_step.launched(operation.order);
        }
        self.in_step.clear(event.parent);
        let is_skipped = event.kind == EventKind::Skipped;
        let function = (!is_skipped).then_some(operation.function);
        if self.switched != Switched::default() && !is_skipped {
            let asked = match call {
                // the types of a graph's replays are those of their capture
                None if event.parent != 0 && self.switched.has_switched() => ChannelsAsked::Perhaps,
                call => self.asked_at(call.map_or(event.start, |call| call.time)),
            };
            if asked != ChannelsAsked::Yes {
                self.kernels.unasked(operation.first_of_kernel(), asked);
            }
        }
        self.kernels.begun(operation.first_of_kernel(), operation.distance, event.handle, function);
        self.replay_begun(event, &operation, call.is_some_and(|call| call.captured), is_skipped);
        if is_skipped {
            return;
        }
        if operation.peer() == Some(self.rank) && !self.no_kernel_events {
            self.in_step.suspect(operation.order, event.handle, false, Cause::ToOneself);
        }
        self.lag.began(operation.channels);
        self.operations.insert(event.handle, operation);
    }

    pub(super) fn call_begun(&mut self, event: &SlotContent) {
        let call = OfCall::unpack(event.payload());
        let (OfCall { function, captured, silent, .. }, order) = (call, call.place.order);
        if captured {
            self.in_step.captured(order);
        }
        if !self.in_step.seen(order) {
            return;
        }
        if silent {
            let operation = Operation::of_call(event, &call, self.silent);
            self.silent += 1;
            self.kernels.begun(operation.first_of_kernel(), operation.distance, event.handle, Some(function));
            self.in_step.condemn(order, Cause::Unfollowed(function));
            self.operations.insert(event.handle, operation);
            return;
        }
        self.calls.insert(event.handle, PendingCall { order, time: event.start, captured });
        if event.kind == EventKind::CollApi && !self.no_kernel_events {
            self.in_step.suspect(order, event.handle, captured, Cause::Unfollowed(function));
        }
    }
}
