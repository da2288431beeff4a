//! An operation (Coll or P2p) as the collector puts it together from its events.

pub(crate) mod kernels;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod timing;
pub(crate) mod verdict;

use crate::event::kind::Kind;
use crate::event::name::Name;
use crate::launch::Untimed;
use crate::operation::kernels::{Kernel, Kernels, When};
pub use crate::operation::timing::{Source, Timing};
use crate::operation::verdict::Verdict;
use crate::record::payload::{OfCall, OfOperation};
use crate::record::slot::Recorded;
use std::num::NonZeroU64;

/// What an operation sent over the network; kept where exporters will ask for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sends {
    /// Transfers.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their times, ticks.
    pub ticks: u64,
}

/// When something happened, ticks: none happens at 0, which leaves that for what has not happened.
pub fn moment(ticks: u64) -> Option<NonZeroU64> {
    NonZeroU64::new(ticks.max(1))
}

/// An operation and what is known of its children.
///
/// There may be thousands: it takes 128 bytes with its handle, and what every child changes comes first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Operation {
    /// Latest time at which something of it began or ended, ticks.
    pub active: u64,
    /// Place in the order of starts of its communicator.
    pub order: u64,
    /// End of the enqueue, ticks.
    pub stop: Option<NonZeroU64>,
    /// See [`Operation::span`].
    span: (u64, u64),
    /// Children, and steps of children, that have begun and not ended.
    pub live: u32,
    /// Kernel channels that have ended.
    pub kernels: u32,
    /// Those of them that the GPU has stamped.
    pub stamped: u16,
    /// How far behind its kernel's first operation it started.
    pub distance: u16,
    /// Coll, P2p or CeColl; CollApi of a call that NCCL launches without telling of it.
    pub kind: Kind,
    /// Number of channels that NCCL announced.
    pub channels: u8,
    /// Something of it never ended.
    pub unfinished: bool,
    /// Something of it was heard since it was looked at last.
    pub heard: bool,
    /// Bytes: elements times their size.
    pub bytes: u64,
    /// Start of the enqueue, ticks.
    pub start: u64,
    /// When its kernel had not begun yet, ticks: when it was launched; where that is not known, when NCCL's API was
    /// called for it. NCCL may tell of the enqueue when the kernel runs already, but not of these.
    pub not_begun: Option<NonZeroU64>,
    /// NCCL's sequence number, of a collective.
    pub sequence: u64,
    /// Last stop of a proxy operation, ticks.
    pub proxy_stop: Option<NonZeroU64>,
    /// See `counted`.
    pub credited: u64,
    /// What it sent over the network.
    pub sends: Option<Box<Sends>>,
    /// The other rank, of a P2p.
    peer: i32,
    /// Function.
    pub function: Name,
    /// Algorithm, of a collective.
    pub algorithm: Name,
    /// Protocol, of a collective.
    pub protocol: Name,
    /// Already in the counters: whether at all, and with how many nanoseconds.
    pub counted: bool,
}

const _: () = assert!(size_of::<(u64, Operation)>() == 128);

impl Operation {
    /// From the slot of a Coll or P2p.
    pub fn new(event: &Recorded) -> Self {
        Self::of(event, &OfOperation::unpack(event.payload()))
    }

    /// A call that NCCL launches without telling of it, the `number`-th one of its function in its communicator: an
    /// operation of which only events tell.
    pub(crate) fn of_call(event: &Recorded, call: &OfCall, number: u64) -> Self {
        let OfCall { bytes, function, place, .. } = *call;
        Self::of(event, &OfOperation { bytes, function, number, place, ..OfOperation::default() })
    }

    fn of(event: &Recorded, payload: &OfOperation) -> Self {
        let OfOperation { bytes, number, function, algorithm, protocol, channels, since_launch, place } = *payload;
        let (peer, sequence) = if event.kind == Kind::P2p { (payload.peer(), 0) } else { (-1, number) };
        Self {
            kind: event.kind,
            function,
            peer,
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
            counted: false,
            credited: 0,
            sends: None,
            heard: false,
        }
    }

    /// Place in the order of starts of its kernel's first operation.
    pub fn first_of_kernel(&self) -> u64 {
        self.order.saturating_sub(self.distance.into())
    }

    /// Its kernel, as far as it is known.
    pub fn kernel(&self, kernels: &Kernels) -> Kernel {
        kernels.get(self.first_of_kernel())
    }

    /// The other rank, of a P2p.
    pub fn peer(&self) -> Option<i32> {
        (self.kind == Kind::P2p).then_some(self.peer)
    }

    /// Something of it began or ended at that time.
    pub fn touch(&mut self, time: u64) {
        self.active = self.active.max(time);
    }

    /// First start and last stop of the kernel channels, nanoseconds of the GPU's clock.
    pub fn span(&self) -> Option<(u64, u64)> {
        (self.stamped > 0).then_some(self.span)
    }

    /// One of its kernel channels has ended. A stop before the start is another work's and says nothing.
    pub fn kernel_ended(&mut self, stamps: Option<(u64, u64)>) {
        self.kernels += 1;
        if let Some((start, stop)) = stamps.filter(|(start, stop)| start <= stop) {
            self.stamped = self.stamped.saturating_add(1);
            self.span = (self.span.0.min(start), self.span.1.max(stop));
        }
    }

    /// Whether the GPU times operations of this kind.
    fn has_kernels(&self) -> bool {
        !matches!(self.kind, Kind::CeColl | Kind::CollApi)
    }

    /// Whether its kernel's time is still to come: of a call that NCCL launches without telling of it, its launch is,
    /// too.
    pub fn awaits_events(&self, kernel: Kernel) -> bool {
        kernel.is_awaited() || self.kind == Kind::CollApi && !kernel.is_settled()
    }

    /// Whether kernel channels of it are to come, as far as anybody knows.
    fn has_channels(&self, kernel: Kernel) -> bool {
        self.has_kernels() && !kernel.unstamped
    }

    /// All that will be known of its time is there, as far as can be told before a while has passed: a collective has
    /// as many kernel channels as channels, a P2p has at most as many.
    pub fn looks_done(&self, kernel: Kernel) -> bool {
        let wanted = if self.kind == Kind::Coll { u32::from(self.channels) } else { 1 };
        self.is_quiet() && !self.awaits_events(kernel) && (!self.has_channels(kernel) || self.kernels >= wanted.max(1))
    }

    /// A collective runs on as many kernel channels as channels, a P2p on at most as many.
    fn has_all_channels(&self) -> bool {
        self.kind != Kind::Coll || self.stamped >= u16::from(self.channels)
    }

    /// As many kernel channels as channels have ended: no more will come, even of a P2p.
    pub fn is_complete(&self, kernel: Kernel) -> bool {
        let channels = !self.has_channels(kernel) || self.kernels > 0 && self.kernels >= u32::from(self.channels);
        self.is_quiet() && !self.awaits_events(kernel) && channels
    }

    /// A call that NCCL reports no further, and of which events tell nothing either: no operation, as far as anybody
    /// knows.
    pub fn is_invisible(&self, timing: Timing) -> bool {
        self.kind == Kind::CollApi && timing.source() != Source::Events
    }

    /// A collective, by kernel or by copy engine.
    pub fn is_collective(&self) -> bool {
        self.kind != Kind::P2p
    }

    /// Enqueued, and nothing of it is under way.
    pub fn is_quiet(&self) -> bool {
        self.stop.is_some() && self.live == 0
    }

    /// Whether the stamps of such an operation, in step, are its kernel's time: it is alone there, and a collective by
    /// RING or PAT, or a send or receive. They are taken by thread 0 of each block, which elsewhere does not work as
    /// long as all others (docs/presets.md). Stamps that come though its communicator asked for none when it was
    /// launched are not used: nobody knows which works NCCL counted then.
    fn is_stamped_right(&self, kernel: Kernel) -> bool {
        let by_algorithm = match self.kind {
            Kind::Coll => self.algorithm.is_believed(),
            kind => kind == Kind::P2p,
        };
        by_algorithm && !kernel.shared && !kernel.unstamped
    }

    /// Whether it is certain what its time is taken from, though it may be undecided whether its stamps are its own.
    pub fn is_certain(&self, verdict: Verdict, kernel: Kernel) -> bool {
        verdict != Verdict::Undecided || matches!(kernel.when, When::Timed(_)) && !self.is_stamped_right(kernel)
    }

    /// Its time, believing the GPU's stamps only in step, where they are right, and of a collective only with all its
    /// channels: those that are missing may have run longer.
    pub fn timing(&self, verdict: Verdict, kernel: Kernel) -> Timing {
        let stamps = self
            .span()
            .filter(|_| verdict == Verdict::InStep && self.is_stamped_right(kernel) && self.has_all_channels());
        match (stamps, kernel.when, self.proxy_stop) {
            (Some((start, stop)), _, _) => Timing::Stamps { start, stop },
            (None, When::Timed(time), _) => Timing::Events(time),
            (None, _, Some(stop)) => Timing::Proxy(stop.get().saturating_sub(self.start)),
            _ => Timing::Enqueue(self.stop.map_or(self.start, NonZeroU64::get).saturating_sub(self.start)),
        }
    }

    /// Why the GPU has not timed it.
    pub fn untimed(&self, kernel: Kernel, unheard: Untimed) -> Untimed {
        match kernel.when {
            When::Untimed(cause) => cause,
            When::Unheard if self.stamped == 0 => unheard,
            _ => Untimed::NotBelieved,
        }
    }

    /// Bytes that nccl-tests' bus bandwidth divides by the time: S times the function's factor, for `n` ranks
    /// (nccl-tests, doc/PERFORMANCE.md). `None` for functions that have none here, and where `n` is not known.
    pub fn bus_bytes(&self, n: i32) -> Option<f64> {
        bus_bytes(self.function, self.bytes, n)
    }
}

/// See [`Operation::bus_bytes`].
pub fn bus_bytes(function: Name, bytes: u64, n: i32) -> Option<f64> {
    let n = f64::from(Some(n).filter(|&n| n > 0)?);
    let (bytes, others) = (bytes as f64, (n - 1.0) / n);
    Some(match function.function().map(|index| crate::event::name::FUNCTIONS[index])? {
        "AllReduce" => bytes * 2.0 * others,
        // count is that of one rank: S is n times as much
        "AllGather" | "ReduceScatter" => bytes * n * others,
        // the root of a broadcast, and who sends in a reduce, fills buffers and leaves: a copy, which is no transfer's
        // time
        _ => return None,
    })
}
