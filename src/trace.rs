//! What one replayed process would have left in Score-P's trace, before it is written as OTF2.
//!
//! The child process of a replay records it while it plays Score-P's part; the parent merges the processes into one archive.

use serde::{Deserialize, Serialize};

/// One process (a rank, a location group) of the trace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProcessTrace {
    /// Name of the location group, for example `collectives.r0`.
    pub name: String,
    /// Ticks per second of every time below.
    pub ticks_per_second: u64,
    /// First and last time of the measurement, in ticks.
    pub begin: u64,
    /// See `begin`.
    pub end: u64,
    /// What the strictly synchronous metrics are, in the order of [`Moment::values`].
    pub counters: Vec<Metric>,
    /// The threads that called an instrumented function, in order of appearance; the first is the process' main thread.
    pub threads: Vec<ThreadTrace>,
    /// The asynchronous metrics with their values.
    pub series: Vec<SeriesTrace>,
}

/// A metric as the plugin described it to Score-P, with Score-P's numbers for mode, value type and base.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Metric {
    /// Name, for example `nccl_bytes`.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Unit, for example `B`.
    pub unit: String,
    /// `SCOREP_MetricMode`.
    pub mode: u32,
    /// `SCOREP_MetricValueType`: 0 int64, 1 uint64, 2 double.
    pub value_type: u32,
    /// `SCOREP_MetricBase`: 0 binary, 1 decimal.
    pub base: u32,
    /// Exponent to the base.
    pub exponent: i64,
}

/// One thread (a location).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ThreadTrace {
    /// Name, for example `thread 1`.
    pub name: String,
    /// Its enter and leave events; times never fall.
    pub moments: Vec<Moment>,
}

/// An enter or leave with the counter values that Score-P reads right before it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Moment {
    /// Time in ticks.
    pub time: u64,
    /// Entered (true) or left.
    pub enter: bool,
    /// Name of the region, for example `ncclAllReduce`.
    pub region: String,
    /// One value a counter.
    pub values: Vec<u64>,
}

/// The values of one asynchronous metric.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SeriesTrace {
    /// What it is.
    pub metric: Metric,
    /// (time in ticks, value bits as Score-P passes them); times never fall.
    pub points: Vec<(u64, u64)>,
}
