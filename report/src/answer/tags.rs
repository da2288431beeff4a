//! The operations by the user's tags.

use serde::{Deserialize, Serialize};

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
    pub const MOST: usize = 4096;
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
