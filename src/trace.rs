//! What one replayed process would have left in Score-P's trace, before it is written as OTF2.
//!
//! The child process of a replay records it while it plays Score-P's part; the parent merges the processes into one
//! archive.

use serde::{Deserialize, Serialize};

/// One process (a rank, a location group) of the trace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProcessTrace {
    /// Name of the location group, for example `collectives.r0`.
    pub name: String,
    /// Name of its job, where the processes of a trace are of several; empty otherwise.
    #[serde(default)]
    pub job: String,
    /// Name of its machine; empty until it is known.
    pub node: String,
    /// Its ranks, in the order in which their communicators were made.
    pub members: Vec<Member>,
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
    /// What the library has written on locations of its own.
    pub lanes: Lanes,
    /// The asynchronous metrics with their values.
    pub series: Vec<SeriesTrace>,
}

/// A rank of a communicator, as NCCL has introduced it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Member {
    /// The communicator.
    pub comm: u64,
    /// The rank.
    pub rank: i32,
    /// Number of ranks of the communicator.
    pub nranks: i32,
    /// Number of nodes that these are on; 0 where it is not told.
    pub nnodes: i32,
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

/// Lanes, and what their records name by number: the place in one of these lists, from 0.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Lanes {
    /// Regions.
    pub regions: Vec<LaneRegion>,
    /// Counters.
    pub counters: Vec<Metric>,
    /// Attributes.
    pub attributes: Vec<Attribute>,
    /// Values of attributes that are strings.
    pub strings: Vec<String>,
    /// The lanes, in the order in which they were made.
    pub lanes: Vec<LaneTrace>,
}

/// A region of a lane.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaneRegion {
    /// Name, for example `ncclAllReduce`.
    pub name: String,
    /// `SCOREP_RegionType`.
    pub kind: u32,
    /// `SCOREP_ParadigmType`.
    pub paradigm: u32,
}

/// Something said about single events.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attribute {
    /// Name, for example `nccl_sequence`.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Whether its values are strings, otherwise numbers.
    pub is_text: bool,
}

/// A location of a GPU.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaneTrace {
    /// Name, for example `NCCL 5b7328aca362242b rank 0`.
    pub name: String,
    /// What is recorded; times never fall.
    pub records: Vec<LaneRecord>,
}

/// An event of a lane.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaneRecord {
    /// Time in ticks.
    pub time: u64,
    /// What happened.
    pub event: LaneEvent,
    /// Attributes by number, and their values: numbers, or numbers of strings.
    pub attributes: Vec<(u32, u64)>,
}

/// What is recorded on a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaneEvent {
    /// A region, by number, begins.
    Enter(u32),
    /// It ends.
    Leave(u32),
    /// A counter, by number, has a value.
    Count(u32, u64),
}

impl ProcessTrace {
    /// Puts all times on another clock.
    pub fn move_to(&mut self, clock: impl Fn(u64) -> u64) {
        let moments = self.threads.iter_mut().flat_map(|thread| &mut thread.moments).map(|moment| &mut moment.time);
        let records = self.lanes.lanes.iter_mut().flat_map(|lane| &mut lane.records).map(|record| &mut record.time);
        let points = self.series.iter_mut().flat_map(|series| &mut series.points).map(|point| &mut point.0);
        let all = [&mut self.begin, &mut self.end].into_iter().chain(moments).chain(records).chain(points);
        all.for_each(|time| *time = clock(*time));
    }
}
