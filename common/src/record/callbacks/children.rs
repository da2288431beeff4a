//! The events within an operation: its kernel channels, its proxy operations and their steps. They are the most
//! frequent events, so each path has few instructions.

use super::{Started, refuse};
use crate::event::ProxyOp;
use crate::event::handle::Handle;
use crate::event::kind::EventKind;
use crate::record::context::switching;
use crate::record::payload::{Connection, OfKernelChannel, OfProxyOp, OfStep, Payload};
use crate::record::recorder::Recorder;
use crate::record::thread::ThreadCell;
use crate::record::window::WINDOWS;

impl Recorder {
    #[inline(always)]
    pub(super) fn kernel_channel(&self, started: Started<'_>, channel: u8, ptimer: Option<u64>) -> u64 {
        let payload = OfKernelChannel { start: ptimer.unwrap_or(0), channel };
        // the stop reports the offset between the GPU's clock and this one as well, and comes no earlier
        self.child(started, started.cell.recently(), payload.pack())
    }

    /// Records a step. Its times are those of its states. The start's own time only orders the steps, so the last reading
    /// of the clock is precise enough.
    #[inline(always)]
    pub(super) fn proxy_step(&self, started: Started<'_>, step: i32) -> u64 {
        let Started { cell, parent, .. } = started;
        let (number, now) = (u64::from(step.cast_unsigned()), cell.recently());
        if let Some(handle) = self.restarted(cell, parent, number, now) {
            return handle;
        }
        let handle = self.child(started, now, OfStep { number }.pack());
        if handle != 0 {
            cell.noted.start_step(parent, number, handle);
        }
        handle
    }

    #[inline(always)]
    pub(super) fn proxy_op(&self, started: Started<'_>, operation: &ProxyOp) -> u64 {
        // context and parent of another process' operation (PXN) mean nothing here, even if they look like this
        // process' handles
        if operation.pid != self.pid {
            started.cell.foreign.add(1);
            return 0;
        }
        let connection = Connection::new(operation.peer, operation.channel, operation.send);
        let payload = OfProxyOp { connection, steps: operation.steps };
        self.child(started, started.cell.now(), payload.pack())
    }

    /// Records an event in its parent's window, or in the window that its communicator fills.
    #[inline(always)]
    fn child(&self, started: Started<'_>, now: u64, payload: Payload) -> u64 {
        let Some(window) = self
            .beside(started.parent)
            .or_else(|| self.window_for_child(started.cell, started.kind, started.context, started.parent))
        else {
            return 0;
        };
        self.write(started, window, now, || payload).unwrap_or_else(|| {
            started.cell.dropped.add(1);
            0
        })
    }

    /// Returns the window of the parent, if it still takes children.
    #[inline(always)]
    fn beside(&self, parent: u64) -> Option<u32> {
        let window = self.pool.find(Handle::parse(parent)?)?.1.window();
        self.contexts.window(window)?.takes_children().then_some(window)
    }

    /// Returns the window for a child that cannot join its parent's. `None` if its parent or its communicator is not
    /// recorded; the child is counted then.
    #[cold]
    fn window_for_child(&self, cell: &ThreadCell, kind: EventKind, context: u64, parent: u64) -> Option<u32> {
        let has_switched = switching::has_any_switched();
        if parent == 0 && (kind != EventKind::ProxyOp || has_switched) {
            // NULL stands for an operation that was skipped, that found no room and counts as dropped, or that began
            // while NCCL was not asked for such events
            let is_small = self.settings.min_bytes > 0 || has_switched;
            (if is_small { &cell.skipped_children } else { &cell.parentless }).add(1);
            return None;
        }
        let Some((context, index)) = self.contexts.find_for_child(context) else {
            refuse(cell, context);
            return None;
        };
        Some(index * WINDOWS + context.filling())
    }

    /// Returns the handle of a step that this thread has started before and that has not stopped. NCCL starts a receive
    /// again each time that it could not be posted, millions of times a second, and forgets the earlier handle.
    #[inline(always)]
    fn restarted(&self, cell: &ThreadCell, parent: u64, step: u64, now: u64) -> Option<u64> {
        let handle = cell.noted.started_step(parent, step)?;
        let (slot, _, generation) = self.kept(handle)?;
        slot.restart(generation, now);
        Some(handle)
    }
}
