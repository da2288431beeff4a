//! The work of NCCL's callbacks. Each event becomes a slot in the right window; operations and calls also get their
//! place in the order of starts. Except for a thread's very first event, a callback does not allocate, lock, log or
//! wait.
//!
//! An event's slot lies in the window of its parent while that window takes children, otherwise in the window that its
//! communicator fills. The clock is read only where the time is of use, because reading it is most of the cost of a
//! callback.

mod children;
mod communicators;
mod enqueue;
mod graph;
mod launch;
mod proxy_thread;

use crate::clock::CLOCK;
use crate::event::handle::{Handle, Shared};
use crate::event::kind::EventKind;
use crate::event::name::NcclName;
use crate::event::{ApiCall, Event, StateChange};
use crate::launch::Recorded;
use crate::record::context::Context;
use crate::record::host_region::{self, HostRegion};
use crate::record::network_events;
use crate::record::payload::{OfCall, OfOperation, Payload};
use crate::record::pool::Pool;
use crate::record::recorder::{Recorder, begun};
use crate::record::slot::Slot;
use crate::record::thread::ThreadCell;

/// Context of a communicator that found no room: its events are dropped.
pub const NO_CONTEXT: u64 = 1;

/// Records the start of an event. Returns its handle, or 0 if it is not recorded.
#[inline(always)]
pub fn start(context: u64, parent: u64, event: &Event<'_>) -> u64 {
    let Some(recorder) = begun() else { return 0 };
    let handle = recorder.start(context, parent, event);
    match event {
        Event::CollApi(ApiCall { function, .. }) | Event::P2pApi(ApiCall { function, .. }) => {
            // by value: by reference, the whole event would have to be in memory
            let function = *function;
            host_region::started(handle, move || HostRegion::Call(NcclName::of(function)))
        }
        Event::KernelLaunch { .. } | Event::Group => launch::started(handle),
        _ => {}
    }
    handle
}

/// Records a change of an event's state. `state` decodes it, and is called right where the result decides what to do,
/// so that the state is examined once.
#[inline(always)]
pub fn state(handle: u64, state: impl FnOnce() -> StateChange) {
    if let Some(recorder) = begun() {
        recorder.state(handle, state);
    }
}

/// Records the stop of an event.
#[inline(always)]
pub fn stop(handle: u64) {
    if let Some(recorder) = begun() {
        recorder.stop(handle);
    }
}

/// Gives the launch that begins on this thread its number in a recording.
pub fn number_launch(number: u64) {
    if let (Some(recorder), Some(cell)) = (begun(), ThreadCell::of_callback(false)) {
        recorder.number_launch(cell, number);
    }
}

/// Sets the times of the events around this thread's next launch, from a recording that is replayed.
pub fn replay_launch(recorded: Recorded) {
    let Some(recorder) = begun().filter(|recorder| recorder.settings.gpu_time.has_events()) else { return };
    let Some(cell) = ThreadCell::of_callback(false) else { return };
    if !recorder.launches.are_timed() {
        recorder.launches.replay();
    }
    cell.launching.record_next(recorded);
}

/// Returns the place of an operation under way in its communicator's order of starts, for a replay; `None` of other
/// events, and of calls whose operations NCCL reports.
pub fn order(handle: u64) -> Option<u64> {
    let (slot, kind, generation) = begun()?.under_way(handle)?;
    let payload = slot.read(generation)?.payload();
    match kind {
        EventKind::Coll | EventKind::P2p | EventKind::CeColl => Some(OfOperation::unpack(payload).place.order),
        EventKind::CollApi => Some(OfCall::unpack(payload)).filter(|call| call.silent).map(|call| call.place.order),
        _ => None,
    }
}

/// Counts a callback for an event without a handle, which is not recorded.
#[inline(always)]
pub fn of_nothing() {
    if let (Some(_), Some(cell)) = (begun(), ThreadCell::of_callback(false)) {
        cell.others.one();
    }
}

/// An event that NCCL starts: its thread's cell, its kind, and the numbers with which NCCL names its context and its
/// parent.
#[derive(Debug, Clone, Copy)]
struct Started<'a> {
    cell: &'a ThreadCell,
    kind: EventKind,
    context: u64,
    parent: u64,
}

/// The living communicator of an event.
#[derive(Debug, Clone, Copy)]
struct Home<'a> {
    context: &'a Context,
    index: u32,
    /// The number with which NCCL names the context.
    raw: u64,
}

/// Counts an event without a living communicator: as dropped if the communicator found no room, else as ignored.
#[cold]
fn refuse(cell: &ThreadCell, context: u64) {
    let counter = if context == NO_CONTEXT { &cell.dropped } else { &cell.ignored };
    counter.add(1);
}

impl Recorder {
    /// See [`start`].
    #[inline(always)]
    pub fn start(&self, context: u64, parent: u64, event: &Event<'_>) -> u64 {
        let Some(cell) = ThreadCell::of_callback(true) else { return self.lose(context) };
        cell.events.one();
        if matches!(event, Event::Unused) {
            return 0;
        }
        let _section = cell.enter();
        let started = |kind| Started { cell, kind, context, parent };
        match event {
            Event::ProxyStep { step } => self.proxy_step(started(EventKind::ProxyStep), *step),
            Event::KernelCh { channel, ptimer } => self.kernel_channel(started(EventKind::KernelCh), *channel, *ptimer),
            Event::ProxyOp(operation) => self.proxy_op(started(EventKind::ProxyOp), operation),
            Event::Coll(operation) => self.operation(started(EventKind::Coll), operation),
            Event::P2p(operation) => self.operation(started(EventKind::P2p), operation),
            // a copy: passing the operation itself by reference would force all events into memory
            Event::CeColl(operation) => self.copies(started(EventKind::CeColl), &{ *operation }),
            Event::CollApi(call) => self.call(started(EventKind::CollApi), call),
            Event::P2pApi(call) => self.call(started(EventKind::P2pApi), call),
            Event::GroupApi => {
                // NCCL reports the group right before its first call, which gives the time
                cell.begin_api();
                if self.launches.are_timed() {
                    self.group_begins(cell, context);
                }
                Handle::group_api().raw()
            }
            Event::Group => {
                cell.launching.begin_kernel();
                if cell.is_launching() { Handle::nested_group().raw() } else { 0 }
            }
            Event::KernelLaunch { stream } => self.launch_begins(cell, context, *stream),
            Event::ProxyCtrl => Handle::proxy_ctrl().raw(),
            Event::NetPlugin(event) => {
                network_events::count(*event);
                Handle::net_plugin().raw()
            }
            Event::Unknown => {
                cell.unknown.one();
                0
            }
            Event::Unused => 0,
        }
    }

    /// See [`state`].
    #[inline(always)]
    pub fn state(&self, handle: u64, state: impl FnOnce() -> StateChange) {
        let Some(cell) = ThreadCell::of_callback(false) else { return };
        cell.others.one();
        match state() {
            StateChange::Other if self.under_way(handle).is_some() => {}
            StateChange::SendGpuWait => self.step(cell, handle, |slot, of| slot.restart(of, cell.now())),
            StateChange::SendPeerWait => self.step(cell, handle, |slot, _| slot.send_peer_wait(|| cell.now())),
            StateChange::SendWait { bytes } => {
                self.step(cell, handle, |slot, of| slot.send_wait(of, cell.now(), bytes));
            }
            StateChange::ReceiveWait => self.step(cell, handle, |slot, of| slot.receive_wait(of, cell.now())),
            StateChange::ReceiveFlush { bytes } => {
                self.step(cell, handle, |slot, of| slot.receive_flush(of, cell.now(), bytes));
            }
            StateChange::ReceiveGpuWait => self.step(cell, handle, |slot, of| slot.receive_gpu_wait(of, cell.now())),
            StateChange::KernelChStop { ptimer } => {
                self.amend(cell, handle, EventKind::KernelCh, |slot, generation| slot.kernel_stop(generation, ptimer));
            }
            StateChange::GroupEndBegins if Handle::shared(handle) == Some(Shared::GroupApi) => {
                cell.enter_api(cell.now());
                host_region::started(handle, || HostRegion::GroupEnd);
                if self.launches.are_timed() {
                    self.group_launches(cell);
                }
            }
            StateChange::GroupEndBegins if self.under_way(handle).is_some() => {}
            StateChange::Progress(change) => self.progress(cell, handle, change),
            StateChange::Other | StateChange::GroupEndBegins => ignore(cell, handle),
        }
    }

    /// Writes a state's values into the slot of a step under way.
    #[inline(always)]
    fn step(&self, cell: &ThreadCell, handle: u64, write: impl FnOnce(&Slot, u32)) {
        self.amend(cell, handle, EventKind::ProxyStep, write);
    }

    /// Writes a state's values into the slot of an event under way, if the event is of the kind `wanted`. The collector
    /// waits for the write before it gives the slot's block back. It has to: other kinds do not stamp those words, so a
    /// late write would be taken for the data of a later event.
    #[inline(always)]
    fn amend(&self, cell: &ThreadCell, handle: u64, wanted: EventKind, write: impl FnOnce(&Slot, u32)) {
        let _section = cell.enter();
        match self.kept(handle) {
            Some((slot, kind, generation)) if kind == wanted => write(slot, generation),
            Some(_) => {}
            None => ignore(cell, handle),
        }
    }

    /// See [`stop`]. It looks at no window, and the collector need not wait for it: all kinds stamp the word of the
    /// stop, so a stop that is written too late reads as absent.
    #[inline(always)]
    pub fn stop(&self, handle: u64) {
        let Some(cell) = ThreadCell::of_callback(false) else { return };
        cell.others.one();
        let Some((slot, kind, generation)) = self.under_way(handle) else { return self.stop_of_no_slot(cell, handle) };
        match kind {
            // a step without a size counts nowhere
            EventKind::ProxyStep if !slot.has_state(generation) => slot.stop(generation, cell.recently()),
            // one timed stop for each operation and thread, with a stamp, gives the offset between the GPU's clock and
            // this one
            EventKind::KernelCh if !slot.has_state(generation) || !cell.noted.is_first_to_stop(slot.parent()) => {
                slot.stop_untimed(generation)
            }
            EventKind::CollApi | EventKind::P2pApi => {
                let now = cell.now();
                slot.stop(generation, now);
                cell.leave_api(now, CLOCK.last_scale());
                host_region::stopped(handle);
            }
            EventKind::CeColl => {
                slot.stop(generation, cell.now());
                if self.launches.are_timed() {
                    self.copies_end(cell);
                }
            }
            _ => slot.stop(generation, cell.now()),
        }
    }

    /// Handles the stop of a group or a launch, or of no event under way in this process.
    #[inline(never)]
    fn stop_of_no_slot(&self, cell: &ThreadCell, handle: u64) {
        let group = Handle::group_api();
        // compared first, since it is the most frequent one
        if handle == group.raw() {
            cell.leave_group(cell.now(), CLOCK.last_scale());
            if self.launches.are_timed() {
                self.group_has_launched(cell);
            }
            return host_region::stopped(group.raw());
        }
        match group.beside(handle) {
            // they have counted at their start and at their states
            Some(Shared::ProxyCtrl | Shared::NetPlugin) => return,
            Some(launch) => self.launch_stops(cell, launch),
            // NULL stands for an event that is not recorded, and is no mistake
            None => cell.ignored.add(u64::from(handle != 0)),
        }
        // a call may last longer than its slot is kept
        host_region::stopped(handle);
    }

    /// Handles the start of an event on a thread without a cell. The event may be an operation that NCCL does not
    /// count, so the stamps of later operations are not trusted.
    #[cold]
    fn lose(&self, context: u64) -> u64 {
        if let Some((context, _)) = self.contexts.find(context) {
            context.lose();
        }
        0
    }

    /// Returns the slot of an event that has not stopped, its kind and its generation.
    #[inline(always)]
    fn under_way(&self, handle: u64) -> Option<(&Slot, EventKind, u32)> {
        let slot = self.pool.holding(handle)?;
        // the slot holds this number, so it is a handle
        let handle = Handle::known(handle);
        let kind = handle.kind()?;
        (!slot.is_stopped(handle.generation())).then_some((slot, kind, handle.generation()))
    }

    /// Like [`Recorder::under_way`], if the slot's block is still in use. A slot of a block that was given back keeps
    /// its event until another one comes, but nobody reads it.
    #[inline(always)]
    fn kept(&self, handle: u64) -> Option<(&Slot, EventKind, u32)> {
        self.under_way(handle).filter(|_| self.pool.find(Handle::known(handle)).is_some())
    }

    #[inline(always)]
    fn home(&self, started: Started<'_>) -> Option<Home<'_>> {
        let Some((context, index)) = self.contexts.find(started.context) else {
            refuse(started.cell, started.context);
            return None;
        };
        Some(Home { context, index, raw: started.context })
    }

    /// Writes an event that begins at `now` into a free slot of a window; `None` if there is none. `payload` is called
    /// once there is a slot.
    #[inline(always)]
    fn write(&self, started: Started<'_>, window: u32, now: u64, payload: impl FnOnce() -> Payload) -> Option<u64> {
        let (block, place, generation) = self.place(started.cell, window)?;
        let handle = Handle::of_event(started.kind, Pool::index(block, place), generation);
        let slot = self.pool.slot(block, place)?;
        slot.start(handle, started.parent, now, payload());
        slot.fetch_next();
        Some(handle.raw())
    }
}

/// Counts a state of no event under way in this process. No mistake, and not counted: NULL, which stands for an event
/// that is not recorded, and a state that a group or a launch does not have.
#[inline(never)]
fn ignore(cell: &ThreadCell, handle: u64) {
    cell.ignored.add(u64::from(handle != 0 && Handle::shared(handle).is_none()));
}
