//! Transfers between pairs of ranks: their rates, where their time goes, and how many an operation has.

use serde::{Deserialize, Serialize};

/// The pairs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pairs {
    /// All pairs, by communicator, sender, receiver.
    pub rows: Vec<RankPair>,
    /// Messages and transfers of pairs that found no room: more than a million pairs.
    #[serde(default)]
    pub left_out: u64,
    /// The parts of the network that explain the slow pairs, the one that explains most first. Each slow pair whose
    /// GPUs are known is in exactly one of them.
    #[serde(default)]
    pub slow: Vec<SlowPart>,
}

/// A pair of ranks. A fitted rate and one of bytes over active time are never in one column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankPair {
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
    /// Class of the pair: `same node`, `between nodes` (with the adapters, where nodes differ in them), or `other`
    /// where a node is unknown.
    pub class: String,
    /// Transfers over the network (proxy steps), and their bytes; 0 where NCCL used no network.
    pub transfers: u64,
    /// Bytes of the transfers.
    pub bytes: u64,
    /// Connections that the transfers went over, a channel each; 0 where that is not known.
    #[serde(default)]
    pub channels: u64,
    /// Bytes over the time with a transfer under way, GB/s.
    pub sustained: Option<f64>,
    /// Rate at each size's median service time, GB/s.
    pub typical: Option<f64>,
    /// Standard error of `typical`, GB/s; `None` where it is not known.
    #[serde(default)]
    pub typical_error: Option<f64>,
    /// Whether its channels have one line of time over size, as all pairs' comparisons together show; `None` where they
    /// were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels_alike: Option<bool>,
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
    /// Bytes of the messages that were alone in their exchange over their transfers, GB/s. A transfer is the shorter of
    /// the send's and the receive's time on its GPU: who comes last waits for no rank.
    #[serde(default)]
    pub lone: Option<f64>,
    /// Standard error of `lone`, GB/s; `None` for fewer than two such messages.
    #[serde(default)]
    pub lone_error: Option<f64>,
    /// The rate that the pair is judged by; `None` if it is not judged.
    #[serde(default)]
    pub measure: Option<Measure>,
    /// Median of that rate among its like, GB/s.
    #[serde(default)]
    pub median: Option<f64>,
    /// Robust z of that rate among its like; `None` if the pair is not judged.
    pub z: Option<f64>,
    /// Whether z is below -5 and the rate at least 15 % below the median, and the sender is not an outlier as late.
    pub slow: bool,
    /// Whether the rate is as low, and the sender is an outlier as late: nothing tells a slow path from a late rank.
    #[serde(default)]
    pub of_late_rank: bool,
}

/// A rate of pairs. Different ones are never compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// [`RankPair::typical`].
    Typical,
    /// [`RankPair::sustained`].
    Sustained,
    /// [`RankPair::lone`].
    Lone,
}

impl RankPair {
    /// Returns whether the pair was compared with others, and is not a late rank's that is as slow as a slow pair.
    pub const fn is_judged(&self) -> bool {
        self.z.is_some() && !self.of_late_rank
    }

    /// Returns the rate that the pair is judged by, GB/s.
    pub fn judged(&self) -> Option<f64> {
        self.by(self.measure?)
    }

    /// Returns the rate of a measure, GB/s.
    pub fn by(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Typical => self.typical,
            Measure::Sustained => self.sustained,
            Measure::Lone => self.lone,
        }
    }
}

/// The kind of a part of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// A GPU's way to one other GPU.
    Pair,
    /// The way between two nodes.
    Link,
    /// The way of one GPU to all others: its network adapter, or inside a node its NVLinks.
    Adapter,
    /// A node.
    Node,
}

/// A part of the network whose pairs are slow, each pair with others of its class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowPart {
    /// Its kind.
    pub kind: PartKind,
    /// Its name: `rank 5 to rank 6`, `node005 and node006`, `rank 5`, `node005`.
    pub name: String,
    /// Machines of it: of a pair the sender's and the receiver's, of a link both, else one.
    pub nodes: Vec<String>,
    /// Its GPUs, places in [`super::Report::gpus`]; of a link and a node those that have a slow pair.
    pub gpus: Vec<usize>,
    /// Whether its pairs are inside a node.
    pub inside: bool,
    /// The slow pairs that it explains, places in [`Pairs::rows`]: a pair of GPUs may be a row of several
    /// communicators.
    pub rows: Vec<usize>,
    /// The slow pairs of GPUs that it explains.
    pub pairs: u64,
    /// Pairs of GPUs that were judged and go over this part, those that others explain included.
    pub of: u64,
    /// Median rate of the rows that it explains and that have the most bytes together, GB/s.
    pub rate: f64,
    /// Median of their like, GB/s.
    pub median: f64,
    /// `median` over `rate`: the transfers of its pairs would be shorter by this factor if it were like others.
    pub factor: f64,
    /// The time that its worst pair would have had less transfers under way at the median of its like, microseconds of
    /// the whole job; `None` where the time is not known.
    pub excess_us: Option<f64>,
    /// What a step gains if it is like others, by playing the steps again, microseconds; `None` where that was not
    /// done.
    #[serde(default)]
    pub gain_us: Option<f64>,
}

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

impl NetworkTransfers {
    /// Returns the pairs, those whose transfers took most time first.
    pub fn longest(&self) -> Vec<&PairStates> {
        let mut pairs: Vec<&PairStates> = self.states.iter().collect();
        pairs.sort_by(|one, other| other.whole_us().total_cmp(&one.whole_us()));
        pairs
    }
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
