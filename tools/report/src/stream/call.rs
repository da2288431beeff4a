//! A call: a collective of one rank, or an exchange of one rank.

use super::places::MatchingPlace;
pub use crate::job::CallKind;
use crate::job::{RankOperation, Time, TimedBy};
use common::arrivals::{Arrival, KnownTime};
use common::name::NcclName;
use common::operation::Later;

/// A send or receive of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The other rank.
    pub peer: i32,
    /// Whether this rank sends.
    pub is_send: bool,
    /// Bytes.
    pub bytes: u64,
    /// Number of earlier messages of this rank in the same direction with the same peer in the communicator: the k-th
    /// send belongs to the peer's k-th receive.
    pub number: u64,
}

/// The user's tags of a call (NCCL 2.31 and later); 0 for none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallTags {
    /// One for all of its operations.
    One(u64),
    /// That of each message of an exchange, where they differ.
    Each(Box<[u64]>),
}

impl CallTags {
    /// Returns the tags of an exchange with those of its messages.
    pub(super) fn of_messages(tags: Vec<u64>) -> Self {
        match tags[..] {
            [] => Self::One(0),
            [first, ref others @ ..] if others.iter().all(|&tag| tag == first) => Self::One(first),
            _ => Self::Each(tags.into_boxed_slice()),
        }
    }
}

/// A call of one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Place of its communicator in the job.
    pub communicator: usize,
    /// Its rank in the communicator.
    pub rank: i32,
    /// Place of its GPU in the job.
    pub gpu: usize,
    /// Kind.
    pub kind: CallKind,
    /// Function of a collective; `Exchange` or `AlltoAll` of an exchange; `Send` or `Recv` of a lone one.
    pub function: NcclName,
    /// NCCL's number of a collective, and the number of its earlier replays.
    pub sequence: Option<(u64, u32)>,
    /// Bytes of a collective as NCCL reports them; of an exchange, the larger of the bytes that this rank sends and
    /// receives.
    pub bytes: u64,
    /// Number of elements and their type, where they are known.
    pub count: Option<u64>,
    /// Type of the elements.
    pub datatype: NcclName,
    /// Root, where it is known.
    pub root: Option<i32>,
    /// Messages of an exchange; empty for a collective.
    pub messages: Box<[Message]>,
    /// Its tags.
    pub tags: CallTags,
    /// Algorithm of a collective.
    pub algorithm: NcclName,
    /// Protocol of a collective.
    pub protocol: NcclName,
    /// Number of channels of a collective; 0 where it is unknown.
    pub channels: u8,
    /// Begin of the enqueue, nanoseconds of the common clock.
    pub enqueued: i64,
    /// The same on its process' own clock.
    pub enqueued_own: u64,
    /// When the host had launched its kernel, on its process' clock, where that is known; of an exchange, the kernel
    /// that began first.
    pub launched: Option<u64>,
    /// Source of its time.
    pub source: TimedBy,
    /// How long it took by its source, nanoseconds. Of an exchange, from the first begin to the last end of its
    /// messages, where all have a GPU time.
    pub duration: u64,
    /// When it ran on the GPU, on its process' clock.
    pub time: Option<Time>,
    /// Number of its CUDA stream in its process; of an exchange, that of its first message. 0 where it is unknown.
    pub stream: u64,
    /// Whether it shares its kernel with another call.
    pub is_fused: bool,
    /// Whether something of it never ended.
    pub unfinished: bool,
}

impl Call {
    /// Returns the number of its operations as NCCL counts them, and the sum of their bytes: each message is one.
    pub fn operations(&self) -> (u64, u64) {
        match self.messages.len() {
            0 => (1, self.bytes),
            count => (count as u64, self.messages.iter().fold(0, |sum: u64, it| sum.saturating_add(it.bytes))),
        }
    }

    /// Returns which was later, the launch of its kernel or its GPU, where that is known.
    pub fn later(&self) -> Option<Later> {
        self.time?.later(self.launched?)
    }

    /// Returns how long its kernel waited for its GPU when the host had launched it, nanoseconds, where that is known.
    pub fn queued(&self) -> Option<u64> {
        Some(self.time?.start.saturating_sub(self.launched?))
    }
}

/// Returns the begin and end on the GPU as the comparison of clocks takes them.
pub(super) fn arrival(time: Option<Time>, source: TimedBy) -> Option<Arrival> {
    let Time { start, stop, clock, ahead } = time.filter(|_| source.is_gpu())?;
    let (length, by_events) = (stop.saturating_sub(start), source == TimedBy::Events);
    Some(Arrival { known: KnownTime::Begin, length, time: start, clock, ahead, by_events, ..Arrival::default() })
}

/// Makes the call of a collective, enqueued at this time of the common clock.
pub(super) fn call(place: MatchingPlace, operation: &RankOperation, enqueued: i64) -> Call {
    Call {
        communicator: place.communicator,
        rank: place.rank,
        gpu: place.gpu,
        kind: CallKind::Collective,
        function: operation.function,
        sequence: operation.sequence.map(|sequence| (sequence, operation.replay)),
        bytes: operation.bytes,
        count: operation.count,
        datatype: operation.datatype,
        root: operation.root,
        messages: Box::default(),
        tags: CallTags::One(operation.tag),
        algorithm: operation.algorithm,
        protocol: operation.protocol,
        channels: u8::try_from(operation.channels).unwrap_or(u8::MAX),
        enqueued,
        enqueued_own: operation.enqueued,
        launched: operation.launched,
        source: operation.source,
        duration: operation.duration,
        time: operation.time,
        stream: operation.stream,
        is_fused: !operation.alone,
        unfinished: operation.unfinished,
    }
}
