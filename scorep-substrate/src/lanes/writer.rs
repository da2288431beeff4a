//! Writes lanes into Score-P's trace and profile.
//!
//! The plan ensures that the times of a lane never fall and that its regions never overlap. Counters that a profile may
//! sum up are written inside the region. Counters whose sum means nothing are written outside, so they are only in the
//! trace.

use super::plan::{Lane, PairLane};
use crate::lanes::spare;
use crate::measurement::{LaneTarget, OwnLocation};
use crate::sys::measurement::{ATTRIBUTE_TYPE_STRING, ATTRIBUTE_TYPE_UINT64, AttributeHandle};
use crate::sys::{
    MODE_ABSOLUTE_NEXT, MODE_ABSOLUTE_POINT, REGION_ARTIFICIAL, REGION_COLL_ALL2ALL, REGION_COLL_ALL2ONE,
    REGION_COLL_ONE2ALL, REGION_COLL_OTHER, REGION_POINT2POINT, RegionHandle, RegionType, SamplingSetHandle,
    StringHandle,
};
use common::name::{FUNCTIONS, NcclName};
use common::operation::{bus_bytes, moved};
use common::rate::Rate;
use common::timeline::{History, NO_ROOT, RankHistory, TimelineEntry};
use std::collections::{BTreeMap, BTreeSet};

/// Score-P's handles of the lanes' definitions.
pub(super) struct LaneWriter<'a> {
    measurement: &'a dyn LaneTarget,
    history: &'a History,
    regions: BTreeMap<RegionKey, RegionHandle>,
    strings: BTreeMap<&'static str, StringHandle>,
    names: BTreeMap<NcclName, StringHandle>,
    sequence: AttributeHandle,
    algorithm: AttributeHandle,
    protocol: AttributeHandle,
    peer: AttributeHandle,
    root: AttributeHandle,
    queued: AttributeHandle,
    timing: AttributeHandle,
    bytes: SamplingSetHandle,
    /// Bytes sent and received; only in a profile without a trace, which would grow by half. A trace gets them as records
    /// of communication (`scorep-nccl trace`).
    moved: Option<[SamplingSetHandle; 2]>,
    /// Bus bandwidth; only with a trace, since in a profile it would be 0.
    bus: Option<SamplingSetHandle>,
}

/// A lane with its location.
pub(super) struct OpenLane<'a> {
    pub(super) lane: &'a Lane,
    location: OwnLocation,
    /// Number of operations handled so far.
    pub(super) written: usize,
    /// Number of operations until every region of the lane has occurred.
    pub(super) beginning: usize,
    /// Regions that the location's profile contains.
    regions: BTreeSet<RegionKey>,
}

/// Score-P's handles of the rank pairs' definitions.
struct PairDefinitions {
    window: RegionHandle,
    bytes: SamplingSetHandle,
    /// Rate, latency and R2, if Score-P writes a trace.
    figures: Option<[SamplingSetHandle; 3]>,
}

/// A region's function, and whether the GPU has timed its operations. GPU times and other times have separate regions,
/// so that a profile does not add them.
type RegionKey = (NcclName, bool);

fn region_key(operation: &TimelineEntry) -> RegionKey {
    (operation.function, operation.source.is_gpu())
}

/// Returns Score-P's kind of communication of a function.
pub(crate) fn kind(function: NcclName) -> RegionType {
    match function.function().map(|index| FUNCTIONS[index]) {
        Some("AllReduce" | "AllGather" | "ReduceScatter" | "AlltoAll") => REGION_COLL_ALL2ALL,
        Some("Broadcast" | "Scatter") => REGION_COLL_ONE2ALL,
        Some("Reduce" | "Gather") => REGION_COLL_ALL2ONE,
        Some("Send" | "Recv") => REGION_POINT2POINT,
        _ => REGION_COLL_OTHER,
    }
}

/// Rounds a known, finite and non-negative value to a whole number.
pub(super) fn whole(value: Option<f64>) -> Option<u64> {
    value.filter(|value| value.is_finite() && *value >= 0.0).map(|value| value.round() as u64)
}

impl<'a> LaneWriter<'a> {
    /// Creates the definitions.
    pub(super) fn new(measurement: &'a dyn LaneTarget, history: &'a History) -> Self {
        let string = |name, description| measurement.attribute(name, description, ATTRIBUTE_TYPE_STRING);
        let number = |name, description| measurement.attribute(name, description, ATTRIBUTE_TYPE_UINT64);
        Self {
            measurement,
            history,
            regions: BTreeMap::new(),
            strings: BTreeMap::new(),
            names: BTreeMap::new(),
            sequence: number(c"nccl_sequence", c"Number among the operations of its function in its communicator"),
            algorithm: string(c"nccl_algorithm", c"NCCL's algorithm"),
            protocol: string(c"nccl_protocol", c"NCCL's protocol"),
            peer: number(c"nccl_peer", c"The other rank"),
            root: number(c"nccl_root", c"The root"),
            queued: number(c"nccl_queued", c"Nanoseconds from the kernel's launch to its begin: above some 10000 it waited for its GPU"),
            timing: string(c"nccl_timing", c"What the time was taken from: stamps, events, proxy or enqueue"),
            bytes: measurement.counter(
                c"nccl_op_bytes",
                c"Bytes of the operation: elements times their size",
                MODE_ABSOLUTE_POINT,
                c"B",
            ),
            moved: (measurement.is_profiling() && !measurement.is_tracing()).then(|| {
                let counter = |name, description| measurement.counter(name, description, MODE_ABSOLUTE_POINT, c"B");
                [
                    counter(c"nccl_bytes_sent", c"Bytes that the rank sends, to each rank, as MPI counts"),
                    counter(c"nccl_bytes_received", c"Bytes that the rank receives, of each rank"),
                ]
            }),
            bus: measurement.is_tracing().then(|| {
                let description = c"Bus bandwidth of the operation, as nccl-tests defines it, over a time that holds the wait for the last rank";
                measurement.counter(c"nccl_op_effective_busbw", description, MODE_ABSOLUTE_NEXT, c"B/s")
            }),
        }
    }

    /// Creates a lane's location.
    pub(super) fn open(&self, lane: &'a Lane) -> Option<OpenLane<'a>> {
        let rank = self.history.ranks[lane.place].rank;
        let mut name = format!("NCCL {:016x} rank {}", rank.comm, rank.rank);
        if lane.number > 1 {
            name.push_str(&format!(" ({})", lane.number));
        }
        let location = spare::take(self.measurement, &name)?;
        let operations = self.history.of(lane.place);
        let key = |number: &u32| operations.get(*number as usize).map(region_key);
        let mut regions = BTreeSet::new();
        let mut beginning = 0;
        for (place, key) in lane.operations.iter().map(key).enumerate() {
            if regions.insert(key) {
                beginning = place + 1;
            }
        }
        Some(OpenLane { lane, location, written: 0, beginning, regions: BTreeSet::new() })
    }

    /// Writes the operations of a lane until each of its regions has occurred. Returns the number of operations for
    /// whose region Score-P had no memory.
    pub(super) fn write_beginning(&mut self, open: &mut OpenLane<'_>) -> usize {
        self.write(open, open.beginning)
    }

    /// Writes the remaining operations of a lane. Returns the same number for them.
    pub(super) fn write_rest(&mut self, open: &mut OpenLane<'_>) -> usize {
        self.write(open, open.lane.operations.len())
    }

    fn write(&mut self, open: &mut OpenLane<'_>, end: usize) -> usize {
        let rank = self.history.ranks[open.lane.place];
        let history = self.history;
        let operations = history.of(open.lane.place);
        let (location, begin) = (open.location, open.written);
        open.written = end;
        let mut without = 0;
        for operation in open.lane.operations[begin..end].iter().filter_map(|&number| operations.get(number as usize)) {
            let key = region_key(operation);
            if !open.regions.contains(&key) {
                if !self.measurement.has_room_for_region() {
                    without += 1;
                    continue;
                }
                open.regions.insert(key);
            }
            let bus = self.bus.zip(self.bus_bandwidth(operation, rank.nranks));
            let region = self.region(key);
            if let Some((counter, bus)) = bus {
                self.measurement.count(location, operation.start, counter, bus);
            }
            self.describe(location, operation);
            self.measurement.enter(location, operation.start, region);
            self.measurement.count(location, operation.start, self.bytes, operation.bytes);
            self.count_moved(location, operation, rank);
            self.measurement.exit(location, operation.stop, region);
            if let Some((counter, _)) = bus {
                self.measurement.count(location, operation.stop, counter, 0);
            }
        }
        without
    }

    /// Writes the bytes that the operation sends and receives, as far as they are known.
    fn count_moved(&self, location: OwnLocation, operation: &TimelineEntry, of: RankHistory) {
        let is_root = i32::from(operation.root) == of.rank.rank;
        let moved = moved(operation.function, operation.bytes, of.nranks, is_root);
        if let Some(([sent, received], (out, into))) = self.moved.zip(moved) {
            for (counter, bytes) in [(sent, out), (received, into)].into_iter().filter(|(_, bytes)| *bytes > 0) {
                self.measurement.count(location, operation.start, counter, bytes);
            }
        }
    }

    /// Returns the bus bandwidth in bytes per second. Only operations that the GPU has timed have one, and only with a
    /// kernel of their own: in a shared kernel, the time of each operation is unknown.
    fn bus_bandwidth(&self, operation: &TimelineEntry, nranks: i32) -> Option<u64> {
        let ticks = operation.stop - operation.start;
        let bytes = bus_bytes(operation.function, operation.bytes, nranks)?;
        let seconds = ticks as f64 * self.history.nanoseconds_per_tick / 1e9;
        whole((operation.source.is_gpu() && operation.alone && ticks > 0).then(|| bytes / seconds))
    }

    /// Adds the other properties of the operation to the next event, as attributes.
    fn describe(&mut self, location: OwnLocation, operation: &TimelineEntry) {
        let measurement = self.measurement;
        match u64::try_from(operation.peer) {
            Ok(peer) => measurement.say_number(location, self.peer, peer),
            Err(_) => measurement.say_number(location, self.sequence, operation.sequence),
        }
        if operation.root != NO_ROOT {
            measurement.say_number(location, self.root, operation.root.into());
        }
        if operation.launched > 0 {
            measurement.say_number(location, self.queued, operation.launched);
        }
        for (attribute, name) in [(self.algorithm, operation.algorithm), (self.protocol, operation.protocol)] {
            if name != NcclName::default() {
                let string = *self.names.entry(name).or_insert_with(|| measurement.string(&name.text()));
                measurement.say(location, attribute, string);
            }
        }
        let timing = operation.source.name();
        let string = *self.strings.entry(timing).or_insert_with(|| measurement.string(timing));
        measurement.say(location, self.timing, string);
    }

    fn region(&mut self, key: RegionKey) -> RegionHandle {
        let (measurement, (function, is_gpu_timed)) = (self.measurement, key);
        let suffix = if is_gpu_timed { "" } else { " (not GPU-timed)" };
        let name = || format!("nccl{}{suffix}", function.text());
        *self.regions.entry(key).or_insert_with(|| measurement.region(&name(), kind(function)))
    }

    /// Creates the location of a rank pair.
    pub(super) fn open_pair(&self, pair: &PairLane) -> Option<OwnLocation> {
        let rank = self.history.ranks[pair.place].rank;
        spare::take(self.measurement, &format!("NCCL {:016x} {} to {}", rank.comm, rank.rank, pair.peer))
    }

    /// Writes the windows of rank pairs.
    pub(super) fn pairs(&self, pairs: &[(OwnLocation, &PairLane)]) {
        if pairs.is_empty() {
            return;
        }
        let measurement = self.measurement;
        let rate_of = |name, description, unit| measurement.counter(name, description, MODE_ABSOLUTE_NEXT, unit);
        let definitions = PairDefinitions {
            window: measurement.region("NCCL transfers", REGION_ARTIFICIAL),
            bytes: measurement.counter(
                c"nccl_pair_bytes",
                c"Bytes sent over the network in the window",
                MODE_ABSOLUTE_POINT,
                c"B",
            ),
            figures: measurement.is_tracing().then(|| {
                [
                    rate_of(c"nccl_pair_rate", c"Bytes of the window over the time with a transfer under way", c"B/s"),
                    rate_of(c"nccl_pair_latency", c"Fitted latency of the window, 0 where it has no fit", c"ns"),
                    rate_of(
                        c"nccl_pair_r2",
                        c"Coefficient of determination of the fit, millionths, 0 without one",
                        c"ppm",
                    ),
                ]
            }),
        };
        pairs
            .iter()
            .filter(|_| measurement.has_room_for_region())
            .for_each(|&(location, pair)| self.pair(location, pair, &definitions));
    }

    fn pair(&self, location: OwnLocation, pair: &PairLane, definitions: &PairDefinitions) {
        let measurement = self.measurement;
        // a profile adds the lengths of all regions of a GPU's: a window is no time of an operation's
        let is_profiling = measurement.is_profiling();
        for window in &pair.windows {
            let Rate { sustained_mb_s, fit, .. } = window.rate;
            let values = [
                sustained_mb_s.map(|rate| rate * 1e6),
                fit.and_then(|fit| fit.latency_us).map(|latency| latency * 1e3),
                fit.map(|fit| fit.r2 * 1e6),
            ];
            for (counter, value) in definitions.figures.into_iter().flatten().zip(values.map(whole)) {
                measurement.count(location, window.start, counter, value.unwrap_or(0));
            }
            measurement.enter(location, window.start, definitions.window);
            measurement.count(location, window.start, definitions.bytes, window.bytes);
            measurement.exit(location, if is_profiling { window.start } else { window.stop }, definitions.window);
            for counter in definitions.figures.into_iter().flatten() {
                measurement.count(location, window.stop, counter, 0);
            }
        }
    }
}
