//! Where the time of a step goes.

use super::communicators::Origin;
use serde::{Deserialize, Serialize};

/// The budget. Of each GPU, the fields of time are disjoint and add up to its `total_ns` exactly.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Whether there were steps; without them the budget is that of the whole recording.
    pub of_steps: bool,
    /// Number of steps that the times are sums of; 1 without steps.
    pub steps: u64,
    /// Whether kernels of the computation are known.
    pub with_kernels: bool,
    /// Sum over GPUs.
    pub whole: GpuBudget,
    /// By GPU, in the order of [`super::Report::gpus`].
    pub gpus: Vec<GpuBudget>,
    /// Time with NCCL and computation both under way over time with NCCL under way; `None` without kernels.
    pub overlap: Option<f64>,
    /// Share (0 to 1) of the steps of GPUs with known kernels in which a kernel ran; `None` without kernels. Below 1, the
    /// kernels may be those of a part of the recording alone.
    #[serde(default)]
    pub computed: Option<f64>,
    /// By dimension of parallelism.
    pub dimensions: Vec<DimensionShare>,
    /// Share of the operations (0 to 1) whose begin and end on the GPU are known; the rest count as time without NCCL.
    pub timed: f64,
    /// Mean time of a GPU in a step for operations whose duration it has timed and whose begin is not known,
    /// microseconds. It has no place in the times above. It is a lower bound: operations that share a kernel are not in
    /// it.
    #[serde(default)]
    pub unplaced_us: f64,
}

/// The times of one GPU, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuBudget {
    /// Length of the steps.
    pub total_ns: u64,
    /// Waiting in NCCL for other ranks, without computation beside it.
    pub waiting_ns: u64,
    /// Transferring in NCCL, without computation beside it.
    pub transferring_ns: u64,
    /// In NCCL beside a computation.
    pub overlapped_ns: u64,
    /// Computing with no NCCL under way.
    pub computing_ns: u64,
    /// Neither: without kernels, all time without NCCL under way.
    pub idle_ns: u64,
    /// Of the time in NCCL (the three above), time in operations whose waits are unknown; it counts as transferring.
    pub not_compared_ns: u64,
}

/// A dimension's share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DimensionShare {
    /// Name: `DP`, `TP`, `PP`, `EP`, `CP`, or `unknown`.
    pub dimension: String,
    /// Where the dimension is from.
    pub origin: Origin,
    /// Mean over GPUs and steps of the time with an operation of this dimension under way, microseconds.
    pub time_us: f64,
    /// The same of the waits in it.
    pub wait_us: Option<f64>,
    /// Mean bytes of a GPU in a step.
    pub bytes: f64,
    /// Mean number of operations of a GPU in a step.
    pub operations: f64,
    /// Bus bandwidth over the link's while its operations transfer; `None` without `--link-gbps`.
    pub while_active: Option<Utilisation>,
    /// Bytes on the bus over the link's rate and the whole step; `None` without `--link-gbps`.
    pub of_step: Option<Utilisation>,
}

/// A share of the link's rate, 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    /// Mean over steps.
    pub mean: f64,
    /// 95th percentile over steps.
    pub p95: f64,
}
