//! Takes in what the readers report of events: begun, ended or given up.

use super::Assembly;
use crate::collect::reader::Listener;
use crate::event::kind::EventKind;
use crate::operation::moment;
use crate::record::pool::Pool;
use crate::record::slot::SlotContent;

impl Listener for Assembly {
    fn begun(&mut self, pool: &Pool, event: &SlotContent) {
        match event.kind {
            EventKind::Coll | EventKind::P2p | EventKind::CeColl | EventKind::Skipped => {
                self.operation_begun(pool, event)
            }
            EventKind::CollApi | EventKind::P2pApi => self.call_begun(event),
            EventKind::ProxyOp => self.proxy_begun(pool, event),
            EventKind::ProxyStep => self.step_begun(pool, event),
            EventKind::KernelCh => {
                self.child_begun(pool, event.parent, event.start);
                self.in_step.clear(event.parent);
            }
        }
    }

    fn passed(&mut self, pool: &Pool, event: &SlotContent) {
        match (event.kind, event.stop) {
            (EventKind::ProxyStep, Some(stop)) => self.step_passed(pool, event, stop),
            (EventKind::KernelCh, Some(_)) => {
                let stamps = self.told_stamps(event);
                let stop = self.latest_stop(event);
                if let Some(operation) = self.child_passed(pool, event.parent, event.start, stop) {
                    operation.kernel_ended(stamps);
                }
                self.in_step.clear(event.parent);
            }
            _ => {
                self.begun(pool, event);
                self.ended(event);
            }
        }
    }

    fn ended(&mut self, event: &SlotContent) {
        match event.kind {
            EventKind::CollApi if !self.has_silent_calls() => {}
            // a call that NCCL launches without reporting an operation is kept as an operation
            EventKind::Coll | EventKind::P2p | EventKind::CeColl | EventKind::Skipped | EventKind::CollApi => {
                if let Some(stop) = event.stop
                    && let Some(operation) = self.hear(event.handle)
                {
                    operation.stop = moment(stop);
                    operation.touch(stop);
                }
            }
            EventKind::P2pApi => {}
            EventKind::ProxyOp => {
                self.proxy_ended(event, event.stop);
            }
            EventKind::ProxyStep => self.step_ended(event, event.stop),
            EventKind::KernelCh => {
                let stamps = self.told_stamps(event);
                let stop = event.stop.map(|_| self.latest_stop(event));
                if let Some(operation) = self.child_ended(event.parent, stop) {
                    operation.kernel_ended(stamps);
                }
            }
        }
    }

    /// A lost step is not waited for.
    fn awaits(&mut self, handle: u64) -> bool {
        self.proxies.awaits_step(handle)
    }

    fn abandoned(&mut self, event: &SlotContent) {
        match event.kind {
            EventKind::CollApi if !self.has_silent_calls() => {}
            EventKind::Coll | EventKind::P2p | EventKind::CeColl | EventKind::Skipped | EventKind::CollApi => {
                if let Some(operation) = self.operations.get_mut(event.handle) {
                    operation.stop = moment(operation.start);
                    operation.unfinished = true;
                }
            }
            EventKind::P2pApi => {}
            EventKind::ProxyStep => self.step_ended(event, None),
            EventKind::ProxyOp => {
                self.proxy_ended(event, None);
            }
            EventKind::KernelCh => {
                // stamps that the GPU has taken count, even if the event never stopped
                let stamps = self.stamps(event);
                if let Some(operation) = self.child_ended(event.parent, None) {
                    operation.kernel_ended(stamps);
                }
            }
        }
    }
}
