//! Facts that the user adds to a job: choices, and intervals that are no operations of NCCL.

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

/// Kernels of the computation by process: intervals on the process' clock in nanoseconds, sorted, not touching.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernels {
    /// By place of the process; empty where a process has none.
    pub by_process: Vec<Vec<[u64; 2]>>,
}

/// The user's steps by process: begin and end of each step's region on the process' clock in nanoseconds, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepRegions {
    /// Name of the region, or of the file with the times.
    pub name: String,
    /// Whether the times are from the user's file.
    pub is_file: bool,
    /// By place of the process.
    pub by_process: Vec<Vec<[u64; 2]>>,
}
