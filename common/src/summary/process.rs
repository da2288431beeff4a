//! A process in the summary: which one it is, and what was counted in it.

use crate::origin::Origin;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Its number in this summary.
    pub process: u32,
    /// Its process id; in a replay that of the recorded one.
    pub pid: u32,
    /// Which process it is.
    #[serde(flatten)]
    pub origin: Origin,
    /// What has timed its operations on the GPU.
    #[serde(default)]
    pub gpu_source: Option<GpuSource>,
    /// Callbacks NCCL made.
    pub callbacks: u64,
    /// Start callbacks among them, of whatever type.
    pub events: u64,
    /// Windows processed.
    pub windows: u64,
    /// Events not recorded because memory was full, or because a signal handler has left their callback; callbacks that
    /// a recording lacks, in its replay.
    pub dropped: u64,
    /// Operations of which something never ended.
    pub unfinished: u64,
    /// API calls that NCCL reported no further.
    pub invisible: u64,
    /// Operations whose kernel stamps are not believed.
    pub out_of_step: u64,
    /// Operations without a GPU time although it was asked for, by why that is so.
    #[serde(default)]
    pub untimed: BTreeMap<String, u64>,
    /// Handles and contexts that were stale, stopped or invented.
    pub ignored_handles: u64,
    /// Proxy operations of other processes (PXN), which are not followed.
    pub foreign_proxy_ops: u64,
    /// Operations smaller than `NCCL_SCOREP_MIN_BYTES`.
    pub skipped: u64,
    /// Their children. They are not missing for themselves.
    #[serde(default)]
    pub skipped_children: u64,
    /// Events of a type this version does not know.
    pub unknown_events: u64,
    /// Events whose parent could not be found.
    pub orphans: u64,
    /// Events, calls and operations that the counters lack, or have without a GPU time that was asked for: 0 only where
    /// there is none.
    #[serde(default)]
    pub incomplete: u64,
    /// Communicators that have ended and are summed up as `others`.
    #[serde(default)]
    pub others: u64,
    /// Peak resident memory of the whole process, bytes.
    pub peak_memory_bytes: u64,
    /// Final values of the counters; those that belong to threads summed over them.
    pub counters: BTreeMap<String, u64>,
    /// The communicators that have series, called as their lanes are, by what stands behind a series' name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, String>,
    /// What a reader must know, in words.
    pub notes: Vec<String>,
}

/// What has timed operations on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuSource {
    /// NCCL's stamps.
    Stamps,
    /// CUDA's events.
    Events,
    /// Some of them by stamps, others by events.
    Both,
}
