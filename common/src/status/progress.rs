//! Progress of a rank through a communicator's work, for somebody who compares ranks while the job runs.
//!
//! The ranks of a communicator call the same collectives in the same order. So two marks of the same numbers enclose the
//! same work on all of them, and lengths between marks compare without a common clock. Counts and times grow from the
//! begin of the communicator; a reader takes differences.

use serde::{Deserialize, Serialize};

/// Most marks of a communicator: the newest ones.
pub const MOST_MARKS: usize = 64;
/// Most directions to peers of a communicator that a status names: those with the most bytes.
pub const MOST_LINKS: usize = 64;

/// State of a rank where a certain number of its communicator's collectives had ended on the GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgressMark {
    /// Number of collectives, a multiple of the communicator's stride. Ranks with different strides have in common the
    /// multiples of the larger one, since strides are powers of two.
    pub number: u64,
    /// End of the last of them on the GPU.
    pub time: u64,
    /// Time in which no operation of the rank was on its GPU, nanoseconds.
    pub own: u64,
    /// Operations of the rank on all of its communicators.
    pub operations: u64,
    /// Bytes of these operations.
    pub bytes: u64,
}

/// Network transfers of a rank to or from a peer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkSum {
    /// Peer, a rank of the communicator.
    pub peer: i32,
    /// Whether this rank sends.
    pub sends: bool,
    /// Transfers that have ended.
    pub transfers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their times in the network, nanoseconds: other states are left out.
    pub network: u64,
}
