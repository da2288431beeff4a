//! The communicators, and the operations by the user's tags.

use serde::{Deserialize, Serialize};

/// The communicators.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Communicators {
    /// In the order in which they were made.
    pub rows: Vec<ReportedCommunicator>,
}

/// Where a dimension is from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The user's file.
    File,
    /// The communicator's name.
    Name,
    /// The communicators' structure: guessed.
    Guessed,
    /// Nothing says.
    #[default]
    Unknown,
}

/// The dimension of parallelism that a communicator serves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dimension {
    /// `DP`, `TP`, `PP`, `EP`, `CP`, the user's own word, or `unknown`.
    pub name: String,
    /// Where it is from.
    pub origin: Origin,
}

/// A communicator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportedCommunicator {
    /// Id, 16 hexadecimal digits.
    pub comm: String,
    /// Name, or empty.
    pub name: String,
    /// Number of ranks.
    pub nranks: i32,
    /// Ranks that were found.
    pub here: u64,
    /// Number of nodes; 0 where it is unknown.
    pub nnodes: i32,
    /// Its ranks in the job as ranges, in the order of its own ranks: `0-3`, `0,8,16`. Four and more with the same
    /// distance are `0-56:8`. Where the job's ranks are unknown, places in [`super::Report::gpus`].
    pub members: String,
    /// When the first rank made it, microseconds since the job's first call; `None` where it is unknown.
    pub made_us: Option<f64>,
    /// From the first to the last rank's init, microseconds.
    pub init_us: Option<f64>,
    /// The communicator that it was split from, where that is known.
    pub parent: Option<String>,
    /// What it is for.
    pub dimension: Dimension,
    /// Operations of all ranks.
    pub operations: u64,
    /// Bytes of all ranks.
    pub bytes: u64,
}

/// The operations by tag.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tags {
    /// Those with most bytes first, then with most operations, then by the number of the tag; [`Tags::OTHERS`] last.
    pub rows: Vec<TaggedOperations>,
}

impl Tags {
    /// Stands for the tag of operations without one.
    pub const NONE: &str = "none";
    /// Stands for the tags without a row of their own.
    pub const OTHERS: &str = "others";
    /// Most tags with a row of their own, those of the first operations: a program may have a tag for each step.
    pub const MAX_ROWS: usize = 4096;
}

/// The operations of all ranks with one tag. Sends and receives are operations, each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TaggedOperations {
    /// The tag in decimal digits, [`Tags::NONE`] or [`Tags::OTHERS`].
    pub tag: String,
    /// Their functions, as [`super::SpeedRow::function`].
    pub functions: Vec<String>,
    /// Their number.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those in `time_us`.
    pub timed: u64,
    /// Sum of the durations of the calls that [`super::SpeedRow::mean_us`] is the mean of, microseconds: the GPU has
    /// timed them, and they do not share a kernel. It has the waits for other ranks. `None` without such calls.
    pub time_us: Option<f64>,
}
