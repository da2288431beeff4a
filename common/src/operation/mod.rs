//! An operation (Coll, P2p, CeColl, or a call that NCCL reports no further), assembled from its events.

mod bus;
pub(crate) mod kernels;
mod later;
mod moved;
pub mod nvlink;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod timing;
pub(crate) mod verdict;

use crate::event::kind::EventKind;
use crate::event::name::NcclName;
use crate::launch::Untimed;
pub use crate::operation::bus::{bus_bytes, bus_factor, size_factor};
use crate::operation::kernels::{CommunicatorKernels, Kernel, KernelTiming};
pub use crate::operation::later::Later;
pub use crate::operation::moved::moved;
pub use crate::operation::timing::{TimeSource, Timing};
use crate::record::context::switching::ChannelsAsked;
use crate::record::payload::{OfCall, OfOperation, OperationWord};
use crate::record::slot::SlotContent;
use std::num::NonZeroU64;

/// Sums of the transfers that an operation sent over the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sends {
    /// Number of transfers.
    pub count: u64,
    /// Bytes of the transfers.
    pub bytes: u64,
    /// Sum of the transfers' durations, ticks.
    pub ticks: u64,
}

/// Returns a time in ticks as a number that is not 0: 0 stands for an event that has not happened.
pub fn moment(ticks: u64) -> Option<NonZeroU64> {
    NonZeroU64::new(ticks.max(1))
}

/// An operation and what is known of its children.
///
/// A process may hold thousands of operations. An operation and its handle take 128 bytes; the fields that every child
/// changes come first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Operation {
    /// Latest begin or end of the operation or of a child, ticks.
    pub active: u64,
    /// Place in the communicator's order of starts.
    pub order: u64,
    /// End of the enqueue, ticks.
    pub stop: Option<NonZeroU64>,
    /// First start and last stop of the stamped kernel channels, see [`Operation::span`].
    span: (u64, u64),
    /// Number of children, and steps of children, that have begun and not ended.
    pub live: u32,
    /// Number of kernel channels that have ended.
    pub kernels: u32,
    /// Number of ended kernel channels with stamps of the GPU.
    pub stamped: u16,
    /// Its order minus the order of its kernel's first operation.
    pub distance: u16,
    /// Coll, P2p or CeColl; CollApi for a call that NCCL launches without reporting an operation.
    pub kind: EventKind,
    /// Number of channels that NCCL announced.
    pub channels: u8,
    /// Whether the operation or a child never ended.
    pub unfinished: bool,
    /// Whether an event of it arrived since it was last looked at.
    pub heard: bool,
    /// Bytes: number of elements times their size.
    pub bytes: u64,
    /// Start of the enqueue, ticks.
    pub start: u64,
    /// Latest known time at which its kernel had not begun, ticks: the launch or, where the launch is not known, the
    /// API call. NCCL reports the launch and the call before the kernel runs, but may report the enqueue later.
    pub not_begun: Option<NonZeroU64>,
    /// NCCL's sequence number of a collective; 0 for a P2p.
    pub sequence: u64,
    /// Last stop of its proxy operations, ticks.
    pub proxy_stop: Option<NonZeroU64>,
    /// Nanoseconds with which the counters have counted it, see [`Operation::count`].
    pub credited: u64,
    /// Sums of its transfers over the network.
    pub sends: Option<Box<Sends>>,
    /// The other rank of a P2p; the root of another kind, or -1.
    other: i32,
    /// Function.
    pub function: NcclName,
    /// Algorithm of a collective.
    pub algorithm: NcclName,
    /// Protocol of a collective.
    pub protocol: NcclName,
    /// [`COUNTED`] and [`LAUNCHED`].
    marks: u8,
}

const _: () = assert!(size_of::<(u64, Operation)>() == 128);

/// The counters have counted the operation, with the time in `credited`.
const COUNTED: u8 = 1;
/// The thread that reported the operation had launched its kernel right before.
const LAUNCHED: u8 = 2;

impl Operation {
    /// Makes an operation from the slot of a Coll, P2p or CeColl.
    pub fn new(event: &SlotContent) -> Self {
        Self::of(event, &OfOperation::unpack(event.payload()))
    }

    /// Makes an operation from a call that NCCL launches without reporting an operation: the `number`-th such call in
    /// its communicator. Only CUDA events give its time.
    pub(crate) fn of_call(event: &SlotContent, call: &OfCall, number: u64) -> Self {
        let OfCall { bytes, function, datatype, root, place, .. } = *call;
        let number = OperationWord::of_collective(number, root, datatype);
        Self::of(event, &OfOperation { bytes, function, number, place, ..OfOperation::default() })
    }

    fn of(event: &SlotContent, payload: &OfOperation) -> Self {
        let OfOperation { bytes, number, function, algorithm, protocol, channels, since_launch, place } = *payload;
        let (other, sequence) = match event.kind {
            EventKind::P2p => (number.peer(), 0),
            _ => (number.root().unwrap_or(-1), number.sequence()),
        };
        Self {
            kind: event.kind,
            function,
            other,
            bytes,
            sequence,
            algorithm,
            protocol,
            order: place.order,
            not_begun: moment(event.start.saturating_sub(since_launch)).filter(|_| since_launch > 0),
            start: event.start,
            stop: None,
            channels,
            live: 0,
            kernels: 0,
            stamped: 0,
            distance: place.distance,
            span: (u64::MAX, 0),
            proxy_stop: None,
            active: event.start,
            unfinished: false,
            marks: if since_launch > 0 && matches!(event.kind, EventKind::Coll | EventKind::P2p) {
                LAUNCHED
            } else {
                0
            },
            credited: 0,
            sends: None,
            heard: false,
        }
    }

    /// Returns the order of its kernel's first operation.
    pub fn first_of_kernel(&self) -> u64 {
        self.order.saturating_sub(self.distance.into())
    }

    /// Returns what is known of its kernel.
    pub fn kernel(&self, kernels: &CommunicatorKernels) -> Kernel {
        kernels.get(self.first_of_kernel())
    }

    /// Returns the other rank of a P2p.
    pub fn peer(&self) -> Option<i32> {
        (self.kind == EventKind::P2p).then_some(self.other)
    }

    /// Returns when the host began and had ended the launch of its kernel, ticks. NCCL reports an operation right behind
    /// the launch. `None` where NCCL reports no launches, and where the thread that reports the operation has not launched
    /// it, as in a replay of a CUDA graph.
    pub fn launched(&self) -> Option<[u64; 2]> {
        self.not_begun.filter(|_| self.marks & LAUNCHED != 0).map(|begun| [begun.get(), self.start])
    }

    /// Marks it as counted by the counters. Returns whether it was not before.
    pub fn count(&mut self) -> bool {
        let was_counted = self.marks & COUNTED != 0;
        self.marks |= COUNTED;
        !was_counted
    }

    /// Returns the root of a collective that has one, as far as it is below 65,535.
    pub fn root(&self) -> Option<u16> {
        u16::try_from(self.other).ok().filter(|_| self.kind != EventKind::P2p && self.function.has_root())
    }

    /// Notes that the operation or a child began or ended at this time, in ticks.
    pub fn touch(&mut self, time: u64) {
        self.active = self.active.max(time);
    }

    /// Returns the first start and the last stop of its stamped kernel channels, nanoseconds of the GPU's clock.
    pub fn span(&self) -> Option<(u64, u64)> {
        (self.stamped > 0).then_some(self.span)
    }

    /// Counts a kernel channel that has ended. Stamps whose stop lies before their start belong to another operation
    /// and are not used.
    pub fn kernel_ended(&mut self, stamps: Option<(u64, u64)>) {
        self.kernels += 1;
        if let Some((start, stop)) = stamps.filter(|(start, stop)| start <= stop) {
            self.stamped = self.stamped.saturating_add(1);
            self.span = (self.span.0.min(start), self.span.1.max(stop));
        }
    }

    /// Returns whether operations of this kind have kernel channels that the GPU stamps.
    fn has_kernels(&self) -> bool {
        !matches!(self.kind, EventKind::CeColl | EventKind::CollApi)
    }

    /// Returns whether its kernel's time by events is still to come. A call that NCCL reports no further waits for the
    /// launch, too.
    pub fn awaits_events(&self, kernel: Kernel) -> bool {
        kernel.is_awaited() || self.kind == EventKind::CollApi && !kernel.is_settled()
    }

    /// Returns whether kernel channels of it are expected.
    fn has_channels(&self, kernel: Kernel) -> bool {
        self.has_kernels() && !kernel.unstamped
    }

    /// Returns whether its time is probably final: a collective has as many kernel channels as channels, a P2p at most
    /// as many. More kernel channels of a P2p may follow for a while.
    pub fn looks_done(&self, kernel: Kernel) -> bool {
        let wanted = if self.kind == EventKind::Coll { u32::from(self.channels) } else { 1 };
        self.is_quiet() && !self.awaits_events(kernel) && (!self.has_channels(kernel) || self.kernels >= wanted.max(1))
    }

    /// Returns whether all of a collective's channels are stamped. A P2p runs on at most as many kernel channels as
    /// channels.
    fn has_all_channels(&self) -> bool {
        self.kind != EventKind::Coll || self.stamped >= u16::from(self.channels)
    }

    /// Returns whether as many kernel channels as channels have ended: no more come, of a P2p either.
    pub fn is_complete(&self, kernel: Kernel) -> bool {
        let channels = !self.has_channels(kernel) || self.kernels > 0 && self.kernels >= u32::from(self.channels);
        self.is_quiet() && !self.awaits_events(kernel) && channels
    }

    /// Returns whether it is a call that NCCL reports no further and that events have not timed: perhaps no operation
    /// at all.
    pub fn is_invisible(&self, timing: Timing) -> bool {
        self.kind == EventKind::CollApi && timing.source() != TimeSource::Events
    }

    /// Returns whether it is a collective, by kernel or by copy engine.
    pub fn is_collective(&self) -> bool {
        self.kind != EventKind::P2p
    }

    /// Returns whether it is enqueued and none of its children is under way.
    pub fn is_quiet(&self) -> bool {
        self.stop.is_some() && self.live == 0
    }

    /// Returns whether stamps of such an operation, if in step, are its kernel's time. The operation must be alone in
    /// its kernel, and a collective by RING or PAT, a send or a receive: thread 0 of each block takes the stamps, and
    /// elsewhere it does not work as long as the other threads (docs/presets.md). Stamps that arrive although the
    /// communicator asked for none at the launch are not used: which operations NCCL counted then is unknown.
    fn is_stamped_right(&self, kernel: Kernel) -> bool {
        let by_algorithm = match self.kind {
            EventKind::Coll => self.algorithm.is_believed(),
            kind => kind == EventKind::P2p,
        };
        by_algorithm && !kernel.shared && !kernel.unstamped
    }

    /// Returns why the GPU has not timed it; `None` if NCCL was not asked for its time. `unheard` is the reason where its
    /// kernel's launch was not reported.
    pub fn untimed(&self, kernel: Kernel, unheard: Untimed) -> Option<Untimed> {
        match kernel.when {
            _ if kernel.asked == ChannelsAsked::No || kernel.asked == ChannelsAsked::Perhaps && self.stamped == 0 => {
                None
            }
            KernelTiming::Untimed(cause) => Some(cause),
            KernelTiming::Unheard if self.stamped == 0 => Some(unheard),
            _ => Some(Untimed::NotBelieved),
        }
    }

    /// Returns its bytes for nccl-tests' bus bandwidth among `n` ranks, see [`bus_factor`].
    pub fn bus_bytes(&self, n: i32) -> Option<f64> {
        bus_bytes(self.function, self.bytes, n)
    }
}
