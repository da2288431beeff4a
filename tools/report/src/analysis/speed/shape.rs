//! Communicators of one shape, and their operations beside each other.
//!
//! Communicators have one shape if they have the same numbers of ranks and nodes. What takes the same function, size,
//! algorithm and protocol should take the same time in each of them.

use crate::analysis::robust::{self, spread};
use crate::answer::{RankPair, SlowCommunicator, SpeedRow};
use crate::job::Job;
use common::name::NcclName;
use common::operation::{bus_factor, size_factor};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of an operation from which on its rate says something of a link: the time of a smaller one is latency.
pub const MIN_LARGE_BYTES: f64 = 1024.0 * 1024.0;
/// Fewest communicators of a shape that are compared.
const MIN_COMMUNICATORS: usize = 4;
/// Fewest operations of a communicator that is compared.
const MIN_OPERATIONS: u64 = 5;
/// Communicators with a z above this may be slow.
const MIN_SLOW_Z: f64 = 5.0;
/// Least part of the median that a slow one's time is above it.
const MIN_EFFECT: f64 = 0.15;
/// Standard deviation of a normal distribution over the distance of its 95th percentile.
const DEVIATION_OF_P95: f64 = 1.0 / 1.645;
/// Least deviation, over the median.
const MIN_DEVIATION: f64 = 0.01;

/// Returns the bytes S of an operation of this row, in the mean.
pub fn size(row: &SpeedRow) -> f64 {
    bytes(row) * factor(row, size_factor)
}

/// Returns the bytes on the bus of all operations of a row.
pub(crate) fn bus_bytes(row: &SpeedRow) -> f64 {
    row.count as f64 * bytes(row) * factor(row, bus_factor)
}

/// Returns the bytes of a row's operation as it counts them, or the middle of its range.
fn bytes(row: &SpeedRow) -> f64 {
    (row.from_bytes as f64 + row.to_bytes as f64) / 2.0
}

/// Returns a factor of a collective. Bytes of sends and receives are what a rank moves already.
pub(super) fn factor(row: &SpeedRow, of: fn(NcclName, i32) -> Option<f64>) -> f64 {
    match row.function.as_str() {
        "SendRecv" | "Exchange" | "AlltoAll" => 1.0,
        function => of(NcclName::of_text(function), row.nranks).unwrap_or(1.0),
    }
}

/// Function, numbers of ranks and nodes, size, algorithm, protocol.
type OperationShape<'a> = (&'a str, i32, i32, [u64; 2], &'a str, &'a str);

fn shape(row: &SpeedRow) -> OperationShape<'_> {
    let SpeedRow { function, nranks, nnodes, from_bytes, to_bytes, algorithm, protocol, .. } = row;
    (function, *nranks, *nnodes, [*from_bytes, *to_bytes], algorithm, protocol)
}

fn by_shape<'a>(
    rows: &'a [SpeedRow],
    is_taken: impl Fn(&SpeedRow) -> bool,
) -> BTreeMap<OperationShape<'a>, Vec<usize>> {
    let mut shapes: BTreeMap<OperationShape<'_>, Vec<usize>> = BTreeMap::new();
    for (place, row) in rows.iter().enumerate().filter(|(_, row)| row.compared >= MIN_OPERATIONS && is_taken(row)) {
        shapes.entry(shape(row)).or_default().push(place);
    }
    shapes
}

/// Fills in the bus bandwidth that may be expected: the best other communicator's of the same shape.
pub(super) fn expect(rows: &mut [SpeedRow]) {
    let busbw = |place: usize| rows.get(place).and_then(|row| row.busbw).unwrap_or_default();
    let mut expected: Vec<(usize, f64)> = vec![];
    for mut places in by_shape(rows, |row| row.busbw.is_some()).into_values() {
        places.sort_by(|one, other| busbw(*other).total_cmp(&busbw(*one)));
        let [best, second, ..] = places[..] else { continue };
        expected.extend(places.iter().map(|&place| (place, busbw(if place == best { second } else { best }))));
    }
    for (place, busbw) in expected {
        if let Some(row) = rows.get_mut(place) {
            row.expected = Some(busbw);
        }
    }
}

/// Returns the communicators whose large collectives are slow among those of their shape, slowest first, each once.
/// Those with pairs that were judged by transfers over the network are left to these. Between nodes, times are known to
/// `error_us`.
pub(crate) fn slow(job: &Job, rows: &[SpeedRow], pairs: &[RankPair], error_us: Option<f64>) -> Vec<SlowCommunicator> {
    let judged: BTreeSet<&str> = pairs.iter().filter(|pair| pair.z.is_some()).map(|pair| pair.comm.as_str()).collect();
    let is_collective = |row: &SpeedRow| !matches!(row.function.as_str(), "SendRecv" | "Exchange");
    let is_taken = |row: &SpeedRow| {
        let is_known = row.median_us.is_some() && row.imbalance.is_none();
        is_known && is_collective(row) && size(row) >= MIN_LARGE_BYTES && !judged.contains(row.comm.as_str())
    };
    let mut found: BTreeMap<&str, SlowCommunicator> = BTreeMap::new();
    for places in by_shape(rows, is_taken).into_values().filter(|places| places.len() >= MIN_COMMUNICATORS) {
        let of_shape: Vec<&SpeedRow> = places.into_iter().filter_map(|place| rows.get(place)).collect();
        let times: Vec<f64> = of_shape.iter().filter_map(|row| row.median_us).collect();
        let [middle, deviation] = spread(&times);
        let deviation = deviation.max(MIN_DEVIATION * middle);
        for (row, time) in of_shape.iter().zip(times) {
            let scatter = row.p95_us.map_or(0.0, |p95| (p95 - time).max(0.0) * DEVIATION_OF_P95);
            let own = robust::error(scatter, row.compared as usize);
            let z = (time - middle) / deviation.hypot(own);
            let is_resolved = row.nnodes == 1 || error_us.is_some_and(|error| time - middle > error);
            if !(z > MIN_SLOW_Z && time >= (1.0 + MIN_EFFECT) * middle && is_resolved) {
                continue;
            }
            let members = job.communicator_named(&row.comm).map_or(&[][..], |it| &it.members);
            let slow = SlowCommunicator {
                comm: row.comm.clone(),
                gpus: members.iter().map(|member| member.gpu).collect(),
                function: row.function.clone(),
                from_bytes: row.from_bytes,
                to_bytes: row.to_bytes,
                median_us: time,
                others_us: middle,
                shape: of_shape.len() as u64,
                z,
                compared: row.compared,
            };
            let of_comm = found.entry(&row.comm).or_default();
            let lost = |slow: &SlowCommunicator| (slow.median_us - slow.others_us) * slow.compared as f64;
            if lost(&slow) > lost(of_comm) {
                *of_comm = slow;
            }
        }
    }
    let mut found: Vec<SlowCommunicator> = found.into_values().collect();
    let times = |slow: &SlowCommunicator| slow.median_us / slow.others_us;
    found.sort_by(|one, other| times(other).total_cmp(&times(one)));
    found
}
