//! Operations that are not over.

use serde::{Deserialize, Serialize};

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
