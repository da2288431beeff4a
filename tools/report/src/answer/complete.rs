//! Whether all is there, and the operations that are not over.

use serde::{Deserialize, Serialize};

/// What was read, what is missing, and how well clocks are known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Complete {
    /// The inputs.
    pub inputs: Vec<Input>,
    /// Ranks that were found.
    pub ranks_here: u64,
    /// Ranks that there should be, where that is known: of the largest communicator, or by the launcher's variables.
    pub ranks: Option<u64>,
    /// Ranks of the job that are not here, as ranges: `3,12`; of the largest communicator where the launcher names
    /// none.
    #[serde(default)]
    pub missing: String,
    /// Ranks whose data end before the others', and ranks that others wait for; those with the most waiting ranks
    /// first.
    #[serde(default)]
    pub early: Vec<EarlyRank>,
    /// Communicators that lack ranks or have one twice.
    pub communicators: Vec<MissingRanks>,
    /// Operations in the tables, of all ranks.
    pub operations: u64,
    /// Operations without a GPU time, of all ranks.
    pub untimed: u64,
    /// Operations whose duration the GPU has timed, and whose begin is unknown: it is not known who was late in them.
    #[serde(default)]
    pub without_begin: u64,
    /// Operations that were matched over all of their ranks, and those that were not. Counted once for each
    /// communicator.
    pub matched: u64,
    /// Operations of which a rank is missing.
    pub unmatched: u64,
    /// Operations whose ranks' times could be compared.
    pub compared: u64,
    /// Events that were not recorded.
    pub dropped: u64,
    /// Operations of which something never ended.
    pub unfinished: u64,
    /// Calls of which NCCL reports no operation.
    pub invisible: u64,
    /// Machines whose clocks were compared.
    pub nodes: u64,
    /// Largest guaranteed error of a clock, microseconds; `None` where clocks are not connected.
    pub clock_error_us: Option<f64>,
    /// Median over compared operations of the error of a wait that 19 of 20 do not exceed, microseconds.
    pub wait_error_us: Option<f64>,
    /// Remarks for people, a sentence each.
    pub notes: Vec<String>,
}

/// An input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// The path as it was given.
    pub path: String,
    /// What it is: `recording`, `table`, `archive`, `summary`, `kernels`.
    pub kind: String,
    /// Number of processes in it.
    pub processes: u64,
    /// Why it was left out: file, place and cause.
    pub problem: Option<String>,
}

/// A rank that stands before the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EarlyRank {
    /// Its GPU.
    pub gpu: usize,
    /// Whether its data end before its process: it was killed, or the file is cut.
    pub is_cut: bool,
    /// The last step that it has begun, counted after the warm-up from 0; `None` in the warm-up, or without steps.
    pub step: Option<u64>,
    /// Communicator in which it is behind, 16 hexadecimal digits.
    pub comm: String,
    /// Other ranks of that communicator whose operations never ended.
    pub waiting: u64,
    /// The operation that the first of these waits in: function and number.
    pub waits_in: Option<(String, Option<u64>)>,
}

/// A communicator that lacks ranks, or has one twice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MissingRanks {
    /// Id, 16 hexadecimal digits.
    pub comm: String,
    /// Number of ranks.
    pub nranks: i32,
    /// Ranks that were found.
    pub here: u64,
    /// The missing ones, as ranges: `0-3,7`.
    pub missing: String,
    /// Ranks that two processes claim, as ranges.
    pub repeated: String,
}

/// Communicators in which ranks stand at different operations, or have operations that never ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Number of communicators in which all ranks stand at the same operation and all have ended.
    pub over: u64,
    /// The others.
    pub communicators: Vec<Behind>,
}

/// A communicator that is not over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Behind {
    /// Communicator, 16 hexadecimal digits.
    pub comm: String,
    /// Where its ranks stand; of more than 64, the ones that are behind and the first of the others.
    pub ranks: Vec<Whereabouts>,
    /// Ranks that have begun fewer operations than others, as ranges.
    pub behind: String,
    /// The first operation in which ranks differ, where one was found.
    pub differs: Option<Difference>,
}

/// Where a rank stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Whereabouts {
    /// The rank.
    pub rank: i32,
    /// Its GPU.
    pub gpu: usize,
    /// Operations that it has begun.
    pub begun: u64,
    /// Operations that have ended.
    pub ended: u64,
    /// The last operation that it has begun: function, number, bytes.
    pub last_begun: Option<(String, Option<u64>, u64)>,
    /// The last operation that has ended.
    pub last_ended: Option<(String, Option<u64>, u64)>,
}

/// The first operation whose function, count or type differs between ranks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Place in the ranks' order of starts.
    pub order: u64,
    /// A rank and its operation, in words: `AllReduce of 1024 ncclFloat`.
    pub one: (i32, String),
    /// Another rank and its operation.
    pub other: (i32, String),
}
