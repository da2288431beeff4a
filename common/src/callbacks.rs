//! What NCCL's callbacks do: each event becomes a slot, in the right window and, for operations and calls, with its place in the order of
//! starts. It does not allocate, lock, log or wait, but for a thread's very first event.
//!
//! An event's slot lies in the window of its parent while that window still takes children, otherwise in the window that its
//! communicator fills.

use crate::context::Context;
use crate::datatype::element_bytes;
use crate::event::{Call, Communicator, Event, Identity, Operation, ProxyOp, State};
use crate::handle::Handle;
use crate::host_region;
use crate::log;
use crate::message::Message;
use crate::name::Name;
use crate::recorder::{CLOCK, Recorder, begin, get};
use crate::slot::{Kind, Payload, Slot};
use crate::thread::ThreadCell;
use crate::window::WINDOWS;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// The context of a communicator that there is no room for: its events are dropped.
pub const NO_CONTEXT: u64 = 1;

/// NCCL made a communicator. Gives its context, [`NO_CONTEXT`] when nothing can be recorded.
pub fn init(communicator: Communicator) -> u64 {
    begin().map_or(NO_CONTEXT, |recorder| recorder.init(communicator))
}

/// NCCL destroyed a communicator.
pub fn finalize(context: u64) {
    if let Some(recorder) = get() {
        recorder.finalize(context);
    }
}

/// NCCL starts an event. Gives its handle, or 0 when it is not recorded.
pub fn start(context: u64, parent: u64, event: &Event<'_>) -> u64 {
    let handle = get().map_or(0, |recorder| recorder.start(context, parent, event));
    host_region::started(handle, event);
    handle
}

/// NCCL tells that an event's state changed.
pub fn state(handle: u64, state: State) {
    if let Some(recorder) = get() {
        recorder.state(handle, state);
    }
}

/// NCCL stops an event.
pub fn stop(handle: u64) {
    host_region::stopped(handle);
    if let Some(recorder) = get() {
        recorder.stop(handle);
    }
}

/// Bytes of that many elements; 0 for a type of unknown size.
fn bytes(count: u64, datatype: Option<&CStr>) -> u64 {
    count.saturating_mul(element_bytes(datatype).unwrap_or(0))
}

/// A handle of this process; another's is counted, NULL (the answer for events not recorded) is not.
fn checked(cell: &ThreadCell, raw: u64) -> Option<Handle> {
    let handle = Handle::parse(raw);
    cell.ignored.add(u64::from(handle.is_none() && raw != 0));
    handle
}

/// An event of no living communicator: lost for want of room if NCCL got no context of its own, else no event of ours.
fn refuse(cell: &ThreadCell, context: u64) {
    let counter = if context == NO_CONTEXT { &cell.dropped } else { &cell.ignored };
    counter.add(1);
}

impl Recorder {
    /// See [`init`].
    pub fn init(&self, communicator: Communicator) -> u64 {
        ThreadCell::of_callback(false);
        let Some(id) = self.contexts.open(communicator.api_calls, CLOCK.now()) else {
            static TOLD: AtomicBool = AtomicBool::new(false);
            if !TOLD.swap(true, Ordering::Relaxed) {
                log::warn("too many communicators at a time (4096); those beyond are not recorded");
            }
            return NO_CONTEXT;
        };
        if let (true, Some((context, _))) = (communicator.told, self.contexts.find(id.raw())) {
            context.tell(communicator.rank);
        }
        self.send(Message::Opened { id, communicator });
        id.raw()
    }

    /// See [`finalize`].
    pub fn finalize(&self, context: u64) {
        let cell = ThreadCell::of_callback(false);
        match (self.contexts.end(context), cell) {
            (Some(id), _) => self.send(Message::Ended { id, time: CLOCK.now() }),
            (None, Some(cell)) => cell.ignored.add(u64::from(context != 0 && context != NO_CONTEXT)),
            (None, None) => {}
        }
    }

    /// See [`start`].
    #[inline]
    pub fn start(&self, context: u64, parent: u64, event: &Event<'_>) -> u64 {
        let Some(cell) = ThreadCell::of_callback(true) else { return self.lose(context) };
        let _section = cell.enter();
        match event {
            Event::Coll(operation) => self.operation(cell, Kind::Coll, context, parent, operation),
            Event::P2p(operation) => self.operation(cell, Kind::P2p, context, parent, operation),
            Event::CeColl(operation) => self.operation(cell, Kind::CeColl, context, parent, operation),
            Event::CollApi(call) => self.call(cell, Kind::CollApi, context, parent, call),
            Event::P2pApi(call) => self.call(cell, Kind::P2pApi, context, parent, call),
            Event::GroupApi => {
                cell.begin_api(CLOCK.now());
                Handle::group_api().raw()
            }
            Event::ProxyOp(operation) => self.proxy_op(cell, context, parent, operation),
            Event::ProxyStep { step } => self.child(cell, Kind::ProxyStep, context, parent, [0, 0, *step as u32 as u64, 0]),
            Event::KernelCh { channel, ptimer } => {
                let payload = [ptimer.unwrap_or(0), 0, u64::from(*channel), 0];
                self.child(cell, Kind::KernelCh, context, parent, payload)
            }
            Event::Unused => 0,
            Event::Unknown => {
                cell.unknown.add(1);
                0
            }
        }
    }

    /// See [`state`].
    #[inline]
    pub fn state(&self, handle: u64, state: State) {
        let Some(cell) = ThreadCell::of_callback(false) else { return };
        let _section = cell.enter();
        let Some(handle) = checked(cell, handle) else { return };
        if handle.is_slotless() {
            match state {
                State::GroupStartReturns => cell.leave_api(CLOCK.now(), CLOCK.last_scale()),
                State::GroupEndBegins => cell.enter_api(CLOCK.now()),
                _ => {}
            }
            return;
        }
        let Some((slot, kind)) = self.under_way(handle) else {
            cell.ignored.add(1);
            return;
        };
        match (kind, state) {
            (Kind::ProxyStep, State::SendWait { bytes }) => slot.send_wait(handle.generation(), CLOCK.now(), bytes),
            (Kind::KernelCh, State::KernelChStop { ptimer }) => slot.kernel_stop(handle.generation(), ptimer),
            _ => {}
        }
    }

    /// See [`stop`].
    #[inline]
    pub fn stop(&self, handle: u64) {
        let Some(cell) = ThreadCell::of_callback(false) else { return };
        let _section = cell.enter();
        let Some(handle) = checked(cell, handle) else { return };
        let now = CLOCK.now();
        if handle.is_slotless() {
            cell.leave_api(now, CLOCK.last_scale());
            return;
        }
        let Some((slot, kind)) = self.under_way(handle) else {
            cell.ignored.add(1);
            return;
        };
        if matches!(kind, Kind::CollApi | Kind::P2pApi) {
            cell.leave_api(now, CLOCK.last_scale());
        }
        slot.stop(handle.generation(), now);
    }

    /// An event of a thread without a cell, which may have been one that NCCL does not count.
    #[cold]
    fn lose(&self, context: u64) -> u64 {
        if let Some((context, _)) = self.contexts.find(context) {
            context.lose();
        }
        0
    }

    fn operation(&self, cell: &ThreadCell, kind: Kind, context: u64, parent: u64, operation: &Operation<'_>) -> u64 {
        let bytes = bytes(operation.count, operation.datatype);
        let Some((context, index)) = self.living(cell, context) else { return 0 };
        if let Some(identity) = operation.identity {
            self.tell(context, index, &identity);
        }
        if !context.has_api_calls() {
            cell.enqueued_ops.add(1);
            cell.enqueued_bytes.add(bytes);
        }
        // one to oneself is a work that NCCL may not count, which its kernel channels tell
        let skipped = bytes < self.settings.min_bytes && (operation.peer.is_none() || operation.peer != context.rank());
        let kind = if skipped { Kind::Skipped } else { kind };
        let names = [operation.function, operation.algorithm, operation.protocol].map(|name| Name::of(name).bits());
        let shape = u32::from_le_bytes([names[0], names[1], names[2], operation.channels]);
        let shape = u64::from(shape) | u64::from(operation.peer.unwrap_or(-1) as u32) << 32;
        let handle = self.ordered(cell, kind, context, index, parent, [bytes, operation.sequence, shape]);
        if !skipped {
            return handle;
        }
        // one that found no room is dropped, and counted as such
        if let Some((handle, (slot, _))) = Handle::parse(handle).and_then(|handle| Some((handle, self.pool.find(handle)?))) {
            cell.skipped.add(1);
            slot.stop(handle.generation(), CLOCK.now());
        }
        0
    }

    /// Up to interface v3, the first operation introduces its communicator. The only allocation after init, once a communicator.
    fn tell(&self, context: &Context, index: u32, identity: &Identity<'_>) {
        if context.rank().is_none() && context.tell(identity.rank) {
            let name = identity.name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            self.send(Message::Told { index, id: identity.id, name, rank: identity.rank });
        }
    }

    fn call(&self, cell: &ThreadCell, kind: Kind, context: u64, parent: u64, call: &Call<'_>) -> u64 {
        let bytes = bytes(call.count, call.datatype);
        cell.enqueued_ops.add(1);
        cell.enqueued_bytes.add(bytes);
        let Some((context, index)) = self.living(cell, context) else { return 0 };
        let payload = [bytes, u64::from(call.captured), u64::from(Name::of(call.function).bits())];
        let handle = self.ordered(cell, kind, context, index, parent, payload);
        if handle != 0 {
            // the stop of an event without a handle would not be told
            cell.enter_api(CLOCK.now());
        }
        handle
    }

    fn proxy_op(&self, cell: &ThreadCell, context: u64, parent: u64, operation: &ProxyOp) -> u64 {
        // context and parent of another process' operation (PXN) mean nothing here, however much they look like ours
        if operation.pid != self.pid {
            cell.foreign.add(1);
            return 0;
        }
        let place = u64::from(operation.peer as u32) | u64::from(operation.channel) << 32 | u64::from(operation.send) << 40;
        self.child(cell, Kind::ProxyOp, context, parent, [place, operation.steps as u32 as u64, 0, 0])
    }

    /// Records an operation or a call, numbered in the order of starts.
    fn ordered(&self, cell: &ThreadCell, kind: Kind, context: &Context, index: u32, parent: u64, payload: [u64; 3]) -> u64 {
        if self.asleep.load(Ordering::Relaxed) {
            self.wake();
        }
        let now = CLOCK.now();
        let mut filling = context.filling();
        let window = context.window(filling);
        if now.saturating_sub(window.opened()) > self.window_ticks() && window.blocks() > 0 {
            self.close(context, index, filling, now);
            filling = context.filling();
        }
        let Some((block, place, generation)) = self.place(cell, index * WINDOWS + filling, now) else {
            cell.dropped.add(1);
            context.lose();
            return 0;
        };
        let [bytes, sequence, shape] = payload;
        self.write(block, place, generation, kind, parent, now, [bytes, sequence, shape, context.next_order()])
    }

    /// Records an event beside its parent, or where its communicator records now.
    fn child(&self, cell: &ThreadCell, kind: Kind, context: u64, parent: u64, payload: Payload) -> u64 {
        if parent == 0 && kind != Kind::ProxyOp {
            cell.parentless.add(1);
            return 0;
        }
        let beside = Handle::parse(parent).and_then(|parent| {
            let window = self.pool.find(parent)?.1.window();
            self.contexts.window(window)?.takes_children().then_some(window)
        });
        let window = match beside {
            Some(window) => window,
            None => {
                let Some((context, index)) = self.contexts.find_for_child(context) else {
                    refuse(cell, context);
                    return 0;
                };
                index * WINDOWS + context.filling()
            }
        };
        let now = CLOCK.now();
        if kind == Kind::ProxyStep
            && let Some(handle) = self.restarted(cell, parent, payload[2], now)
        {
            return handle;
        }
        let Some((block, place, generation)) = self.place(cell, window, now) else {
            cell.dropped.add(1);
            return 0;
        };
        let handle = self.write(block, place, generation, kind, parent, now, payload);
        if kind == Kind::ProxyStep {
            cell.note_step(parent, payload[2], handle);
        }
        handle
    }

    /// The handle of a step that this thread has started before and that has not stopped: NCCL starts a receive again each time that
    /// it could not be posted, millions of times a second, and forgets the handle it had.
    fn restarted(&self, cell: &ThreadCell, parent: u64, step: u64, now: u64) -> Option<u64> {
        let handle = Handle::parse(cell.noted_step(parent, step)?)?;
        let (slot, _) = self.under_way(handle).filter(|(_, kind)| *kind == Kind::ProxyStep)?;
        slot.restart(handle.generation(), now);
        Some(handle.raw())
    }

    /// The slot of an event that has not stopped, and its kind.
    #[inline]
    fn under_way(&self, handle: Handle) -> Option<(&Slot, Kind)> {
        let (slot, _) = self.pool.find(handle)?;
        let kind = slot.kind(handle.generation())?;
        (!slot.is_stopped(handle.generation())).then_some((slot, kind))
    }

    fn living(&self, cell: &ThreadCell, context: u64) -> Option<(&Context, u32)> {
        let found = self.contexts.find(context);
        if found.is_none() {
            refuse(cell, context);
        }
        found
    }

    #[allow(clippy::too_many_arguments, reason = "one event, written once; a struct would be built only to be taken apart")]
    fn write(&self, block: u32, place: u32, generation: u32, kind: Kind, parent: u64, now: u64, payload: Payload) -> u64 {
        let Some(slot) = self.pool.slot(block, place) else { return 0 };
        slot.start(generation, kind, parent, now, payload);
        self.pool.handle(block, place, generation).raw()
    }
}
