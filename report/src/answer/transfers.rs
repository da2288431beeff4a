//! Transfers over the network: where their time goes, and how many an operation has.

use serde::{Deserialize, Serialize};

/// The transfers. Times are sums, microseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkTransfers {
    /// Times by state, by communicator, sender, receiver.
    pub states: Vec<PairStates>,
    /// Transfers of operations, by function, communicator, size.
    pub operations: Vec<OperationSends>,
    /// Transfers of pairs that found no room: more than a million pairs.
    #[serde(default)]
    pub left_out: u64,
}

/// The transfers from one rank to another, as both see them. Of a rank that is not in the inputs, its side is not
/// known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PairStates {
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
    /// Transfers that the sender saw.
    pub sent: u64,
    /// The sender's times in the queue behind earlier transfers, waits for its GPU, for the receiver's buffer, and
    /// times on the network.
    pub send_us: Option<[f64; 4]>,
    /// Transfers that the receiver saw.
    pub received: u64,
    /// The receiver's times in the queue behind earlier transfers, on the network, which hold its waits for the sender,
    /// its flushes, and waits for its GPU.
    pub receive_us: Option<[f64; 4]>,
}

impl PairStates {
    /// Returns the sum of the times of both sides beyond the queue. In the queue a time counts once for each transfer
    /// that is there.
    pub fn whole_us(&self) -> f64 {
        self.send_us.iter().chain(&self.receive_us).flat_map(|[_, times @ ..]| times).sum()
    }
}

/// The transfers that the operations of one function, communicator and range of sizes sent over the network.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationSends {
    /// Function.
    pub function: String,
    /// Communicator, 16 hexadecimal digits.
    pub comm: String,
    /// Least bytes of an operation.
    pub from_bytes: u64,
    /// Most bytes of an operation.
    pub to_bytes: u64,
    /// Calls of ranks that sent any.
    pub operations: u64,
    /// Transfers.
    pub transfers: u64,
    /// Bytes of the transfers.
    pub bytes: u64,
    /// Sum of their times.
    pub time_us: f64,
}
