//! The events of the application's threads: calls of NCCL's API, and the operations that the calls enqueue for the GPU.

use super::{Home, Started};
use crate::base::sync::Ordering;
use crate::event::datatype::Datatype;
use crate::event::handle::Handle;
use crate::event::kind::EventKind;
use crate::event::name::NcclName;
use crate::event::{ApiCall, CommunicatorIdentity, StartedOperation};
use crate::launch::KernelId;
use crate::record::context::{Context, switching};
use crate::record::news::News;
use crate::record::payload::{OfCall, OfOperation, OperationWord, Payload, StartOrder};
use crate::record::recorder::Recorder;
use crate::record::thread::ThreadCell;
use crate::record::window::WINDOWS;

impl Recorder {
    #[inline(always)]
    pub(super) fn operation(&self, started: Started<'_>, operation: &StartedOperation<'_>) -> u64 {
        let datatype = Datatype::of(operation.datatype);
        let bytes = operation.count.saturating_mul(datatype.element_bytes());
        // at once: else the type would need a register of its own until then
        let number = match operation.peer {
            Some(peer) => OperationWord::of_peer(peer, datatype),
            None => OperationWord::of_collective(operation.sequence, operation.root, datatype),
        };
        let Some(Home { context, index, raw }) = self.home(started) else { return 0 };
        let Started { cell, kind, .. } = started;
        if let Some(identity) = operation.identity
            && context.rank().is_none()
        {
            self.tell(context, index, &identity);
        }
        if !context.has_api_calls() {
            cell.enqueued_ops.add(1);
            cell.enqueued_bytes.add(bytes);
        }
        // an operation to self is recorded whatever its size: NCCL may not count its work, which its kernel channels
        // show
        let skipped = bytes < self.settings.min_bytes && (operation.peer.is_none() || operation.peer != context.rank());
        let kind = if skipped { EventKind::Skipped } else { kind };
        let [function, algorithm, protocol] =
            [NcclName::of(operation.function), NcclName::of(operation.algorithm), NcclName::of(operation.protocol)];
        // not within the closure below: the whole operation would have to be in memory for it
        let (channels, since_launch, place) = (operation.channels, 0, StartOrder::default());
        let words = OfOperation { bytes, number, function, algorithm, protocol, channels, since_launch, place }.pack();
        let is_copied = kind == EventKind::CeColl;
        let payload = |order, now| {
            let distance = if is_copied { 0 } else { cell.launching.distance(order) };
            let since_launch = if is_copied { 0 } else { cell.launching.since_launch(raw, now) };
            OfOperation::placed(words, since_launch, StartOrder::new(order, distance))
        };
        // made anew for each call: what a function that is not inlined takes by address is in memory for all others, too
        let home = || Home { context, index, raw };
        let (handle, order) = self.ordered(Started { kind, ..started }, home(), payload);
        if self.launches.are_timed() && !is_copied {
            self.follow(cell, home(), (handle, order), operation.peer, algorithm);
        }
        if !skipped {
            return handle;
        }
        // an operation that found no room counts as dropped, not as skipped
        if let Some((slot, _, generation)) = self.under_way(handle) {
            cell.skipped.add(1);
            slot.stop(generation, cell.now());
        }
        0
    }

    /// Notes what the first operation says of its communicator, up to interface v3. This is the only allocation after
    /// init, once for each communicator.
    #[cold]
    fn tell(&self, context: &Context, index: u32, identity: &CommunicatorIdentity<'_>) {
        if context.tell(identity.rank) {
            let name = identity.name.map(|name| name.c_str().to_string_lossy().into_owned()).unwrap_or_default();
            self.send(News::Told { index, id: identity.id, name, rank: identity.rank });
        }
    }

    #[inline(always)]
    pub(super) fn call(&self, started: Started<'_>, call: &ApiCall<'_>) -> u64 {
        let Started { cell, kind, parent, .. } = started;
        let datatype = Datatype::of(call.datatype);
        let bytes = call.count.saturating_mul(datatype.element_bytes());
        cell.enqueued_ops.add(1);
        cell.enqueued_bytes.add(bytes);
        let Some(Home { context, index, raw }) = self.home(started) else { return 0 };
        let (function, captured, root) = (NcclName::of(call.function), call.captured, call.root);
        let words = OfCall { bytes, function, datatype, root, captured, ..OfCall::default() }.pack();
        // made anew for each call, as in `operation`
        let origin = || (Started { cell, kind, context: raw, parent }, Home { context, index, raw });
        let handle = if self.launches.are_timed() {
            let (started, home) = origin();
            self.timed_call(started, home, words, call.stream)
        } else {
            let (started, home) = origin();
            self.ordered(started, home, |order, _| OfCall::placed(words, StartOrder::new(order, 0))).0
        };
        if handle != 0 {
            // NCCL reports no stop of an event without a handle; the start has read the clock just now
            cell.enter_api(cell.recently());
        }
        handle
    }

    /// Like [`Recorder::call`], where launches are timed.
    // takes the packed words: else `call` would keep their parts, too, also without events
    #[cold]
    #[inline(never)]
    fn timed_call(&self, started: Started<'_>, home: Home<'_>, words: Payload, stream: usize) -> u64 {
        let (Started { cell, kind, .. }, Home { context, index, raw }) = (started, home);
        let payload = OfCall::unpack(words);
        let OfCall { bytes, function, captured, .. } = payload;
        cell.launching.call(index, function, bytes);
        let silent =
            kind == EventKind::CollApi && !captured && context.has_silent_broadcasts() && function.is_broadcast();
        let distance = |order| match Handle::parse_context(raw) {
            Some(context) if silent => {
                let (distance, replaced) = cell.launching.silent_call(KernelId { context, order }, stream);
                self.refuse_silent(replaced);
                distance
            }
            _ => 0,
        };
        let payload = |order, _| OfCall { silent, place: StartOrder::new(order, distance(order)), ..payload }.pack();
        let (handle, _) = self.ordered(started, home, payload);
        cell.launching.name_call(handle);
        if silent || captured {
            context.doubt();
        }
        if captured {
            // kernels that are captured without stamps have none at any replay
            self.stamps.want();
        }
        if silent {
            cell.launching.name_silent(handle);
        }
        handle
    }

    /// Records an operation or a call, numbered in the order of starts. Returns its handle (0 where there is no room)
    /// and its number. `payload` gets the number and the time.
    #[inline(always)]
    fn ordered(&self, started: Started<'_>, home: Home<'_>, payload: impl FnOnce(u64, u64) -> Payload) -> (u64, u64) {
        let (cell, Home { context, index, .. }) = (started.cell, home);
        let now = cell.now();
        if self.asleep.load(Ordering::Relaxed) {
            self.attend(context, now);
        }
        let mut filling = context.filling();
        let window = context.window(filling);
        if now.saturating_sub(window.opened()) > self.window_ticks() && window.blocks() > 0 {
            self.close(context, filling, now);
            filling = context.filling();
        }
        // numbered only once there is room: the collector would wait for a number without an event
        let mut order = 0;
        let numbered = || {
            order = context.next_order();
            payload(order, now)
        };
        let handle = self.write(started, index * WINDOWS + filling, now, numbered).unwrap_or_else(|| {
            cell.dropped.add(1);
            context.lose();
            0
        });
        (handle, order)
    }

    /// Wakes the collector, or switches the event types that NCCL is asked for.
    #[cold]
    #[inline(never)]
    fn attend(&self, context: &Context, now: u64) {
        self.wake();
        if switching::is_due() {
            context.switch(now, self.stamps.are_wanted());
        }
    }

    /// Follows the start of a kernel's operation, with its handle (0 where there is no room) and its place in the order
    /// of starts: a send or receive (`peer`), or a collective by `algorithm`.
    // takes single fields, not the operation: else the operation would have to be in memory, also without events
    #[cold]
    #[inline(never)]
    fn follow(
        &self,
        cell: &ThreadCell,
        home: Home<'_>,
        (handle, order): (u64, u64),
        peer: Option<i32>,
        algorithm: NcclName,
    ) {
        // of the replay of a graph a recording has the time here, since it has no launch
        let replayed = if self.launches.are_replayed() { cell.launching.take_recorded() } else { None };
        if handle == 0 {
            return;
        }
        let Home { context, index, raw } = home;
        let distance = cell.launching.distance(order);
        if let Some(context) = Handle::parse_context(raw) {
            let kernel = KernelId { context, order: order - distance };
            if cell.launching.has_news() {
                self.tell_launch(cell, kernel);
            }
            if let Some(recorded) = replayed {
                self.tell_replay(cell, kernel, recorded);
            }
        }
        self.learn(cell, context, index, peer, distance == 0 && algorithm.is_believed());
    }

    /// Records a collective by copy engine. Its copies lie between two CUDA events; the first one is recorded before
    /// the operation itself.
    #[inline(never)]
    pub(super) fn copies(&self, started: Started<'_>, operation: &StartedOperation<'_>) -> u64 {
        let Started { cell, context, .. } = started;
        let timed = self.launches.are_timed() && self.contexts.find(context).is_some();
        if timed {
            self.copies_begin(cell, operation.stream);
        }
        let handle = self.operation(started, operation);
        if let (true, Some(context), Some((slot, _, generation))) =
            (timed, Handle::parse_context(context), self.under_way(handle))
            && let Some(event) = slot.read(generation)
        {
            let order = OfOperation::unpack(event.payload()).place.order;
            self.copies_are(cell, KernelId { context, order }, handle);
        }
        handle
    }
}
