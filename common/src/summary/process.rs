//! A process in the summary: its identity and its counts.

use super::{Arrivals, NetworkEvents, NvLink, ProgressThreads};
use crate::conditions::ConditionRow;
use crate::figures::metric;
use crate::origin::Origin;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryProcess {
    /// Its number in this summary.
    pub process: u32,
    /// Process id; in a replay, the id of the recorded process.
    pub pid: u32,
    /// Host, rank and job.
    #[serde(flatten)]
    pub origin: Origin,
    /// Source of its operations' GPU times.
    #[serde(default)]
    pub gpu_source: Option<GpuSource>,
    /// Number of callbacks by NCCL.
    pub callbacks: u64,
    /// Number of start callbacks among them, of any type.
    pub events: u64,
    /// Number of windows processed.
    pub windows: u64,
    /// Events not recorded because memory was full or because the process ended in their callback, plus callbacks that
    /// the recording lacks, in its replay.
    pub dropped: u64,
    /// Operations of which something never ended.
    pub unfinished: u64,
    /// API calls that NCCL reported no further.
    pub invisible: u64,
    /// Operations whose kernel stamps are not believed.
    pub out_of_step: u64,
    /// Operations without a GPU time although it was asked for, by cause.
    #[serde(default)]
    pub untimed: BTreeMap<String, u64>,
    /// Handles and contexts that were stale, stopped or invented.
    pub ignored_handles: u64,
    /// Proxy operations of other processes (PXN), which are not followed.
    pub foreign_proxy_ops: u64,
    /// Operations smaller than `NCCL_SCOREP_MIN_BYTES`.
    pub skipped: u64,
    /// Children of skipped operations. They do not count as missing.
    #[serde(default)]
    pub skipped_children: u64,
    /// Events of a type that this version does not know.
    pub unknown_events: u64,
    /// Events whose parent could not be found.
    pub orphans: u64,
    /// Events, calls and operations that the counters lack, or count without a GPU time that was asked for; 0 only if
    /// there is none.
    #[serde(default)]
    pub incomplete: u64,
    /// Communicators that have ended and are summed up as `others`.
    #[serde(default)]
    pub others: u64,
    /// Peak resident memory of the whole process, bytes.
    pub peak_memory_bytes: u64,
    /// Final values of the counters; counters of threads are summed over the threads.
    #[serde(deserialize_with = "with_own_names")]
    pub counters: BTreeMap<Cow<'static, str>, u64>,
    /// Lane names of the communicators that have series, by the part behind a series' name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, String>,
    /// Bytes over NVLink, PCIe and network adapters, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvlink: Option<NvLink>,
    /// Times and counts of the threads that progress proxy operations, if NCCL reported their states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_threads: Option<ProgressThreads>,
    /// Events of network plugins, by network and device, if NCCL reported any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network_events: Vec<NetworkEvents>,
    /// Notes on the process, for people.
    pub notes: Vec<String>,
    /// When its ranks began their collectives, in the summary of a single process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// What it had of its host while it ran, in the summary of a single process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionRow>,
}

/// Reads counters. Names that this library has, too, are its own: ten thousand processes of a job have the same ones.
fn with_own_names<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<Cow<'static, str>, u64>, D::Error> {
    let counters = BTreeMap::<String, u64>::deserialize(from)?;
    let own = |name: String| metric::own_name(&name).map_or(Cow::Owned(name), Cow::Borrowed);
    Ok(counters.into_iter().map(|(name, value)| (own(name), value)).collect())
}

/// Source of operations' GPU times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuSource {
    /// NCCL's stamps.
    Stamps,
    /// CUDA's events.
    Events,
    /// Stamps for some operations, events for others.
    Both,
}
