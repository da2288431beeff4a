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
    /// Share (0 to 1) of the steps of GPUs with known kernels in which a kernel ran; `None` without kernels. Below 1,
    /// the kernels may be those of a part of the recording alone.
    #[serde(default)]
    pub computed: Option<f64>,
    /// By dimension of parallelism.
    pub dimensions: Vec<DimensionShare>,
    /// The same time by computing, dimension of parallelism and neither.
    #[serde(default)]
    pub breakdown: Breakdown,
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

/// The time of each GPU by what it does: computing, communicating in a dimension of parallelism, neither. Each instant
/// is in one of these: communication is that without computation beside it. Where several dimensions have operations
/// under way, they share the time evenly; of what is left of an even share, a nanosecond goes to each of the first
/// ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Breakdown {
    /// Names of the dimensions: `DP`, `TP`, `PP`, `EP`, `CP`, the user's own words, `unknown`.
    pub dimensions: Vec<String>,
    /// By GPU, in the order of [`Budget::gpus`].
    pub gpus: Vec<GpuBreakdown>,
}

/// The communication of one GPU. With `computing_ns`, `overlapped_ns` and `idle_ns` of its [`GpuBudget`], its times add
/// up to `total_ns` exactly.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuBreakdown {
    /// Whether kernels of its computation are known. If not, communication is all of it, and `idle_ns` has the
    /// computation.
    pub has_kernels: bool,
    /// By place in [`Breakdown::dimensions`], nanoseconds.
    pub exposed_ns: Vec<u64>,
}

impl GpuBudget {
    /// Returns the time with a computation under way, nanoseconds.
    pub fn computed_ns(&self) -> u64 {
        self.computing_ns.saturating_add(self.overlapped_ns)
    }
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
    /// Bus bandwidth over the link's while its operations transfer, over steps; `None` where the link's rate is
    /// unknown.
    pub while_active: Option<Spread>,
    /// Bytes on the bus over the link's rate and the whole step, over steps; `None` where the link's rate is unknown.
    pub of_step: Option<Spread>,
    /// Time with an operation of this dimension and a computation both under way over that with an operation of it
    /// (0 to 1), of GPUs with known kernels; `None` without kernels.
    #[serde(default)]
    pub overlap: Option<f64>,
    /// The rates of its calls.
    #[serde(default)]
    pub calls: CallRates,
}

/// Rates of the calls of a dimension in steps after the warm-up: the bytes of a rank's call over the transfer of its
/// operation, from the latest begin to the latest end. Calls count whose operation was compared, whose kernel is theirs
/// alone and whose function has a bus bandwidth. Percentiles are within 1 %.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CallRates {
    /// Calls that count.
    pub count: u64,
    /// Algorithm bandwidth, GB/s.
    pub algbw: Option<Spread>,
    /// Bus bandwidth, GB/s.
    pub busbw: Option<Spread>,
    /// Bus bandwidth over the rate of the link (0 to 1); `None` where the rate is unknown for some of them.
    pub of_link: Option<Spread>,
}

/// Mean and 95th percentile of a figure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// 95th percentile.
    pub p95: f64,
}
