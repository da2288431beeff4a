//! Proxy operations and their steps: their operations, and their transfers.

use super::Assembly;
use crate::collect::proxies::Proxy;
use crate::event::kind::EventKind;
use crate::operation::{Sends, moment};
use crate::record::payload::OfStep;
use crate::record::pool::Pool;
use crate::record::slot::SlotContent;
use crate::sums::run_sums::{Direction, TransferKey};

impl Assembly {
    /// Returns the proxy operation of this handle. Reads it from its slot if it has not been read yet.
    fn proxy(&mut self, pool: &Pool, handle: u64) -> Option<Proxy> {
        let known = self.proxies.get(handle);
        if known.is_none() {
            let event = self.living(pool, handle, |kind| kind == EventKind::ProxyOp)?;
            if event.stop.is_some() {
                // not reported yet, or forgotten already: the operation does not count it as under way
                self.proxies.begin(handle, &event, false);
                self.proxies.end(handle, event.stop.unwrap_or(0));
            } else {
                self.proxy_begun(pool, &event);
            }
            return self.proxies.get(handle);
        }
        known
    }

    pub(super) fn proxy_begun(&mut self, pool: &Pool, event: &SlotContent) {
        if let Some(proxy) = self.proxies.begin(event.handle, event, true) {
            self.child_begun(pool, proxy.operation, event.start);
        }
    }

    pub(super) fn proxy_ended(&mut self, event: &SlotContent, ended: Option<u64>) {
        let (handle, operation) = (event.handle, event.parent);
        let counted = self.proxies.get(handle).is_none_or(Proxy::is_counted);
        self.proxies.end(handle, ended.unwrap_or(0));
        if counted {
            self.child_ended(operation, ended);
        }
        if let (Some(operation), Some(stop)) = (self.operations.get_mut(operation), ended) {
            operation.proxy_stop = operation.proxy_stop.max(moment(stop));
        }
    }

    pub(super) fn step_begun(&mut self, pool: &Pool, event: &SlotContent) {
        let Some(proxy) = self.proxy(pool, event.parent) else {
            self.orphans += u64::from(event.parent != 0);
            return;
        };
        self.child_begun(pool, proxy.operation, event.start);
        let lost = self.proxies.begin_step(event.parent, OfStep::unpack(event.payload()).number, event.handle);
        self.steps_lost(proxy.operation, lost, Some(event.start));
    }

    pub(super) fn step_ended(&mut self, event: &SlotContent, ended: Option<u64>) {
        let awaited = self.proxies.end_step(event.parent, event.handle);
        // a step without its proxy operation is an orphan: it was counted when it began
        let Some(proxy) = self.proxies.get(event.parent) else { return };
        if awaited {
            self.child_ended(proxy.operation, ended);
        }
        self.transferred(proxy, event, ended);
    }

    /// Takes in a step that has begun and ended.
    pub(super) fn step_passed(&mut self, pool: &Pool, event: &SlotContent, stop: u64) {
        let OfStep { number } = OfStep::unpack(event.payload());
        let passed = self.proxies.pass_step(event.parent, number).or_else(|| {
            self.proxy(pool, event.parent)?;
            self.proxies.pass_step(event.parent, number)
        });
        let Some((proxy, lost)) = passed else {
            self.orphans += u64::from(event.parent != 0);
            return;
        };
        self.child_passed(pool, proxy.operation, event.start, stop);
        self.steps_lost(proxy.operation, lost, Some(event.start));
        self.transferred(proxy, event, Some(stop));
    }

    /// Adds the states of a step that has ended, and the transfer of a send step.
    #[inline]
    fn transferred(&mut self, proxy: Proxy, event: &SlotContent, ended: Option<u64>) {
        let Some(stop) = ended else { return };
        let (peer, channel) = (proxy.peer(), proxy.channel());
        if let Some(states) = event.step_states(proxy.sends(), stop) {
            let direction = if proxy.sends() { Direction::Send } else { Direction::Receive };
            let OfStep { number } = OfStep::unpack(event.payload());
            for step in self.proxies.queue(event.parent, number, states).iter().flatten() {
                self.states.add(peer, direction, step, self.nanoseconds_per_tick);
            }
        }
        if proxy.sends()
            && let Some(sent) = event.send_wait()
        {
            if let Some(operation) = self.operations.get_mut(proxy.operation) {
                let Sends { count, bytes, ticks } = &mut **operation.sends.get_or_insert_default();
                *count += 1;
                *bytes = bytes.saturating_add(sent.bytes);
                *ticks += stop.saturating_sub(sent.time);
            }
            self.sent.add(
                &TransferKey { start: sent.time, stop, bytes: sent.bytes, peer, channel },
                self.nanoseconds_per_tick,
            );
        }
    }
}
