//! What the readers tell of events: that one has begun, has ended, or is given up.

use super::Assembly;
use crate::control;
use crate::kind::Kind;
use crate::pool::Pool;
use crate::reader::Listener;
use crate::slot::Recorded;

impl Listener for Assembly {
    fn begun(&mut self, pool: &Pool, handle: u64, event: &Recorded) {
        control::beat();
        match event.kind {
            Kind::Coll | Kind::P2p | Kind::CeColl | Kind::Skipped => self.operation_begun(pool, handle, event),
            Kind::CollApi | Kind::P2pApi => self.call_begun(handle, event),
            Kind::ProxyOp => self.proxy_begun(pool, handle, event),
            Kind::ProxyStep => self.step_begun(pool, handle, event),
            Kind::KernelCh => {
                self.child_begun(pool, event.parent, event.start);
                self.steps.clear(event.parent);
            }
        }
    }

    fn ended(&mut self, handle: u64, event: &Recorded) {
        control::beat();
        match event.kind {
            Kind::Coll | Kind::P2p | Kind::CeColl | Kind::Skipped => {
                if let (Some(operation), Some(stop)) = (self.operations.get_mut(&handle), event.stop) {
                    operation.stop = event.stop;
                    operation.touch(stop);
                    self.touched.insert(handle);
                }
            }
            Kind::CollApi | Kind::P2pApi => {}
            Kind::ProxyOp => {
                self.proxy_ended(handle, event.parent, event.stop);
            }
            Kind::ProxyStep => self.step_ended(handle, event, event.stop),
            Kind::KernelCh => {
                let stamps = self.stamps(event);
                if let (Some(stop), Some((first, last))) = (event.stop, stamps) {
                    if self.knows_tick {
                        self.clock.observe(event.start, first, self.nanoseconds_per_tick);
                        self.clock.observe(stop, last, self.nanoseconds_per_tick);
                    }
                    if let Some(track) = &mut self.track {
                        track.told(event.start, first);
                        track.told(stop, last);
                    }
                }
                if let Some(operation) = self.child_ended(event.parent, event.stop) {
                    operation.kernel_ended(stamps);
                }
            }
        }
    }

    /// A lost step does not stop.
    fn awaits(&mut self, handle: u64) -> bool {
        self.proxies.awaits_step(handle)
    }

    fn abandoned(&mut self, handle: u64, event: &Recorded) {
        match event.kind {
            Kind::Coll | Kind::P2p | Kind::CeColl | Kind::Skipped => {
                if let Some(operation) = self.operations.get_mut(&handle) {
                    operation.stop = Some(operation.start);
                    operation.unfinished = true;
                }
            }
            Kind::CollApi | Kind::P2pApi => {}
            Kind::ProxyStep => self.step_ended(handle, event, None),
            Kind::ProxyOp => {
                self.proxy_ended(handle, event.parent, None);
            }
            Kind::KernelCh => {
                // what the GPU has stamped counts, whatever became of the event
                let stamps = self.stamps(event);
                if let Some(operation) = self.child_ended(event.parent, None) {
                    operation.kernel_ended(stamps);
                }
            }
        }
    }
}
