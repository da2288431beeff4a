//! Transfers between pairs of ranks.

use serde::{Deserialize, Serialize};

/// The pairs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pairs {
    /// All pairs, by communicator, sender, receiver.
    pub rows: Vec<Pair>,
    /// Messages and transfers of pairs that found no room: more than a million pairs.
    #[serde(default)]
    pub left_out: u64,
}

/// A pair of ranks. A fitted rate and one of bytes over active time are never in one column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Communicator, 16 hexadecimal digits.
    pub comm: String,
    /// Rank of the sender.
    pub rank: i32,
    /// Rank of the receiver.
    pub peer: i32,
    /// The sender's GPU, where it was found.
    pub from: Option<usize>,
    /// The receiver's GPU, where it was found.
    pub to: Option<usize>,
    /// Class of the pair: `same node`, the two nodes, or `other` where a node is unknown.
    pub class: String,
    /// Transfers over the network (proxy steps), and their bytes; 0 where NCCL used no network.
    pub transfers: u64,
    /// Bytes of the transfers.
    pub bytes: u64,
    /// Bytes over the time with a transfer under way, GB/s.
    pub sustained: Option<f64>,
    /// Rate at each size's median service time, GB/s.
    pub typical: Option<f64>,
    /// Fitted rate of one connection, GB/s.
    pub fitted: Option<f64>,
    /// Fitted latency, microseconds.
    pub latency_us: Option<f64>,
    /// Sends of the application from this rank to this peer that were matched with their receives.
    pub messages: u64,
    /// Bytes of these.
    pub message_bytes: u64,
    /// Sum over these of the time that the receiver waited for the sender, microseconds.
    pub late_sender_us: Option<f64>,
    /// Sum of the time that the sender waited for the receiver, microseconds.
    pub late_receiver_us: Option<f64>,
    /// Bytes of the messages that were alone in their exchange over their transfers, GB/s.
    #[serde(default)]
    pub lone: Option<f64>,
    /// Robust z of the pair's rate among the pairs of its class; `None` for fewer than 4 of a class.
    pub z: Option<f64>,
    /// Whether z is below -3.
    pub slow: bool,
}
