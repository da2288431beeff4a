//! Steps and transfers over the job, for a comparison of two jobs.

use serde::{Deserialize, Serialize};

/// Times over the job. Lists by step have at most 512 steps, the same ones, evenly chosen at random.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Whether a time is that of a step; else it is that of one of equally long slices of the job.
    pub of_steps: bool,
    /// Rows in the order of dimension, ranks, nodes, function, size.
    pub rows: Vec<SeriesRow>,
    /// Lengths of steps behind the warm-up, mean over GPUs, microseconds; empty without steps.
    #[serde(default)]
    pub lengths_us: Vec<f32>,
    /// Time with a wait under way in each of these steps, mean over GPUs, microseconds; empty where waits are unknown.
    #[serde(default)]
    pub waits_us: Vec<f32>,
    /// Time without NCCL in a step by GPU: median over steps and its standard error, microseconds; empty without steps.
    #[serde(default)]
    pub outside_us: Vec<[f32; 2]>,
}

/// Transfers of one function and size in the communicators of one dimension.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesRow {
    /// Dimension, or `unknown`.
    pub dimension: String,
    /// Number of ranks of each communicator.
    pub nranks: i32,
    /// Number of nodes of each communicator; 0 where it is unknown.
    pub nnodes: i32,
    /// Function.
    pub function: String,
    /// Smallest bytes of the row.
    pub from_bytes: u64,
    /// Largest bytes of the row.
    pub to_bytes: u64,
    /// Operations that were compared: a collective once, sends and receives once for each rank.
    pub count: u64,
    /// Median transfer of a step or slice, microseconds; of at most 512 of them, evenly chosen at random.
    pub medians_us: Vec<f32>,
}
