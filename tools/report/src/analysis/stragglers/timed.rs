//! A call of a rank with its times, as it is kept to be played again.

use crate::analysis::steps::CallToken;

/// A call with begin and end.
#[derive(Debug, Clone)]
pub(super) struct TimedCall {
    /// Begin and end, nanoseconds of the clock of its process: own times need no other one.
    pub(super) begin: i64,
    pub(super) end: i64,
    /// Added to both, they are on the clock on which its operation's ranks were compared.
    pub(super) shift: i64,
    /// Begin of the enqueue before `begin`, nanoseconds, at most `u32::MAX`; 0 where it is not known: traces of
    /// Score-P's have the begin alone, and clocks are off by some microseconds.
    pub(super) lead: u32,
    /// Number of its operation, the same for all of its ranks.
    pub(super) occurrence: u32,
    /// Step, counted after the warm-up.
    pub(super) step: u32,
    /// Place in the step's program; [`BETWEEN`] for a call that belongs to none.
    pub(super) place: u32,
    pub(super) token: CallToken,
    /// Place of its communicator in the job.
    pub(super) communicator: u32,
    /// Its CUDA stream, as a small number of its GPU.
    pub(super) stream: u16,
    pub(super) joins: Joins,
    /// Whether its times were compared with those of the other ranks.
    pub(super) is_compared: bool,
    /// Error of that comparison that 19 of 20 do not exceed, nanoseconds.
    pub(super) likely: i64,
    /// Whether its begin and end are known; otherwise both are the end of the call before.
    pub(super) is_timed: bool,
    /// Whether it sends alone, or receives alone.
    pub(super) is_one_way: bool,
    pub(super) sends: bool,
    pub(super) bytes: u64,
    /// Its messages, each as a number that its other end has, too; sorted. Empty for an operation of all ranks.
    pub(super) messages: Box<[u64]>,
}

impl TimedCall {
    /// Returns begin and end on the clock on which its operation's ranks were compared.
    pub(super) fn common(&self) -> [i64; 2] {
        [self.begin + self.shift, self.end + self.shift]
    }
}

/// Place of a call that lies between steps, or interrupts one.
pub(super) const BETWEEN: u32 = u32::MAX;

/// Whom a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joins {
    /// All ranks, and all end together: an all-reduce, an all-gather, a reduce-scatter.
    Together,
    /// All ranks; each ends when its own messages are over.
    AllToAll,
    /// All ranks but those that leave early: a broadcast, a reduction to a root.
    Rooted,
    /// The ranks that it exchanges messages with.
    Pairs,
}

/// Calls of neighbouring steps, by GPU, in the order of the host.
pub(super) type NeighbouringCalls = Vec<Vec<TimedCall>>;
