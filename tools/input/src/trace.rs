//! Score-P's trace of one replayed process, before it is written as OTF2.
//!
//! The child process of a replay plays Score-P's part and records the trace. The parent merges the traces of all
//! processes into one archive.

use serde::{Deserialize, Serialize};

/// One process (a rank, a location group) of the trace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProcessTrace {
    /// Name of the location group, for example `collectives.r0`.
    pub name: String,
    /// Name of the process' job, where the trace has processes of several jobs; empty otherwise.
    #[serde(default)]
    pub job: String,
    /// Name of the process' machine; empty until it is known.
    pub node: String,
    /// The process' ranks, in the order in which their communicators were created.
    pub members: Vec<TraceMember>,
    /// Ticks per second of all times of this process.
    pub ticks_per_second: u64,
    /// First time of the measurement, in ticks.
    pub begin: u64,
    /// Last time of the measurement, in ticks.
    pub end: u64,
    /// The strictly synchronous metrics, in the order of [`TraceMoment::values`].
    pub counters: Vec<Metric>,
    /// The threads that called an instrumented function, in order of appearance; the first is the process' main thread.
    pub threads: Vec<ThreadTrace>,
    /// Locations that the library has written itself.
    pub lanes: TraceLanes,
}

/// A rank of a communicator, as NCCL introduced it to the plugin.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct TraceMember {
    /// The communicator.
    pub comm: u64,
    /// The rank.
    pub rank: i32,
    /// Number of ranks of the communicator.
    pub nranks: i32,
    /// Number of nodes of the communicator; 0 where NCCL does not give it.
    pub nnodes: i32,
}

/// A metric as the plugin described it to Score-P, with Score-P's numbers for mode, value type and base.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Metric {
    /// Name, for example `nccl_bytes`.
    pub name: String,
    /// Description in one sentence.
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
    /// Enter and leave events of the thread; their times never fall.
    pub moments: Vec<TraceMoment>,
}

/// An enter or leave with the counter values that Score-P reads right before it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TraceMoment {
    /// Time in ticks.
    pub time: u64,
    /// True for an enter, false for a leave.
    pub enter: bool,
    /// Name of the region, for example `ncclAllReduce`.
    pub region: String,
    /// Values of the counters, in the order of [`ProcessTrace::counters`].
    pub values: Vec<u64>,
}

/// The lanes and their definitions. Records name a definition by its place in these lists, from 0.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TraceLanes {
    /// Regions.
    pub regions: Vec<LaneRegion>,
    /// Counters.
    pub counters: Vec<Metric>,
    /// Attributes.
    pub attributes: Vec<Attribute>,
    /// Values of the attributes that are strings.
    pub strings: Vec<String>,
    /// The lanes, in the order in which they were created.
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

/// An attribute: a named value that single events carry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attribute {
    /// Name, for example `nccl_sequence`.
    pub name: String,
    /// Description in one sentence.
    pub description: String,
    /// Whether the values are strings; otherwise they are numbers.
    pub is_text: bool,
}

/// A lane: a location of a GPU.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaneTrace {
    /// Name, for example `NCCL 5b7328aca362242b rank 0`.
    pub name: String,
    /// Events of the lane; their times never fall.
    pub records: Vec<LaneRecord>,
}

/// An event of a lane.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaneRecord {
    /// Time in ticks.
    pub time: u64,
    /// The event.
    pub event: LaneEvent,
    /// Attributes by number, each with its value: a number, or the number of a string.
    pub attributes: Vec<(u32, u64)>,
}

/// An event of a lane, without its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaneEvent {
    /// The region of this number begins.
    Enter(u32),
    /// The region of this number ends.
    Leave(u32),
    /// The counter of this number has this value.
    Count(u32, u64),
}

impl ProcessTrace {
    /// Converts all times to another clock.
    pub fn move_to(&mut self, clock: impl Fn(u64) -> u64) {
        let moments = self.threads.iter_mut().flat_map(|thread| &mut thread.moments).map(|moment| &mut moment.time);
        let records = self.lanes.lanes.iter_mut().flat_map(|lane| &mut lane.records).map(|record| &mut record.time);
        let all = [&mut self.begin, &mut self.end].into_iter().chain(moments).chain(records);
        all.for_each(|time| *time = clock(*time));
    }
}
