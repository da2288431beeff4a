//! The summary: the measurements of a run or of a process. Schema `scorep-nccl-summary-1`; docs/summary.md describes
//! every field.

pub(crate) mod arrivals;
mod believable;
mod jobs;
mod launcher_ranks;
mod network_events;
mod nvlink;
mod of_job;
mod of_process;
mod process;
mod progress_threads;
mod ranks;
pub mod report;
mod runs;
mod transfer_rows;
mod transfer_states;

use serde::{Deserialize, Serialize};

pub use arrivals::Arrivals;
pub use jobs::SummaryJob;
pub use network_events::NetworkEvents;
pub use nvlink::{Adapter, NvLink, NvLinkGpu, Pcie};
pub use of_job::{Merging, RowKind};
pub use process::{GpuSource, SummaryProcess};
pub use progress_threads::ProgressThreads;
pub use ranks::Repeated;
pub use transfer_rows::{Channel, OperationTransfers, TransferStates, Transfers};

/// Name of the schema.
pub const SCHEMA: &str = "scorep-nccl-summary-1";

/// Figures of one or more processes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: String,
    /// Whether every process has written its summary at its end. `false` for a summary that was written while a process
    /// ran, and for a recording that ends before its process. Files of earlier versions lack the field and are
    /// complete.
    #[serde(default = "yes")]
    pub complete: bool,
    /// Jobs of the processes, if processes were gathered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<SummaryJob>,
    /// Processes.
    pub processes: Vec<SummaryProcess>,
    /// Communicators.
    pub communicators: Vec<SummaryCommunicator>,
    /// Operations by communicator, rank, kind, function and peer.
    pub operations: Vec<SummaryOperations>,
    /// Transfers over the network by communicator, rank and peer, as the sender sees them.
    pub transfers: Vec<Transfers>,
    /// Transfers over the network by channel.
    pub channels: Vec<Channel>,
    /// Times of transfers by state, of sends and of receives. Files of earlier versions lack them.
    #[serde(default)]
    pub states: Vec<TransferStates>,
    /// Transfers of operations by function and size. Files of earlier versions lack them.
    #[serde(default)]
    pub operation_transfers: Vec<OperationTransfers>,
    /// Comparison of the clocks of different nodes, if they were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<ClockComparison>,
    /// Lateness of ranks at collectives, if processes were gathered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lateness: Vec<Lateness>,
    /// Whether ranks' collectives waited for their launch by the host or for their GPU, in the summary of a single process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launches: Vec<Launches>,
    /// Bus bandwidth of collectives by the least time over the ranks, if processes were gathered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bandwidth: Vec<Bandwidth>,
    /// Notes on the job as a whole, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A communicator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryCommunicator {
    /// Id, 16 hexadecimal digits.
    pub comm: String,
    /// Number of ranks.
    pub nranks: i32,
    /// Number of nodes.
    pub nnodes: i32,
    /// Name, or empty.
    pub name: String,
    /// Its ranks in these processes.
    pub ranks: Vec<RankPlace>,
}

/// The process of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RankPlace {
    /// Rank.
    pub rank: i32,
    /// Number of the process.
    pub process: u32,
}

/// Operations of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryOperations {
    /// Communicator.
    pub comm: String,
    /// Rank.
    pub rank: i32,
    /// `Coll` or `P2p`.
    pub kind: String,
    /// Function.
    pub func: String,
    /// The other rank of a P2p.
    pub peer: Option<i32>,
    /// Number of operations.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Number of operations timed by the GPU. `time_us`, `kernel_time_us`, `kernel_once_us`, `min_us` and `max_us` are
    /// theirs.
    pub gpu_timed: u64,
    /// Number of operations among them that CUDA events timed.
    #[serde(default)]
    pub event_timed: u64,
    /// Sum of times, microseconds.
    pub time_us: f64,
    /// Sum of their kernels' times, microseconds. Each kernel counts once per function, with its first operation of
    /// that function.
    #[serde(default)]
    pub kernel_time_us: f64,
    /// Sum of their kernels' times, microseconds. Each kernel counts once over all rows, with its first operation.
    #[serde(default)]
    pub kernel_once_us: f64,
    /// Shortest time, microseconds.
    pub min_us: Option<f64>,
    /// Longest time, microseconds, if the timed operations may stand for all (`sums::enough`).
    pub max_us: Option<f64>,
    /// Number of operations timed from the enqueue to the last proxy operation's stop.
    pub proxy_timed: u64,
    /// Sum of their times, microseconds.
    pub proxy_time_us: f64,
    /// Number of operations of which only the enqueue was timed.
    pub enqueue_timed: u64,
    /// Sum of their times, microseconds.
    pub enqueue_time_us: f64,
}

/// Comparison of the clocks of different nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockComparison {
    /// Number of nodes whose clocks were compared. The processes of a node read the same clock.
    pub nodes: u32,
    /// Largest uncertainty of a comparison, microseconds.
    pub error_us: f64,
}

/// Lateness of a rank at the collectives of a communicator: its arrival after the first rank's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Communicator.
    pub comm: String,
    /// Rank.
    pub rank: i32,
    /// Number of operations matched over all ranks of the communicator.
    #[serde(default)]
    pub count: u64,
    /// Number of operations that the GPU has timed on all ranks.
    #[serde(default)]
    pub timed: u64,
    /// Number of timed operations for which each rank's begin is known. The following fields are theirs.
    pub operations: u64,
    /// Number of operations for which the last rank is known.
    pub resolved: u64,
    /// One operation in this many was looked at.
    pub one_in: u32,
    /// Mean over the operations of the largest possible error of the lateness, microseconds.
    pub error_us: f64,
    /// Mean over the operations of the error that 19 of 20 operations do not exceed, microseconds. A lateness at an
    /// operation counts only above its error.
    pub estimated_error_us: f64,
    /// Mean lateness over the operations, microseconds, if they may stand for all (`sums::enough`).
    pub mean_us: Option<f64>,
    /// 99th percentile of the lateness, on the same condition.
    pub p99_us: Option<f64>,
    /// Number of operations at which it was last.
    pub last: u64,
}

/// Whether the collectives of a rank waited for their launch by the host or for their GPU
/// ([`crate::operation::Later`]). Ranks of which nothing is known have no row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launches {
    /// Communicator.
    pub comm: String,
    /// Rank.
    pub rank: i32,
    /// One collective in this many was looked at.
    pub one_in: u32,
    /// Number of collectives that were looked at.
    pub operations: u64,
    /// Number of those that began at once when the host had launched them: the GPU was free.
    pub host_later: u64,
    /// Number of those that the host had launched while the GPU was still busy.
    pub gpu_later: u64,
    /// From the launch to the begin of the latter: sum, microseconds.
    pub queued_us: f64,
    /// Median of these times, microseconds; `None` if there are none.
    pub queued_median_us: Option<f64>,
}

/// Speed of the collectives of a communicator, of one function and a range of sizes. No rank ends such a function
/// before all ranks have begun, so the last rank waits for nobody: the least time of an operation over its ranks is
/// taken for the time of the transfer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Communicator.
    pub comm: String,
    /// Function.
    pub func: String,
    /// Lower bound of the operations' bytes. The upper bound is twice as many, excluded.
    pub from_bytes: u64,
    /// Number of operations matched over all ranks.
    #[serde(default)]
    pub count: u64,
    /// Number of operations that the GPU has timed on all ranks.
    #[serde(default)]
    pub timed: u64,
    /// Number of timed operations that are alone in their kernels. `bytes` and `least_us` are theirs.
    pub operations: u64,
    /// One operation in this many was looked at.
    #[serde(default = "all")]
    pub one_in: u32,
    /// Sum of the operations' bytes, of one rank.
    pub bytes: u64,
    /// Sum of the operations' least times, microseconds.
    pub least_us: f64,
    /// Bus bandwidth, 10^9 bytes per second: S x factor over the sum of the least times. `None` unless the timed
    /// operations may stand for all (`sums::enough`).
    pub busbw_gb_s: Option<f64>,
}

/// The default of `one_in`: all operations were looked at.
fn all() -> u32 {
    1
}

/// The default of `complete`.
fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_gathered_is_not_written() {
        let alone = Summary::merge(vec![]);
        let text = serde_json::to_string(&alone).unwrap();
        assert!(!text.contains("clocks") && !text.contains("lateness"), "{text}");
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), alone);
        // earlier versions wrote more
        let earlier = text.replacen('{', r#"{"predicted":[{"comm":null}],"#, 1);
        assert_eq!(serde_json::from_str::<Summary>(&earlier).unwrap(), alone);
    }

    #[test]
    fn what_was_gathered_is_kept_and_put_in_order() {
        let row = |comm: &str, rank| Lateness {
            comm: comm.into(),
            rank,
            count: 4,
            timed: 4,
            operations: 4,
            resolved: 0,
            one_in: 1,
            error_us: 1.5,
            estimated_error_us: 1.0,
            mean_us: None,
            p99_us: None,
            last: 0,
        };
        let clocks = Some(ClockComparison { nodes: 2, error_us: 1.5 });
        let part = |rows: &[Lateness], clocks| Summary { lateness: rows.to_vec(), clocks, ..Summary::merge(vec![]) };
        let merged = Summary::merge(vec![part(&[row("b", 0), row("a", 10)], None), part(&[row("a", 2)], clocks)]);
        assert_eq!((merged.clocks, &merged.lateness), (clocks, &vec![row("a", 2), row("a", 10), row("b", 0)]));
        let text = serde_json::to_string(&merged).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), merged);
    }
}
