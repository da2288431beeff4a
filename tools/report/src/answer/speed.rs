//! How fast operations are.

use serde::{Deserialize, Serialize};

/// The speed of operations by function, communicator, size, algorithm and protocol.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// Rows in the order of function, communicator, size.
    pub rows: Vec<SpeedRow>,
    /// Where the link's rate is from; `None` without one.
    pub link: Option<String>,
    /// Whether the rows are sums of summaries. Then `count` and `compared` (those with a GPU time) are of all ranks,
    /// the bytes are a mean, and `min_us` and `max_us` are of the durations, with waiting. Rows with a range of bytes
    /// are of a job summary's `bandwidth`: their `busbw` is by the least time over the ranks.
    #[serde(default)]
    pub of_sums: bool,
    /// The earlier report that `expected` of the rows is from; `None` where it is from other communicators.
    #[serde(default)]
    pub baseline: Option<String>,
    /// Communicators that are slow among those of their shape, slowest first.
    #[serde(default)]
    pub slow: Vec<SlowCommunicator>,
}

/// A communicator whose collectives are slow among those of its shape: of the same numbers of ranks and nodes, with the
/// same function, size, algorithm and protocol.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowCommunicator {
    /// Its id, 16 hexadecimal digits.
    pub comm: String,
    /// GPUs of its ranks, places in [`super::Report::gpus`].
    pub gpus: Vec<usize>,
    /// Function.
    pub function: String,
    /// Smallest bytes of the operations.
    pub from_bytes: u64,
    /// Largest bytes of the operations.
    pub to_bytes: u64,
    /// Median transfer, microseconds.
    pub median_us: f64,
    /// Median of the median transfers of its shape, microseconds.
    pub others_us: f64,
    /// Communicators of its shape, this one included.
    pub shape: u64,
    /// Robust z of the median transfer among these.
    pub z: f64,
    /// Operations that were compared.
    pub compared: u64,
}

/// A row. Times are of the transfer (from the latest begin to the latest end of all ranks), microseconds. Median and
/// 95th percentile are within 1 %; the other figures are exact.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpeedRow {
    /// Function; `Exchange` and `AlltoAll` for sends and receives in groups, `SendRecv` for a lone send and its
    /// receive.
    pub function: String,
    /// Communicator, 16 hexadecimal digits.
    pub comm: String,
    /// Number of its ranks.
    pub nranks: i32,
    /// Number of its nodes; 0 where it is not known.
    #[serde(default)]
    pub nnodes: i32,
    /// Dimension of the communicator, or `unknown`.
    pub dimension: String,
    /// Smallest and largest bytes of the row: one size, or from a power of two to below the next. Of a collective, as
    /// NCCL reports them; of sends and receives, what the busiest rank sends to or receives from others, the larger of
    /// both.
    pub from_bytes: u64,
    /// Largest bytes.
    pub to_bytes: u64,
    /// Algorithm; empty where it is unknown.
    pub algorithm: String,
    /// Protocol; empty where it is unknown.
    pub protocol: String,
    /// Operations.
    pub count: u64,
    /// Those whose ranks' times were compared and that shared no kernel with others; the times are theirs.
    pub compared: u64,
    /// Least time of the transfer.
    pub min_us: Option<f64>,
    /// Median.
    pub median_us: Option<f64>,
    /// 95th percentile.
    pub p95_us: Option<f64>,
    /// Longest.
    pub max_us: Option<f64>,
    /// Mean duration over ranks and operations, with waiting.
    pub mean_us: Option<f64>,
    /// nccl-tests' algorithm bandwidth of the mean transfer, GB/s.
    pub algbw: Option<f64>,
    /// nccl-tests' bus bandwidth of the transfer, GB/s.
    pub busbw: Option<f64>,
    /// nccl-tests' bus bandwidth of the mean duration, GB/s.
    pub busbw_mean: Option<f64>,
    /// Largest bytes of a rank over the mean of the ranks, where they differ.
    pub imbalance: Option<f64>,
    /// Bytes of the busiest rank over the mean transfer, GB/s, where the ranks' bytes differ.
    pub busiest: Option<f64>,
    /// `busbw` over the link's rate, 0 to 1.
    pub utilisation: Option<f64>,
    /// Bus bandwidth that may be expected, GB/s: of the baseline, or that of the best other communicator of this shape.
    #[serde(default)]
    pub expected: Option<f64>,
    /// The settings that force a way which NCCL itself would not take, each with the proof. Absent where none is
    /// proved.
    #[serde(default)]
    pub forced: Option<String>,
}
