//! Whether the lanes of a process show its operations as they were.

use super::{Location, Operation, Process, Visit};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// How much longer or shorter a region may be than its operation on the GPU, nanoseconds.
const LENGTH: f64 = 2_000.0;

/// By how much a region may lie before or after its operation, nanoseconds. The earliest callback tells of a stamp 1.5
/// us after it was made.
pub(crate) const PLACE: RangeInclusive<f64> = -100.0..=2_000.0;

/// A region with the lane that it is on.
pub(crate) type Placed<'a> = (&'a Location, &'a Visit);

/// The lane's communicator and rank, and its number among theirs.
pub(crate) fn owner(lane: &str) -> Option<(&str, i32, u32)> {
    let (comm, rest) = lane.strip_prefix("NCCL ")?.split_once(" rank ")?;
    let (rank, number) = rest.split_once(" (").unwrap_or((rest, "1)"));
    Some((comm, rank.parse().ok()?, number.strip_suffix(')')?.parse().ok()?))
}

/// The regions of each communicator, rank and function, in the order of their begins.
pub(crate) fn visits(lanes: &BTreeMap<String, Location>) -> BTreeMap<(String, i32, String), Vec<Placed<'_>>> {
    let mut all: BTreeMap<_, Vec<Placed<'_>>> = BTreeMap::new();
    for lane in lanes.values() {
        let Some((comm, rank, _)) = owner(&lane.name) else { continue };
        for visit in &lane.visits {
            all.entry((comm.to_owned(), rank, visit.region.clone())).or_default().push((lane, visit));
        }
    }
    all.values_mut().for_each(|visits| visits.sort_by_key(|(_, visit)| visit.begin));
    all
}

/// Every operation of a process is on its lanes, once, as it was; `rate` ticks a second, `place` in nanoseconds.
pub(crate) fn check(process: &Process, rate: f64, place: &RangeInclusive<f64>) {
    let wrong = wrong(process, rate, place);
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

/// What is not as [`check`] says.
pub(crate) fn wrong(process: &Process, rate: f64, place: &RangeInclusive<f64>) -> Vec<String> {
    let lanes = process.lanes();
    let mut found = visits(&lanes);
    let mut wanted: BTreeMap<_, Vec<Operation>> = BTreeMap::new();
    for operation in process.operations() {
        wanted.entry((operation.comm.clone(), operation.rank, region(&operation))).or_default().push(operation);
    }
    assert!(!wanted.is_empty(), "the host made no operation");
    let mut wrong = Vec::new();
    for (key, mut wanted) in wanted {
        wanted.sort_by_key(|operation| operation.begin);
        let found = found.remove(&key).unwrap_or_default();
        if found.len() != wanted.len() {
            wrong.push(format!("{key:?}: {} instead of {}", found.len(), wanted.len()));
        }
        wrong.extend(
            wanted.iter().zip(found).filter_map(|(operation, placed)| differences(operation, placed, rate, place)),
        );
    }
    wrong.extend(found.keys().map(|key| format!("nobody made {key:?}")));
    wrong
}

/// The name of an operation's region.
pub(crate) fn region(operation: &Operation) -> String {
    let is_gpu_timed = ["stamps", "events"].contains(&operation.timing.as_str());
    format!("nccl{}{}", operation.func, if is_gpu_timed { "" } else { " (not GPU-timed)" })
}

/// In what a region differs from its operation.
fn differences(
    wanted: &Operation,
    (lane, visit): Placed<'_>,
    rate: f64,
    place: &RangeInclusive<f64>,
) -> Option<String> {
    let nanoseconds = |ticks: f64| ticks * 1e9 / rate;
    // a tick is more than nothing
    let tick = nanoseconds(1.0);
    let away = nanoseconds(visit.begin as f64 - wanted.begin as f64);
    let [length, true_length] =
        [(visit.begin, visit.end), (wanted.begin, wanted.end)].map(|(begin, end)| nanoseconds((end - begin) as f64));
    let on_gpu = wanted.timing == "stamps";
    let is_placed =
        if on_gpu { *place.start() - tick <= away && away <= *place.end() + tick } else { away.abs() <= tick };
    let is_long = (length - true_length).abs() <= if on_gpu { LENGTH } else { tick };
    let attribute = |name: &str| visit.attributes.get(name).map(String::as_str);
    // a collective has a number and a way, the others a peer
    let number = |number: u64| Some(number.to_string());
    let attributes = ["nccl_sequence", "nccl_algorithm", "nccl_protocol", "nccl_peer"]
        .map(|name| attribute(name).map(str::to_owned));
    let expected = match u64::try_from(wanted.peer) {
        Ok(peer) => [None, None, None, number(peer)],
        Err(_) => [number(wanted.sequence), Some("RING".into()), Some("LL".into()), None],
    };
    let right = is_placed
        && is_long
        && visit.counter("nccl_op_bytes") == Some(wanted.bytes)
        && attribute("nccl_timing") == Some(wanted.timing.as_str())
        && attributes == expected;
    (!right).then(|| {
        format!("{wanted:?}\n    is {visit:?} on {}, {away} ns away, {} ns longer", lane.name, length - true_length)
    })
}
