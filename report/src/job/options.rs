//! Facts that the user adds to a job.

use super::Links;

/// The user's facts and choices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// Rates of links.
    pub links: Links,
    /// Dimensions of parallelism by the user's file.
    pub dimensions: Vec<DimensionRule>,
    /// Rows of lists such as the worst operations and the slowest steps.
    pub top: usize,
    /// Step to show in detail; the slowest one without a choice.
    pub step: Option<u64>,
}

/// A line of the user's file of dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DimensionRule {
    /// Communicators whose name matches a pattern with `*`.
    Name {
        /// The pattern.
        pattern: String,
        /// The dimension.
        dimension: String,
    },
    /// The communicator of exactly these ranks of the job.
    Ranks {
        /// The ranks, sorted.
        ranks: Vec<u32>,
        /// The dimension.
        dimension: String,
    },
}
