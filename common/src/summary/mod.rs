//! The summary: what a run, or one process of it, measured. Schema `scorep-nccl-summary-1`; docs/summary.md tells every
//! field.

mod jobs;
mod launched;
mod of_job;
mod of_process;
mod process;
mod ranks;
pub mod report;
mod runs;

use crate::sums::rate::FittedLine;
use serde::{Deserialize, Serialize};

pub use jobs::Job;
pub use of_job::Rows;
pub use process::{GpuSource, Process};
pub use ranks::Repeated;

/// Name of the schema.
pub const SCHEMA: &str = "scorep-nccl-summary-1";

/// Figures of one or more processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: String,
    /// Whether all processes have written theirs at their end: `false` for what was written while a process ran, and of
    /// a recording that ends before its process. Files of earlier versions have no such field, and are complete.
    #[serde(default = "yes")]
    pub complete: bool,
    /// Jobs that the processes are of, where processes were gathered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// Processes.
    pub processes: Vec<Process>,
    /// Communicators.
    pub communicators: Vec<Communicator>,
    /// Operations by communicator, rank, kind, function and peer.
    pub operations: Vec<Operations>,
    /// Transfers over the network by communicator, rank and peer, seen from the sender.
    pub transfers: Vec<Transfers>,
    /// The same by channel.
    pub channels: Vec<Channel>,
    /// How well the clocks of different nodes are known to each other, where they were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
    /// How late ranks arrive at collectives, where processes were gathered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lateness: Vec<Lateness>,
    /// Bus bandwidth of collectives by the least time of their ranks, where processes were gathered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bandwidth: Vec<Bandwidth>,
    /// What a reader must know of the job as a whole, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A communicator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Communicator {
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

/// Where a rank lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RankPlace {
    /// Rank.
    pub rank: i32,
    /// Number of the process.
    pub process: u32,
}

/// Operations of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operations {
    /// Communicator.
    pub comm: String,
    /// Rank.
    pub rank: i32,
    /// `Coll` or `P2p`.
    pub kind: String,
    /// Function.
    pub func: String,
    /// The other rank, of a P2p.
    pub peer: Option<i32>,
    /// Operations.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Operations timed by the GPU; the next three are theirs.
    pub gpu_timed: u64,
    /// Those of them that CUDA's events timed.
    #[serde(default)]
    pub event_timed: u64,
    /// Sum of times, microseconds.
    pub time_us: f64,
    /// Sum of the times of their kernels, microseconds; a kernel counts once for each function that it runs, with the
    /// first of its operations of that function.
    #[serde(default)]
    pub kernel_time_us: f64,
    /// The same with each kernel once in all rows, with the first of all of its operations, microseconds.
    #[serde(default)]
    pub kernel_once_us: f64,
    /// Shortest.
    pub min_us: Option<f64>,
    /// Longest, where those that the GPU has timed speak for all (`sums::enough`).
    pub max_us: Option<f64>,
    /// Operations timed from the enqueue to the last proxy operation's stop.
    pub proxy_timed: u64,
    /// Sum of their times, microseconds.
    pub proxy_time_us: f64,
    /// Operations of which only the enqueue was timed.
    pub enqueue_timed: u64,
    /// Sum of their times, microseconds.
    pub enqueue_time_us: f64,
}

/// Transfers of a pair of ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transfers {
    /// Communicator.
    pub comm: String,
    /// The sender.
    pub rank: i32,
    /// The receiver.
    pub peer: i32,
    /// Transfers.
    pub transfers: u64,
    /// Bytes.
    pub bytes: u64,
    /// Different sizes.
    pub sizes: u64,
    /// Channels that they used: connections between the two.
    #[serde(default)]
    pub channels: u64,
    /// Time with at least one transfer under way, microseconds.
    pub active_us: f64,
    /// Bytes over that time, MB/s.
    pub sustained_rate_mb_s: Option<f64>,
    /// Bytes over time of one connection, were every transfer served in its size's median time.
    pub typical_rate_mb_s: Option<f64>,
    /// Transfers of a connection under way when one started, that one among them: on average.
    pub mean_in_flight: Option<f64>,
    /// At most.
    pub max_in_flight: Option<u64>,
    /// Fit of service times over sizes, where there is one.
    pub fit: Option<FittedLine>,
}

/// Transfers of a pair of ranks over one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Channel {
    /// Communicator.
    pub comm: String,
    /// The sender.
    pub rank: i32,
    /// The receiver.
    pub peer: i32,
    /// Channel id.
    pub channel: u8,
    /// Transfers.
    pub transfers: u64,
    /// Bytes.
    pub bytes: u64,
    /// Mean size.
    pub mean_size_bytes: f64,
    /// Mean time, microseconds.
    pub mean_time_us: f64,
}

/// Clocks of different nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// Nodes whose clocks were compared; the processes of one node read one clock.
    pub nodes: u32,
    /// Largest uncertainty of a comparison, microseconds.
    pub error_us: f64,
}

/// How late a rank arrives at the collectives of a communicator: after the first of its ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Communicator.
    pub comm: String,
    /// Rank.
    pub rank: i32,
    /// Operations matched over all ranks of the communicator.
    #[serde(default)]
    pub count: u64,
    /// Those that the GPU has timed on all ranks.
    #[serde(default)]
    pub timed: u64,
    /// Those of them of which it is known when each rank began; what follows is theirs.
    pub operations: u64,
    /// Those of them in which it is known which rank was last.
    pub resolved: u64,
    /// One in so many was looked at.
    pub one_in: u32,
    /// By how much its lateness in an operation can be off, mean over all these operations, microseconds.
    pub error_us: f64,
    /// By how much it is off in 19 of 20 operations, likewise. In an operation, a lateness that is not above it counts
    /// as none.
    pub estimated_error_us: f64,
    /// Mean over all these operations, microseconds; where they speak for all (`sums::enough`).
    pub mean_us: Option<f64>,
    /// 99th percentile, likewise.
    pub p99_us: Option<f64>,
    /// Operations in which it was last.
    pub last: u64,
}

/// How fast the collectives of a communicator are, of one function and a range of sizes. Of a function that nobody ends
/// before all have begun, the rank that comes last waits for nobody: the least time of an operation over its ranks is
/// taken for that of the transfer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Communicator.
    pub comm: String,
    /// Function.
    pub func: String,
    /// Bytes of an operation from here on, to below twice as many.
    pub from_bytes: u64,
    /// Operations matched over all ranks.
    #[serde(default)]
    pub count: u64,
    /// Those that the GPU has timed on all ranks.
    #[serde(default)]
    pub timed: u64,
    /// Those of them that are alone in their kernels; what follows is theirs.
    pub operations: u64,
    /// One in so many was looked at.
    #[serde(default = "all")]
    pub one_in: u32,
    /// Their bytes, of one rank.
    pub bytes: u64,
    /// Sum of their least times, microseconds.
    pub least_us: f64,
    /// Bus bandwidth, 10^9 bytes a second: S x factor over the sum of the least times. Where those that are timed speak
    /// for all (`sums::enough`).
    pub busbw_gb_s: Option<f64>,
}

/// One in so many operations, where all were looked at.
fn all() -> u32 {
    1
}

/// What is not said.
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
        let clocks = Some(Clocks { nodes: 2, error_us: 1.5 });
        let part = |rows: &[Lateness], clocks| Summary { lateness: rows.to_vec(), clocks, ..Summary::merge(vec![]) };
        let merged = Summary::merge(vec![part(&[row("b", 0), row("a", 10)], None), part(&[row("a", 2)], clocks)]);
        assert_eq!((merged.clocks, &merged.lateness), (clocks, &vec![row("a", 2), row("a", 10), row("b", 0)]));
        let text = serde_json::to_string(&merged).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), merged);
    }
}
