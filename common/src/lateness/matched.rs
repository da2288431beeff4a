//! An operation that all ranks of its communicator reported.

use crate::event::name::NcclName;
use crate::figures::arrivals::{Arrival, KnownTime};

/// The ranks' begins and durations of an operation.
#[derive(Debug)]
pub struct MatchedOperation {
    /// Communicator id.
    pub comm: u64,
    /// Function, NCCL's sequence number, and the number of earlier operations with the same number.
    pub operation: (NcclName, u64, u32),
    /// Lateness of each rank, in the order of ranks; empty unless all ranks' begins are known.
    pub ranks: Vec<LateRank>,
    /// The rank that is later than every other rank by more than the likely error.
    pub last: Option<i32>,
    /// The durations, if the GPU has timed the operation on all ranks.
    pub lengths: Option<Lengths>,
    /// Bytes of the operation, if all ranks report the same.
    pub bytes: Option<u64>,
}

/// The ranks' durations of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// The least duration, nanoseconds.
    pub least: u64,
    /// Number of ranks.
    pub ranks: usize,
    /// Whether other operations share its kernel on some rank.
    pub is_fused: bool,
}

impl Lengths {
    pub(super) fn of(arrivals: &[Arrival]) -> Option<Self> {
        let are_timed = arrivals.iter().all(|arrival| arrival.known >= KnownTime::Length);
        let least = arrivals.iter().map(|arrival| arrival.length).min().filter(|_| are_timed)?;
        Some(Self { least, ranks: arrivals.len(), is_fused: arrivals.iter().any(|arrival| arrival.is_fused) })
    }
}

/// The lateness of a rank at an operation, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LateRank {
    /// Rank.
    pub rank: i32,
    /// Most likely time after the first rank's begin.
    pub late: f64,
    /// Largest error of `late`.
    pub error: f64,
    /// Error of `late` that 19 of 20 operations do not exceed.
    pub likely: f64,
}
