//! Rows of a summary about transfers: those of a pair and of a channel, their times by state, and those of operations.

use crate::sums::channel_fits::ChannelFits;
use crate::sums::rate::FittedLine;
use serde::{Deserialize, Serialize};

/// Transfers of a pair of ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transfers {
    /// Communicator.
    pub comm: String,
    /// The sender.
    pub rank: i32,
    /// The receiver.
    pub peer: i32,
    /// Number of transfers.
    pub transfers: u64,
    /// Bytes.
    pub bytes: u64,
    /// Number of different sizes.
    pub sizes: u64,
    /// Number of channels used, each of which is a connection between the two ranks.
    #[serde(default)]
    pub channels: u64,
    /// Time with at least one transfer under way, microseconds.
    pub active_us: f64,
    /// Bytes over `active_us`, MB/s.
    pub sustained_rate_mb_s: Option<f64>,
    /// Bytes over the time of one connection if each transfer took its size's median service time, MB/s.
    pub typical_rate_mb_s: Option<f64>,
    /// Standard error of `typical_rate_mb_s`, MB/s.
    #[serde(default)]
    pub typical_error_mb_s: Option<f64>,
    /// Mean number of a connection's transfers under way when a transfer started, itself included.
    pub mean_in_flight: Option<f64>,
    /// Largest number of a connection's transfers under way when a transfer started, itself included.
    pub max_in_flight: Option<u64>,
    /// Fit of service times over sizes, if there is one: of all channels together.
    pub fit: Option<FittedLine>,
    /// Comparison of its channels; `None` if they cannot be compared.
    #[serde(default)]
    pub channel_fits: Option<ChannelFits>,
}

/// Transfers of a pair of ranks over one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Channel {
    /// Communicator.
    pub comm: String,
    /// The sender.
    pub rank: i32,
    /// The receiver.
    pub peer: i32,
    /// Channel id.
    pub channel: u8,
    /// Number of transfers.
    pub transfers: u64,
    /// Bytes.
    pub bytes: u64,
    /// Mean size.
    pub mean_size_bytes: f64,
    /// Mean duration, microseconds.
    pub mean_time_us: f64,
}

/// Transfers between two ranks as one of them sees them, by state. A transfer is a step of a proxy operation; one is
/// not among them if NCCL did not report all states of it and of the one before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransferStates {
    /// Communicator.
    pub comm: String,
    /// The rank that saw them.
    pub rank: i32,
    /// The other rank.
    pub peer: i32,
    /// `send` or `receive`.
    pub direction: String,
    /// Number of transfers.
    pub transfers: u64,
    /// Bytes.
    pub bytes: u64,
    /// Sum of the times in the queue, microseconds: posted, behind a transfer that is not sent yet, or whose data have
    /// not come.
    pub queued_us: f64,
    /// Sum of the waits for this rank's GPU, microseconds: until it has filled the buffer of a send, or emptied that of
    /// a receive.
    pub gpu_us: f64,
    /// Sum of the waits of sends until the receiver had a buffer, microseconds. `None` for receives.
    pub peer_us: Option<f64>,
    /// Sum of the times on the network, microseconds: of a send until it was confirmed; of a receive from the head
    /// of the queue until its data had come, which includes the wait for the sender.
    pub network_us: f64,
    /// Sum of the flushes of received data into the GPU's memory, microseconds. `None` for sends.
    pub flush_us: Option<f64>,
}

/// Transfers over the network of a rank's operations of one function and range of sizes, as the sender sees them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationTransfers {
    /// Communicator.
    pub comm: String,
    /// Rank.
    pub rank: i32,
    /// `Coll` or `P2p`.
    pub kind: String,
    /// Function.
    pub func: String,
    /// Lower bound of the operations' bytes, a power of two. The upper bound is twice as many, excluded. Operations
    /// without bytes count with those of one.
    pub from_bytes: u64,
    /// Number of operations that sent transfers.
    pub operations: u64,
    /// Number of transfers.
    pub transfers: u64,
    /// Bytes of the transfers.
    pub bytes: u64,
    /// Sum of the transfers' times, microseconds.
    pub time_us: f64,
}
