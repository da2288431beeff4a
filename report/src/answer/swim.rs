//! Steps in detail.

use serde::{Deserialize, Serialize};

/// The calls of one step, of at most 64 GPUs and 20,000 calls, and its critical path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Swim {
    /// Number of the step, where there are steps.
    pub step: Option<u64>,
    /// Length, microseconds.
    pub length_us: f64,
    /// Lanes by GPU and communicator.
    pub lanes: Vec<SwimLane>,
    /// Calls that found no room.
    pub left_out: u64,
    /// The critical path of all GPUs, by time; empty where it is unknown. Its stretches do not overlap.
    #[serde(default)]
    pub path: Vec<Stretch>,
    /// A step of median length, of the same GPUs; `None` if this one is, or if there are no steps.
    #[serde(default)]
    pub usual: Option<Box<Swim>>,
}

/// A lane: the calls of a GPU in a communicator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwimLane {
    /// GPU.
    pub gpu: usize,
    /// Communicator, 16 hexadecimal digits.
    pub comm: String,
    /// Dimension of the communicator.
    pub dimension: String,
    /// The calls by begin.
    pub bars: Vec<SwimBar>,
}

/// A call. Times are microseconds since the step's begin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwimBar {
    /// Function.
    pub function: String,
    /// NCCL's number, for a collective.
    pub sequence: Option<u64>,
    /// Bytes.
    pub bytes: u64,
    /// When the host enqueued it.
    pub enqueued_us: f64,
    /// The same on its process' own clock, nanoseconds: its recording and its table have this time.
    pub enqueued_ns: u64,
    /// Begin on the GPU.
    pub start_us: f64,
    /// End of the wait for other ranks.
    pub wait_until_us: Option<f64>,
    /// End.
    pub stop_us: f64,
    /// Number of its occurrence: the same for all ranks.
    pub occurrence: u64,
}

/// A stretch of the critical path. Times are microseconds since the step's begin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// The GPU that the step waits for: the one that began the operation last, or that is between its operations.
    pub gpu: usize,
    /// Function of the operation; `None` between two operations of the GPU: its own time.
    pub function: Option<String>,
    /// Begin.
    pub from_us: f64,
    /// End.
    pub until_us: f64,
}
