//! Facts that the user adds to a job.

use std::collections::BTreeMap;

/// The user's facts and choices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// Rate of a GPU's link to others, Gbit/s: by communicator id, and for all others.
    pub links: Links,
    /// Dimensions of parallelism by the user's file.
    pub dimensions: Vec<DimensionRule>,
    /// Rows of lists such as the worst operations and the slowest steps.
    pub top: usize,
    /// Step to show in detail; the slowest one without a choice.
    pub step: Option<u64>,
}

/// Rates of links, Gbit/s.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Links {
    /// By communicator id.
    pub by_comm: BTreeMap<u64, f64>,
    /// For communicators that are not in the list.
    pub others: Option<f64>,
}

impl Links {
    /// Returns the rate of a communicator's links in GB/s (10^9 bytes per second).
    pub fn of(&self, comm: u64) -> Option<f64> {
        self.by_comm.get(&comm).copied().or(self.others).map(|gbps| gbps / 8.0)
    }
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
