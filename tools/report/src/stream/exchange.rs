//! The sends and receives of one rank, as they become one exchange.

use super::call::{Call, CallKind, CallTags, Message};
use super::places::MatchingPlace;
use crate::job::{RankOperation, Time};
use common::name::NcclName;

/// The names of sends, receives and exchanges.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExchangeNames {
    pub(super) send: NcclName,
    pub(super) receive: NcclName,
    exchange: NcclName,
    pub(super) all_to_all: NcclName,
}

impl ExchangeNames {
    pub(super) fn new() -> Self {
        let [send, receive, exchange, all_to_all] =
            [c"Send", c"Recv", c"Exchange", c"AlltoAll"].map(|name| NcclName::of(Some(name)));
        Self { send, receive, exchange, all_to_all }
    }
}

/// An exchange of a rank to which more sends and receives may come.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) place: MatchingPlace,
    /// Number of its call among those of its GPU.
    pub(super) number: u64,
    /// Number of the last of its operations in the process' table.
    pub(super) last: u64,
    together: Together,
    call: Call,
    messages: Vec<Message>,
    /// The user's tags of the messages.
    tags: Vec<u64>,
    sent: u64,
    received: u64,
    /// First and last kernel.
    kernels: [u64; 2],
    /// First of its operations in the order in which NCCL started them. The host may have called them in another order.
    first: u64,
    /// Whether all messages have a begin and an end.
    is_timed: bool,
}

impl Exchange {
    /// Begins an exchange with its first send or receive, enqueued at this time of the common clock.
    pub(super) fn new(place: MatchingPlace, number: u64, operation: &RankOperation, enqueued: i64) -> Self {
        let mut call = super::call::call(place, operation, enqueued);
        call.kind = CallKind::Exchange;
        call.is_fused = false;
        call.duration = 0;
        Self {
            place,
            number,
            last: 0,
            together: Together::shared_by(operation),
            call,
            messages: Vec::new(),
            tags: Vec::new(),
            sent: 0,
            received: 0,
            kernels: [operation.kernel; 2],
            first: operation.order,
            is_timed: true,
        }
    }

    /// Returns whether an operation is a send or receive of this exchange.
    pub(super) fn has(&self, place: MatchingPlace, operation: &RankOperation) -> bool {
        let together = Together::shared_by(operation);
        operation.is_message() && self.place == place && self.together == together && together != Together::Alone
    }

    /// Returns whether nothing can be added any more once this operation has come.
    pub(super) fn is_ended_by(&self, place: MatchingPlace, operation: &RankOperation) -> bool {
        self.place == place && !self.together.goes_on(operation)
    }

    /// Notes that an operation of another call shares a kernel with this exchange, if so.
    pub(super) fn meet(&mut self, place: MatchingPlace, operation: &RankOperation) {
        let [first, last] = self.kernels;
        if self.place == place && !operation.alone && (first..=last).contains(&operation.kernel) {
            self.call.is_fused = true;
        }
    }

    /// Adds a send or receive, the operation of this number in the process' table.
    pub(super) fn add(&mut self, operation: &RankOperation, number: u64, names: &ExchangeNames) {
        let Some(peer) = operation.peer else { return };
        let is_send = operation.function == names.send;
        self.messages.push(Message { peer, is_send, bytes: operation.bytes, number: 0 });
        self.tags.push(operation.tag);
        let sum = if is_send { &mut self.sent } else { &mut self.received };
        *sum = sum.saturating_add(operation.bytes);
        self.last = number;
        let [first, last] = self.kernels;
        self.kernels = [first.min(operation.kernel), last.max(operation.kernel)];
        self.first = self.first.min(operation.order);
        let call = &mut self.call;
        call.count = call.count.filter(|&count| operation.count == Some(count));
        if call.datatype != operation.datatype {
            call.datatype = NcclName::none();
        }
        call.source = call.source.max(operation.source);
        call.duration = call.duration.max(operation.duration);
        call.unfinished |= operation.unfinished;
        if let (Some(one), Some(other)) = (call.time, operation.time)
            && other.start < one.start
        {
            call.launched = operation.launched;
        }
        self.is_timed &= operation.time.is_some();
        call.time = match (call.time, operation.time) {
            (Some(one), Some(other)) => Some(united(one, other)),
            (known, time) => known.or(time),
        };
    }

    /// Ends the exchange.
    pub(super) fn into_call(self, names: &ExchangeNames) -> Call {
        let Self { mut call, messages, tags, sent, received, kernels, first, is_timed, .. } = self;
        // other operations share the first kernel if one of them began it
        call.is_fused |= kernels[0] < first;
        call.function = match messages[..] {
            [Message { is_send: true, .. }] => names.send,
            [_] => names.receive,
            _ => names.exchange,
        };
        call.bytes = sent.max(received);
        call.time = call.time.filter(|_| is_timed);
        if let Some(time) = call.time {
            call.duration = time.stop.saturating_sub(time.start);
        }
        call.messages = messages.into_boxed_slice();
        call.tags = CallTags::of_messages(tags);
        call
    }
}

/// Returns the time from the first begin to the last end.
fn united(one: Time, other: Time) -> Time {
    let first = if other.start < one.start { other } else { one };
    let clock = [one.clock[0].max(other.clock[0]), one.clock[1].max(other.clock[1])];
    Time { start: first.start, stop: one.stop.max(other.stop), clock, ahead: first.ahead }
}

/// Number of rows of a process after which nothing is added to an exchange any more. Threads of a process that enqueue
/// at one time mix their rows; a rank's own rows follow one another.
pub(crate) const MAX_ROWS_BETWEEN: u64 = 32;

/// A fact that sends and receives of one exchange have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Together {
    /// Group of API calls, and CUDA stream.
    Group(u64, u64),
    /// The kernel, where no group is known.
    Kernel(u64),
    /// Nothing: it is alone.
    Alone,
}

impl Together {
    /// Returns the fact that a send or receive shares with others of its exchange.
    pub(crate) fn shared_by(operation: &RankOperation) -> Self {
        match operation.group {
            Some(group) => Self::Group(group, operation.stream),
            None if operation.alone => Self::Alone,
            None => Self::Kernel(operation.kernel),
        }
    }

    /// Returns whether an operation that the host enqueued later may still be followed by one that belongs here.
    pub(crate) fn goes_on(self, operation: &RankOperation) -> bool {
        match self {
            Self::Group(group, _) => operation.group == Some(group),
            Self::Kernel(kernel) => operation.kernel == kernel,
            Self::Alone => false,
        }
    }
}
