//! Who is late.

use serde::{Deserialize, Serialize};

/// Waits, and for whom.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Late {
    /// Number of steps, after the warm-up, that `ranks` and `worst` are of; 0 if they are of the whole recording.
    #[serde(default)]
    pub steps: u64,
    /// By GPU, in the order of [`super::Report::gpus`].
    pub ranks: Vec<RankLate>,
    /// Operations of the whole recording whose ranks' times were compared.
    pub compared: u64,
    /// Those of `compared` whose last rank is known.
    pub resolved: u64,
    /// The operations that made others wait longest, longest first.
    pub worst: Vec<WorstOperation>,
    /// Waits over time.
    pub map: WaitMap,
    /// Lateness by rank, of summaries alone. Summaries have no waits: `ranks`, `worst` and `map` are empty then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lateness: Vec<RankLateness>,
}

/// Lateness of a rank at the collectives of a communicator: its arrival after the first rank's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankLateness {
    /// Its GPU, where it was found.
    pub gpu: Option<usize>,
    /// Communicator, 16 hexadecimal digits.
    pub comm: String,
    /// Rank.
    pub rank: i32,
    /// Operations that were compared.
    pub operations: u64,
    /// Mean, microseconds; `None` if these operations may not stand for all.
    pub mean_us: Option<f64>,
    /// 99th percentile, on the same condition.
    pub p99_us: Option<f64>,
    /// Mean of the error that 19 of 20 operations do not exceed, microseconds.
    pub error_us: f64,
    /// How often it was last by more than the error.
    pub last: u64,
    /// One operation in this many was compared, the same ones of all ranks; 0 where it is not known.
    #[serde(default)]
    pub one_in: u32,
}

/// Waits of one GPU, and of others for it. Times are sums in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RankLate {
    /// Its calls that were compared; those that share a kernel count once.
    pub calls: u64,
    /// How long it waited for others.
    pub wait_us: f64,
    /// Sum of the errors of these waits that 19 of 20 do not exceed.
    #[serde(default)]
    pub wait_error_us: f64,
    /// How often it was last by more than the error.
    pub last: u64,
    /// What others waited for it then: its delay cost.
    pub cost_us: f64,
    /// The part of the cost that began with this GPU; `None` where calls before are not in the report.
    pub own_us: Option<f64>,
    /// The part that it passed on: its call before had waited for at least as long as it was late. `None` as above.
    pub propagated_us: Option<f64>,
    /// What its calls waited for before they began; `None` where no call's launch is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<RankLaunches>,
}

/// Whether the calls of a GPU waited for their launch by the host, or for the GPU, as far as that is known
/// ([`common::operation::Later`]). Times are sums in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RankLaunches {
    /// Calls that began at once when the host had launched them: the GPU was free.
    pub host_later: u64,
    /// Calls that the host had launched while the GPU was still busy.
    pub gpu_later: u64,
    /// From the launch to the begin of the latter.
    pub queued_us: f64,
    /// Median of these times; `None` if there are none.
    pub queued_median_us: Option<f64>,
    /// What others waited for calls whose launch was later: a part of the delay cost.
    pub host_cost_us: f64,
    /// What others waited for calls whose GPU was later: another part of it. The rest is not known.
    pub gpu_cost_us: f64,
}

/// An operation that others waited in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorstOperation {
    /// Communicator, 16 hexadecimal digits.
    pub comm: String,
    /// Function.
    pub function: String,
    /// NCCL's number and the replay, for a collective.
    pub sequence: Option<(u64, u32)>,
    /// Bytes.
    pub bytes: u64,
    /// Latest begin, microseconds since the job's first operation.
    pub time_us: f64,
    /// The GPU that came last.
    pub gpu: usize,
    /// How much later than the next one it began, microseconds.
    pub late_us: f64,
    /// The others' waits, microseconds.
    pub cost_us: f64,
    /// Whether it was late because it had waited itself; `None` where the call before may not be in the report.
    pub propagated: Option<bool>,
    /// Function and communicator of its call before, and how long that call had waited, microseconds. `None` of the
    /// first call, and as above.
    pub before: Option<(String, String, f64)>,
}

/// Waits by GPU and time. Bins are equally long; GPUs beyond 256 are put together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitMap {
    /// Begin of the first bin, microseconds since the job's first operation.
    #[serde(default)]
    pub begin_us: f64,
    /// Length of a bin, microseconds.
    pub bin_us: f64,
    /// Number of neighbouring GPUs in a row.
    pub gpus_in_row: u64,
    /// Share of each bin that a row's GPUs waited, 0 to 1, row by row.
    pub rows: Vec<Vec<f32>>,
}
