//! The standing of a communicator: which operations it has entered, begun and finished, and what is under way. It is
//! kept for the status file alone (`NCCL_SCOREP_STATUS`).
//!
//! Figures wait until nothing more comes of an operation, and give it up after a deadline. The standing is of this
//! moment: it takes in the same events as the assembly, also of windows that still fill, and it keeps an unfinished
//! operation for as long as it is unfinished.
//!
//! The works of a communicator run on the GPU one after the other. So an operation has ended when a later one has, also
//! if its own end was not seen.

mod calls;
mod entries;
mod entry;
mod numbering;
mod numbers;
mod waits;

pub(crate) use calls::InApi;

use crate::clock::wall::Wall;
use crate::event::datatype::Datatype;
use crate::event::handle::Handle;
use crate::event::kind::EventKind;
use crate::event::{self, TimingOptions};
use crate::figures::progress::BegunOperation;
use crate::launch::times::OfKernel;
use crate::record::context::switching::{CLOSE, ChannelsAsked, Switched};
use crate::record::payload::{OfCall, OfOperation};
use crate::record::pool::Pool;
use crate::record::slot::SlotContent;
use crate::status;
use entries::Entries;
use entry::StandingEntry;
use numbering::{Numbering, Start, StartCount};
use numbers::OperationNumbers;
use waits::StandingWaits;

/// Nanoseconds after which an operation of a call is not awaited any more. A communicator's first call may take minutes.
const OPERATION: f64 = 600e9;

/// See the module.
#[derive(Debug)]
pub(crate) struct Standing {
    name: String,
    nranks: i32,
    rank: Option<i32>,
    /// Time at which the collector heard of it, ticks.
    opened: u64,
    /// Whether NCCL reports calls of its API. If not, operations stand in for them.
    api_calls: bool,
    /// Whether nothing that started is known to lack.
    is_whole: bool,
    /// Whether NCCL was asked for kernel channels at the communicator's begin.
    has_channels: bool,
    /// The mask of its NCCL, if the types that NCCL is asked for may change.
    switched: Switched,
    nanoseconds_per_tick: f64,
    /// Whether CUDA events time kernels.
    has_events: bool,
    /// Kernel channels of operations from this order on may be other operations'.
    trusted_below: u64,
    timed: TimingOptions,
    numbering: Numbering,
    /// Whether a graph's replays may go unreported.
    may_miss_replays: bool,
    /// Whether a collective may have run on the GPU without an operation.
    may_miss_operations: bool,
    numbers: OperationNumbers,
    entries: Entries,
    waits: StandingWaits,
    /// Begin of the current round, ticks.
    now: u64,
}

impl Standing {
    /// Makes the standing of a communicator that was just made.
    pub(crate) fn new(introduction: &event::InitCommunicator, now: u64, is_whole: bool, may_switch: bool) -> Self {
        let event::InitCommunicator { name, nranks, rank, api_calls, kernel_events, introduced, timed, .. } =
            introduction;
        Self {
            name: name.clone(),
            nranks: *nranks,
            rank: introduced.then_some(*rank),
            opened: now,
            api_calls: *api_calls,
            is_whole,
            has_channels: *kernel_events,
            switched: if may_switch { Switched::of(timed.mask) } else { Switched::default() },
            nanoseconds_per_tick: 1.0,
            has_events: false,
            trusted_below: u64::MAX,
            timed: *timed,
            numbering: Numbering::default(),
            may_miss_replays: false,
            may_miss_operations: false,
            numbers: OperationNumbers::default(),
            entries: Entries::default(),
            waits: StandingWaits::default(),
            now,
        }
    }

    /// Sets its name and this process' rank in it, when they are known.
    pub(crate) fn tell(&mut self, name: &str, rank: i32) {
        name.clone_into(&mut self.name);
        self.rank = Some(rank);
    }

    /// Begins a round at this time, in ticks. `has_events` says whether CUDA events time kernels. Once they have, their
    /// news count to the end.
    pub(crate) fn begin_round(&mut self, now: u64, has_events: bool, nanoseconds_per_tick: f64) {
        (self.now, self.nanoseconds_per_tick) = (now, nanoseconds_per_tick);
        self.has_events |= has_events;
    }

    /// Notes that calls or operations found no room: they have no number.
    pub(crate) fn lose(&mut self) {
        self.is_whole = false;
    }

    /// Notes that kernel channels from this order on may be other operations'.
    pub(crate) fn distrust(&mut self, order: u64) {
        self.trusted_below = self.trusted_below.min(order);
    }

    /// Notes that all works that started before this order have had their time on the GPU.
    pub(crate) fn passed_by(&mut self, order: u64) {
        self.entries.passed_by(order, self.now);
    }

    /// Takes in a report, come at `now`, of the kernel whose first operation has this order. It may come before the
    /// operation is read.
    pub(crate) fn heard(&mut self, first: u64, news: OfKernel, now: u64) {
        match news {
            OfKernel::Launched { .. } | OfKernel::Captured(_) | OfKernel::Ambiguous(_) => {}
            OfKernel::Reached => self.entries.kernel_reached(first, now),
            OfKernel::Ran(_) => {
                self.entries.kernel_ran(first, now);
                self.waits.finished();
            }
            OfKernel::Untimed { .. } | OfKernel::GivenUp(_) | OfKernel::Missed => self.entries.kernel_untimed(first),
        }
    }

    /// Returns the event types that NCCL was asked for at its begin.
    pub(crate) fn asked(&self) -> i32 {
        self.timed.asked
    }

    /// Returns whether kernel channels of an operation that was called at this time, in ticks, are reported.
    fn has_channels_at(&self, called: u64) -> bool {
        if self.switched == Switched::default() {
            return self.has_channels;
        }
        self.switched.asked_at(called, (CLOSE / self.nanoseconds_per_tick) as u64) == ChannelsAsked::Yes
    }

    /// Finds out how the GPU's part of an operation is to be seen.
    fn follow(&self, entry: &mut StandingEntry) {
        entry.has_channels = self.has_channels_at(entry.entered)
            && self.trusted_below > entry.order.min(entry.called.unwrap_or(u64::MAX))
            && !entry.is_copied
            && !(entry.peer.is_some() && entry.peer == self.rank && !self.timed.counts_self)
            && !(self.timed.silent_broadcasts && entry.function.is_broadcast() && entry.operation == 0);
        entry.is_followed = self.has_events && self.timed.launches || entry.has_channels;
    }

    /// Takes in the begin of an event.
    pub(crate) fn begun(&mut self, event: &SlotContent) {
        match event.kind {
            EventKind::CollApi | EventKind::P2pApi => self.call_begun(event),
            EventKind::Coll | EventKind::P2p | EventKind::CeColl | EventKind::Skipped => self.operation_begun(event),
            EventKind::ProxyOp => self.waits.proxy_begun(event),
            EventKind::ProxyStep => self.waits.step_begun(event),
            EventKind::KernelCh => self.entries.channel_begun(event.parent, event.start),
        }
    }

    /// Takes in the end of an event; `abandoned` if its end will not be seen any more.
    pub(crate) fn ended(&mut self, event: &SlotContent, abandoned: bool) {
        match event.kind {
            EventKind::CollApi | EventKind::P2pApi => self.entries.returned(event.handle, event.stop),
            EventKind::Coll | EventKind::P2p | EventKind::CeColl | EventKind::Skipped => {}
            EventKind::ProxyOp if abandoned => self.waits.proxy_lost(event.handle),
            EventKind::ProxyStep if abandoned => {}
            EventKind::ProxyOp => self.waits.proxy_ended(event.handle),
            EventKind::ProxyStep => self.waits.step_ended(event.parent, event.handle),
            EventKind::KernelCh if abandoned => {}
            EventKind::KernelCh => {
                let time = event.timed_stop().unwrap_or(self.now);
                if self.entries.channel_ended(event.parent, time, self.trusted_below) {
                    self.waits.finished();
                }
            }
        }
    }

    /// Takes in an event that has begun and ended.
    pub(crate) fn passed(&mut self, event: &SlotContent) {
        match event.kind {
            // most steps are seen when they are over
            EventKind::ProxyStep => self.waits.step_passed(event.parent),
            _ => {
                self.begun(event);
                self.ended(event, false);
            }
        }
    }

    fn call_begun(&mut self, event: &SlotContent) {
        let OfCall { bytes, function, datatype, root, captured, silent, place, .. } = OfCall::unpack(event.payload());
        let is_collective = event.kind == EventKind::CollApi;
        self.may_miss_replays |= captured && !self.has_channels_at(event.start);
        if !captured {
            let mut entry = StandingEntry::new(function, bytes, datatype, root, event.start);
            (entry.call, entry.called, entry.is_collective) = (event.handle, Some(place.order), is_collective);
            // nothing runs on the GPU for a rank that is alone
            entry.is_silent = silent || self.nranks == 1;
            self.follow(&mut entry);
            self.entries.add(entry);
        }
        let counts = if is_collective { StartCount::Collective } else { StartCount::P2p };
        self.number(place.order, Start { of: if captured { 0 } else { event.handle }, counts });
        if silent {
            // the call stands for the operation, of which nothing else is reported
            let begun = BegunOperation { order: place.order, called: event.start, number: None, bytes };
            self.numbers.begun(event.handle, begun, self.numbering.next());
        }
    }

    fn operation_begun(&mut self, event: &SlotContent) {
        let operation = OfOperation::unpack(event.payload());
        let OfOperation { bytes, function, number, place, .. } = operation;
        let is_p2p = event.kind == EventKind::P2p || function.is_p2p();
        let (peer, is_skipped) = (is_p2p.then(|| number.peer()), event.kind == EventKind::Skipped);
        let complete = |entry: &mut StandingEntry| {
            (entry.operation, entry.order, entry.peer) = (event.handle, place.order, peer);
            entry.first = place.order.saturating_sub(place.distance.into());
            entry.channels = if is_p2p { 1 } else { operation.channels.max(1) };
            entry.is_copied = event.kind == EventKind::CeColl;
        };
        if is_skipped && self.api_calls {
            self.entries.forget_call(event.parent);
        } else if !is_skipped {
            let mut entry = self.entries.take_call(event.parent).unwrap_or_else(|| {
                // the operation of a graph's replay, or one without calls
                let datatype = if function.is_in_bytes() { Datatype::default() } else { number.datatype() };
                StandingEntry {
                    is_collective: !is_p2p,
                    ..StandingEntry::new(function, bytes, datatype, number.root(), event.start)
                }
            });
            complete(&mut entry);
            self.follow(&mut entry);
            self.entries.add(entry);
        }
        let counts = match (self.api_calls, is_p2p) {
            (true, _) => StartCount::Nothing,
            (false, true) => StartCount::P2p,
            (false, false) => StartCount::Collective,
        };
        // NCCL names the call of each operation; without one, calls are missing
        self.is_whole &= !self.api_calls || event.parent != 0;
        self.number(place.order, Start { of: event.handle, counts });
        let key = if self.api_calls { event.parent } else { event.handle };
        let begun = BegunOperation { order: place.order, called: event.start, number: None, bytes };
        self.numbers.begun(key, begun, self.numbering.next());
    }

    /// Takes the operations that have begun since the last call, once their numbers are certain. Returns also whether
    /// all are known: a collective whose operation does not come may have run unseen.
    pub(crate) fn take_begun(&mut self) -> (Vec<BegunOperation>, bool) {
        let patience = (OPERATION / self.nanoseconds_per_tick) as u64;
        let is_late = |(_, called): (u64, u64)| called.saturating_add(patience) < self.now;
        self.may_miss_operations |= self.without_operation().is_some_and(is_late);
        (self.numbers.take(), self.is_whole && !self.may_miss_replays && !self.may_miss_operations)
    }

    /// Returns the oldest collective whose operation is still to come: its order and the time of its call.
    pub(crate) fn without_operation(&self) -> Option<(u64, u64)> {
        self.entries.without_operation()
    }

    fn number(&mut self, order: u64, start: Start) {
        let Self { numbering, numbers, entries, is_whole, .. } = self;
        *is_whole &= numbering.start(order, start, |of, number| {
            entries.number(of, number);
            numbers.number(of, number);
        });
        numbers.settle(numbering.next());
    }

    /// Returns when the last call ended before this time, ticks: a group that ends at this time may have that call.
    fn last_call_before(&self, time: u64) -> Option<u64> {
        self.entries.iter().filter_map(|entry| entry.returned.filter(|&returned| returned <= time)).max()
    }

    /// Returns its state for the status file.
    pub(crate) fn status(
        &self,
        comm: Option<u64>,
        calls: Vec<status::OpenCall>,
        (pool, wall): (&Pool, Wall),
    ) -> status::StatusCommunicator {
        let [entered, entered_p2p] = self.numbering.counts();
        let is_asked =
            self.has_events && self.timed.launches || self.has_channels_at(self.now) && self.trusted_below == u64::MAX;
        let sees_gpu = is_asked && self.entries.iter().all(|entry| entry.is_followed || entry.finished.is_some());
        // operations of which nothing more is to be learnt would else pass for finished ones
        let (begun, finished) = if sees_gpu { self.entries.counts() } else { (0, 0) };
        let mut operations: Vec<&StandingEntry> = self.entries.iter().collect();
        operations.sort_by_key(|entry| entry.called.unwrap_or(entry.order));
        status::StatusCommunicator {
            comm: comm.map(|comm| format!("{comm:016x}")).unwrap_or_default(),
            name: self.name.clone(),
            rank: self.rank,
            nranks: u64::try_from(self.nranks).unwrap_or(0),
            opened: wall.at(self.opened),
            ended: None,
            counts_all: self.is_whole,
            sees_gpu,
            entered,
            entered_p2p,
            begun,
            finished,
            operations: operations.into_iter().map(|entry| entry.status(wall, sees_gpu)).collect(),
            calls,
            waits: self.waits.status(wall, |step| {
                let handle = Handle::parse(step)?;
                pool.find(handle)?.0.read(handle.generation())
            }),
            ..Default::default()
        }
    }
}
