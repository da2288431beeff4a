//! Collectives, sends and receives: the operations that have a GPU time, and these times.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use super::Sources;
use super::json::{Event, Recording, int};
use super::kernels::Kernels;

/// All operations of one rank of a communicator with one function and, for sends and receives, one peer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OperationRow {
    pub(crate) comm: String,
    pub(crate) rank: i64,
    pub(crate) kind: String,
    pub(crate) func: String,
    pub(crate) peer: Option<i64>,
    pub(crate) count: usize,
    pub(crate) bytes: i64,
    pub(crate) gpu_timed: usize,
    /// Operations whose GPU time comes from CUDA events.
    pub(crate) event_timed: usize,
    pub(crate) time_us: f64,
    /// The time of the operations that are the first of this function in their kernel.
    pub(crate) kernel_time_us: f64,
    /// The time of the operations that are the first in their kernel.
    pub(crate) kernel_once_us: f64,
    pub(crate) min_us: Option<f64>,
    /// Present if at least nine of ten operations are timed.
    pub(crate) max_us: Option<f64>,
}

/// An operation of a process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operation {
    pub(crate) comm: String,
    pub(crate) rank: i64,
    pub(crate) kind: String,
    pub(crate) func: String,
    pub(crate) peer: Option<i64>,
    /// Collectives only, as NCCL says it: 0 also where there is none.
    pub(crate) root: Option<i64>,
    /// Collectives only.
    pub(crate) sequence: Option<i64>,
    pub(crate) bytes: i64,
    /// Collectives only.
    pub(crate) algorithm: Option<String>,
    /// Collectives only.
    pub(crate) protocol: Option<String>,
    /// GPU time, if it is valid.
    pub(crate) gpu_us: Option<f64>,
    /// Whether the GPU time comes from CUDA events.
    pub(crate) by_events: bool,
    /// Whether it is the first operation of its kernel.
    pub(crate) is_first: bool,
    /// Whether it is the first operation of its function in its kernel.
    pub(crate) is_first_of_function: bool,
}

/// Returns the operations of a process, in the order of their start lines.
pub(crate) fn each(recording: &Recording) -> Result<Vec<Operation>, Box<dyn Error>> {
    timed(recording, Sources::Both)
}

/// Returns the operations with GPU times from these sources.
pub(crate) fn timed(recording: &Recording, sources: Sources) -> Result<Vec<Operation>, Box<dyn Error>> {
    let kernels = Kernels::of(recording);
    let (firsts, firsts_of_functions) = (kernels.firsts(), kernels.firsts_of_functions(recording));
    let by_stamps = if sources == Sources::Events { BTreeMap::new() } else { by_stamps(recording, &kernels) };
    let by_events = if sources == Sources::Stamps { BTreeMap::new() } else { kernels.times(recording) };
    let is_one =
        |place: &usize, event: &Event| event.is_operation() || event.kind == "CollApi" && by_events.contains_key(place);
    let operations = recording.events.iter().enumerate().filter(|(place, event)| is_one(place, event));
    let operations = operations.map(|(place, event)| {
        let context = recording.context(event)?;
        let (stamped, between_events) = (by_stamps.get(&place), by_events.get(&place));
        Ok(Operation {
            comm: context.comm.clone(),
            rank: context.rank,
            kind: if event.kind == "P2p" { "P2p" } else { "Coll" }.to_owned(),
            func: event.start["func"].as_str().unwrap_or_default().to_owned(),
            peer: if event.kind == "P2p" { Some(int(&event.start, "peer")?) } else { None },
            root: event.start["root"].as_i64(),
            sequence: event.start["seq"].as_i64(),
            bytes: bytes(event)?,
            algorithm: event.start["algo"].as_str().map(str::to_owned),
            protocol: event.start["proto"].as_str().map(str::to_owned),
            gpu_us: stamped.or(between_events).copied(),
            by_events: stamped.is_none() && between_events.is_some(),
            is_first: firsts.contains(&place),
            is_first_of_function: firsts_of_functions.contains(&place),
        })
    });
    operations.collect()
}

type Key = (String, i64, String, String, Option<i64>);

/// Returns the rows of all processes, sorted by key.
pub(crate) fn rows(recordings: &[&Recording], sources: Sources) -> Result<Vec<OperationRow>, Box<dyn Error>> {
    let mut groups: BTreeMap<Key, Vec<Operation>> = BTreeMap::new();
    for recording in recordings {
        for operation in timed(recording, sources)? {
            let Operation { comm, rank, kind, func, peer, .. } = operation.clone();
            groups.entry((comm, rank, kind, func, peer)).or_default().push(operation);
        }
    }
    Ok(groups.into_iter().map(|(key, operations)| row(key, &operations)).collect())
}

fn row((comm, rank, kind, func, peer): Key, operations: &[Operation]) -> OperationRow {
    let times = operations.iter().filter_map(|operation| operation.gpu_us).collect::<Vec<_>>();
    // not sum(), which returns -0 for no values
    let time_of = |wanted: fn(&&Operation) -> bool| {
        operations.iter().filter(wanted).filter_map(|operation| operation.gpu_us).fold(0.0, |sum, time| sum + time)
    };
    let nearly_all = times.len() as f64 >= 0.9 * operations.len() as f64;
    OperationRow {
        comm,
        rank,
        kind,
        func,
        peer,
        count: operations.len(),
        bytes: operations.iter().map(|operation| operation.bytes).sum(),
        gpu_timed: times.len(),
        event_timed: operations.iter().filter(|operation| operation.by_events).count(),
        time_us: time_of(|_| true),
        kernel_time_us: time_of(|operation| operation.is_first_of_function),
        kernel_once_us: time_of(|operation| operation.is_first),
        min_us: times.iter().copied().reduce(f64::min),
        max_us: times.iter().copied().reduce(f64::max).filter(|_| nearly_all),
    }
}

/// Returns the bytes of an operation.
pub(crate) fn bytes(event: &Event) -> Result<i64, Box<dyn Error>> {
    Ok(int(&event.start, "count")? * type_size(event.start["dtype"].as_str().unwrap_or_default())?)
}

/// Returns the bytes of an element.
fn type_size(name: &str) -> Result<i64, Box<dyn Error>> {
    match name.trim_start_matches("nccl") {
        // NCCL's only type without a name is ncclUint8
        "Unknown" | "Int8" | "Uint8" | "Char" | "Float8e4m3" | "Float8e5m2" => Ok(1),
        "Float16" | "Half" | "Bfloat16" => Ok(2),
        "Int32" | "Int" | "Uint32" | "Float32" | "Float" => Ok(4),
        "Int64" | "Uint64" | "Float64" | "Double" => Ok(8),
        other => Err(format!("type {other:?}").into()),
    }
}

/// Returns the times of the operations with valid stamps: from the first start of a kernel channel to the last stop, in
/// microseconds.
fn by_stamps(recording: &Recording, kernels: &Kernels) -> BTreeMap<usize, f64> {
    let uncounted = first_uncounted(recording);
    let alone = kernels.alone().into_iter().filter(|&place| recording.events[place].is_operation());
    alone.filter_map(|place| Some((place, gpu_time(recording, place, &uncounted)?))).collect()
}

/// Returns the time of an operation with a kernel of its own, if its stamps are valid. The first thread of a block
/// takes the stamps. They are the kernel's time only if that thread works as long as all others: in sends, in receives,
/// and with two algorithms.
fn gpu_time(recording: &Recording, place: usize, uncounted: &BTreeMap<i64, usize>) -> Option<f64> {
    let event = &recording.events[place];
    if event.kind == "Coll" && !matches!(event.start["algo"].as_str(), Some("RING" | "PAT")) {
        return None;
    }
    let in_step = uncounted.get(&event.ctx).is_none_or(|&first| place < first);
    // a collective runs on all of its channels; a channel without stamps may have run longer
    let channels = if event.kind == "Coll" { event.start["nch"].as_u64().unwrap_or(0) as usize } else { 0 };
    let whole = recording.children(event, "KernelCh").filter(|channel| stamps(channel).is_some()).count() >= channels;
    if in_step && whole { stamped_time(recording, event) } else { None }
}

fn stamps(channel: &Event) -> Option<(i64, i64)> {
    Some((channel.start["ptimer"].as_i64()?, channel.state(22)?["arg"].as_i64()?))
}

/// Returns the time between the stamps, valid or not.
fn stamped_time(recording: &Recording, event: &Event) -> Option<f64> {
    let stamps = recording.children(event, "KernelCh").filter_map(stamps).collect::<Vec<_>>();
    let start = stamps.iter().map(|&(start, _)| start).min()?;
    let stop = stamps.iter().map(|&(_, stop)| stop).max()?;
    Some((stop - start) as f64 / 1000.0)
}

/// Returns for each context the index of the first start line whose work NCCL does not count. It is a send to oneself
/// without kernel channels, a collective call without a collective, or an operation launched beside a CUDA graph of its
/// communicator: NCCL counts the graph's replays when they run.
fn first_uncounted(recording: &Recording) -> BTreeMap<i64, usize> {
    let mut first = BTreeMap::new();
    let mut with_graph = BTreeSet::new();
    for (place, event) in recording.events.iter().enumerate() {
        let rank = recording.contexts.get(&event.ctx).map(|context| context.rank);
        let to_oneself = event.kind == "P2p" && event.start["peer"].as_i64() == rank;
        let unstamped = to_oneself && !recording.has_child(event, "KernelCh");
        let unseen = event.kind == "CollApi" && !recording.has_child(event, "Coll");
        let is_call = |event: &Event| event.kind == "CollApi" || event.kind == "P2pApi";
        let captured = |event: &Event| event.start["graph"] == 1;
        if is_call(event) && captured(event) {
            with_graph.insert(event.ctx);
        }
        let call = event.parent.map(|parent| &recording.events[parent]).filter(|parent| is_call(parent));
        let beside_graph =
            event.is_operation() && call.is_some_and(|call| !captured(call)) && with_graph.contains(&event.ctx);
        if unstamped || unseen || beside_graph {
            first.entry(event.ctx).or_insert(place);
        }
    }
    first
}

/// Counts the operations whose stamps are invalid because of an uncounted work.
pub(crate) fn out_of_step(recording: &Recording) -> usize {
    let uncounted = first_uncounted(recording);
    let operations = recording.events.iter().enumerate().filter(|(_, event)| event.is_operation());
    let stamped = operations.filter(|(_, event)| stamped_time(recording, event).is_some());
    stamped.filter(|(place, event)| uncounted.get(&event.ctx).is_some_and(|first| place >= first)).count()
}

/// Counts the operations without a GPU time.
pub(crate) fn untimed(recording: &Recording, sources: Sources) -> Result<usize, Box<dyn Error>> {
    Ok(timed(recording, sources)?.iter().filter(|operation| operation.gpu_us.is_none()).count())
}

/// Counts the application's calls that never become an operation and have no events. Before interface v5, NCCL reports
/// no calls.
pub(crate) fn invisible(recording: &Recording, sources: Sources) -> usize {
    if recording.api < 5 {
        return 0;
    }
    let timed = if sources == Sources::Stamps { BTreeMap::new() } else { Kernels::of(recording).times(recording) };
    let followed = |event: &Event, kinds: &[&str]| kinds.iter().any(|kind| recording.has_child(event, kind));
    let calls = recording.events.iter().enumerate().filter(|(place, event)| match event.kind.as_str() {
        "CollApi" if timed.contains_key(place) => false,
        "CollApi" => !followed(event, &["Coll", "CeColl"]),
        "P2pApi" => !followed(event, &["P2p"]),
        _ => false,
    });
    calls.count()
}

/// Counts the operations that lack a stop, or have a child that lacks one.
pub(crate) fn unfinished(recording: &Recording) -> usize {
    let finished = |event: &Event| {
        let channels = recording.children(event, "KernelCh");
        let proxies = recording.children(event, "ProxyOp");
        let steps = recording.children(event, "ProxyOp").flat_map(|proxy| recording.children(proxy, "ProxyStep"));
        event.stop.is_some() && channels.chain(proxies).chain(steps).all(|child| child.stop.is_some())
    };
    recording.events.iter().filter(|event| event.is_operation() && !finished(event)).count()
}
