//! Collectives and sends/receives: which are GPU-timed, and their times.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use super::Sources;
use super::json::{Event, Recording, int};
use super::kernels::Kernels;

/// All operations of one rank of a communicator with one function (and one peer).
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
    /// Those of them whose time is that between two CUDA events.
    pub(crate) event_timed: usize,
    pub(crate) time_us: f64,
    /// The same of those operations alone that are their kernel's first of this function.
    pub(crate) kernel_time_us: f64,
    /// The same of those alone that are their kernel's first.
    pub(crate) kernel_once_us: f64,
    pub(crate) min_us: Option<f64>,
    /// Where at least nine of ten are timed.
    pub(crate) max_us: Option<f64>,
}

/// One operation of a process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operation {
    pub(crate) comm: String,
    pub(crate) rank: i64,
    pub(crate) kind: String,
    pub(crate) func: String,
    pub(crate) peer: Option<i64>,
    /// Of collectives.
    pub(crate) sequence: Option<i64>,
    pub(crate) bytes: i64,
    /// Of collectives.
    pub(crate) algorithm: Option<String>,
    /// Of collectives.
    pub(crate) protocol: Option<String>,
    /// The GPU's time, where it can be believed.
    pub(crate) gpu_us: Option<f64>,
    /// Whether that is one by CUDA events.
    pub(crate) by_events: bool,
    /// Whether it is the first of its kernel.
    pub(crate) is_first: bool,
    /// Whether no operation before it in its kernel has its function.
    pub(crate) is_first_of_function: bool,
}

/// The operations of one process, in the order of their start lines.
pub(crate) fn each(recording: &Recording) -> Result<Vec<Operation>, Box<dyn Error>> {
    timed(recording, Sources::Both)
}

/// The same with times from these sources.
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
            sequence: event.start["seq"].as_i64(),
            bytes: int(&event.start, "count")? * type_size(event.start["dtype"].as_str().unwrap_or_default())?,
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

/// The rows of all processes, by key.
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
    // Not sum(), which makes -0 of nothing.
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

/// Bytes of one element.
fn type_size(name: &str) -> Result<i64, Box<dyn Error>> {
    match name.trim_start_matches("nccl") {
        "Int8" | "Uint8" | "Char" | "Float8e4m3" | "Float8e5m2" => Ok(1),
        "Float16" | "Half" | "Bfloat16" => Ok(2),
        "Int32" | "Int" | "Uint32" | "Float32" | "Float" => Ok(4),
        "Int64" | "Uint64" | "Float64" | "Double" => Ok(8),
        other => Err(format!("type {other:?}").into()),
    }
}

/// The time of each operation with stamps that can be believed, from the first start of its kernel channels to their
/// last stop. In us.
fn by_stamps(recording: &Recording, kernels: &Kernels) -> BTreeMap<usize, f64> {
    let uncounted = first_uncounted(recording);
    let alone = kernels.alone().into_iter().filter(|&place| recording.events[place].is_operation());
    alone.filter_map(|place| Some((place, gpu_time(recording, place, &uncounted)?))).collect()
}

/// The time of one that has its kernel to itself. A block's first thread takes the stamps; only where it works as long
/// as all others, which is so of a send, of a receive and of two algorithms, are they the kernel's.
fn gpu_time(recording: &Recording, place: usize, uncounted: &BTreeMap<i64, usize>) -> Option<f64> {
    let event = &recording.events[place];
    if event.kind == "Coll" && !matches!(event.start["algo"].as_str(), Some("RING" | "PAT")) {
        return None;
    }
    let in_step = uncounted.get(&event.ctx).is_none_or(|&first| place < first);
    // a collective runs on all of its channels; one that is missing may have run longer
    let channels = if event.kind == "Coll" { event.start["nch"].as_u64().unwrap_or(0) as usize } else { 0 };
    let whole = recording.children(event, "KernelCh").filter(|channel| stamps(channel).is_some()).count() >= channels;
    if in_step && whole { stamped_time(recording, event) } else { None }
}

fn stamps(channel: &Event) -> Option<(i64, i64)> {
    Some((channel.start["ptimer"].as_i64()?, channel.state(22)?["arg"].as_i64()?))
}

/// The same whether or not it can be believed.
fn stamped_time(recording: &Recording, event: &Event) -> Option<f64> {
    let stamps = recording.children(event, "KernelCh").filter_map(stamps).collect::<Vec<_>>();
    let start = stamps.iter().map(|&(start, _)| start).min()?;
    let stop = stamps.iter().map(|&(_, stop)| stop).max()?;
    Some((stop - start) as f64 / 1000.0)
}

/// For each context that has one, the place of the first start line whose work NCCL does not number: a send to oneself
/// that never gets a kernel channel, a collective call that never becomes a collective, or an operation that is
/// launched beside a CUDA graph of its communicator, whose replays NCCL numbers when they run.
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

/// Operations with stamps that cannot be believed.
pub(crate) fn out_of_step(recording: &Recording) -> usize {
    let uncounted = first_uncounted(recording);
    let operations = recording.events.iter().enumerate().filter(|(_, event)| event.is_operation());
    let stamped = operations.filter(|(_, event)| stamped_time(recording, event).is_some());
    stamped.filter(|(place, event)| uncounted.get(&event.ctx).is_some_and(|first| place >= first)).count()
}

/// Operations without a time of the GPU's.
pub(crate) fn untimed(recording: &Recording, sources: Sources) -> Result<usize, Box<dyn Error>> {
    Ok(timed(recording, sources)?.iter().filter(|operation| operation.gpu_us.is_none()).count())
}

/// Calls of the application that never become an operation, and that no events time. Before interface v5 NCCL reports
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

/// Operations of which something never ended.
pub(crate) fn unfinished(recording: &Recording) -> usize {
    let finished = |event: &Event| {
        let channels = recording.children(event, "KernelCh");
        let proxies = recording.children(event, "ProxyOp");
        let steps = recording.children(event, "ProxyOp").flat_map(|proxy| recording.children(proxy, "ProxyStep"));
        event.stop.is_some() && channels.chain(proxies).chain(steps).all(|child| child.stop.is_some())
    };
    recording.events.iter().filter(|event| event.is_operation() && !finished(event)).count()
}
