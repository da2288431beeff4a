//! An operation of which all ranks are known.

use crate::event::name::Name;
use crate::figures::arrivals::{Arrival, Known};

/// When its ranks began, and for how long they took.
#[derive(Debug)]
pub struct Matched {
    /// Communicator.
    pub comm: u64,
    /// Function, NCCL's sequence number, and how many of the same number began before.
    pub operation: (Name, u64, u32),
    /// The ranks, in their order; empty where it is not known of all when they began.
    pub ranks: Vec<Late>,
    /// The one that is later than every other by more than is most likely off.
    pub last: Option<i32>,
    /// The lengths, where the GPU has timed it on all ranks.
    pub lengths: Option<Lengths>,
    /// Bytes of the operation of each rank, where they are the same.
    pub bytes: Option<u64>,
}

/// How long the ranks took for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// The least, nanoseconds.
    pub least: u64,
    /// How many ranks.
    pub ranks: usize,
    /// On a rank, other operations run in its kernel.
    pub is_fused: bool,
}

impl Lengths {
    pub(super) fn of(arrivals: &[Arrival]) -> Option<Self> {
        let are_timed = arrivals.iter().all(|arrival| arrival.known >= Known::Length);
        let least = arrivals.iter().map(|arrival| arrival.length).min().filter(|_| are_timed)?;
        Some(Self { least, ranks: arrivals.len(), is_fused: arrivals.iter().any(|arrival| arrival.is_fused) })
    }
}

/// How late a rank began an operation, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Late {
    /// Rank.
    pub rank: i32,
    /// After the first one, most likely.
    pub late: f64,
    /// By how much that can be off.
    pub error: f64,
    /// By how much it is off in 19 of 20 operations, at the most.
    pub likely: f64,
}
