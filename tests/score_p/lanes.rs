//! What the lanes must show: every operation of the captures, with its bytes and the GPU's time.

use std::collections::BTreeMap;

use super::captured::Process;
use super::profile::Profile;
use crate::support::reference::operations::Operation;
use crate::support::trace::{Location, Trace, What};

/// The most lanes of rank pairs that a process has.
const MOST_PAIRS: usize = 8;

/// Score-P and the plugin each measure what a tick of the processor's clock is worth; so far apart are the two in a run
/// of a second.
const TICK_UNCERTAINTY: f64 = 20e-6;

/// What holds for a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// By how much an operation may be longer or shorter than on the GPU, microseconds.
    pub(crate) tolerance_us: f64,
    /// Whether there was memory for all lanes; without, what is shown must still be right.
    pub(crate) complete: bool,
}

/// Sources of a time that is the GPU's own.
const ON_GPU: [&str; 2] = ["stamps", "events"];
/// Behind the names of the others' regions.
const NOT_ON_GPU: &str = " (not GPU-timed)";

/// An operation as a lane shows it.
#[derive(Debug)]
struct Shown {
    func: String,
    sequence: Option<i64>,
    algorithm: Option<String>,
    protocol: Option<String>,
    timing: String,
    bytes: i64,
    busbw: Option<u64>,
    length_us: f64,
}

/// What two operations must have in common to be the same: function, bytes, sequence number, algorithm, protocol. Sends
/// and receives have none of the last three.
type Likeness<'a> = (&'a str, i64, Option<i64>, Option<&'a str>, Option<&'a str>);

/// The communicator and rank of a lane's name: `NCCL <id> rank <R>`, for further lanes of it ` (2)` and so on.
pub(crate) fn communicator(name: &str) -> Option<(String, i64)> {
    let (comm, rest) = name.strip_prefix("NCCL ")?.split_once(" rank ")?;
    let (rank, number) = rest.split_once(' ').map_or((rest, None), |(rank, number)| (rank, Some(number)));
    let is_number =
        |number: &str| number.strip_prefix('(')?.strip_suffix(')')?.parse().ok().filter(|&number: &u32| number >= 2);
    if number.is_some_and(|number| is_number(number).is_none()) {
        return None;
    }
    Some((id(comm)?, rank.parse().ok()?))
}

/// Sender and receiver of a pair's lane: `NCCL <id> <R> to <P>`.
fn pair(name: &str) -> Option<(String, i64, i64)> {
    let (comm, rest) = name.strip_prefix("NCCL ")?.split_once(' ')?;
    let (rank, peer) = rest.split_once(" to ")?;
    Some((id(comm)?, rank.parse().ok()?, peer.parse().ok()?))
}

fn id(text: &str) -> Option<String> {
    (text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit())).then(|| text.to_owned())
}

fn of_process<'a>(trace: &'a Trace, process: &'a str) -> impl Iterator<Item = &'a Location> {
    trace.locations.iter().filter(move |location| {
        location.group == process && location.kind == "ACCELERATOR_STREAM" && location.name != "NCCL (unused)"
    })
}

/// Seconds that all operations of a trace take.
pub(crate) fn seconds(trace: &Trace) -> f64 {
    let lanes = trace.locations.iter().filter(|location| communicator(&location.name).is_some());
    let times = lanes.flat_map(|lane| &lane.events).map(|event| match event.what {
        What::Enter(_) => -(event.time as f64),
        What::Leave(_) => event.time as f64,
        _ => 0.0,
    });
    times.sum::<f64>() / trace.ticks_per_second
}

/// What is wrong with the lanes of communicators; `gpu_timed` are the operations that the run's own summary calls so.
pub(crate) fn wrong(
    trace: &Trace,
    process: &Process,
    gpu_timed: &BTreeMap<(String, i64), usize>,
    rules: Rules,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut shown: BTreeMap<(String, i64), Vec<Shown>> = BTreeMap::new();
    for location in of_process(trace, &process.name) {
        if let Some(key) = communicator(&location.name) {
            shown.entry(key).or_default().extend(operations(location, trace.ticks_per_second, &mut wrong));
        } else if pair(&location.name).is_none() {
            wrong.push(format!("{}: whose lane is that?", location.label()));
        }
    }
    let mut expected: BTreeMap<(String, i64), Vec<&Operation>> = BTreeMap::new();
    for operation in &process.operations {
        expected.entry((operation.comm.clone(), operation.rank)).or_default().push(operation);
    }
    wrong.extend(
        shown
            .keys()
            .filter(|key| !expected.contains_key(key))
            .map(|key| format!("{key:?} has lanes but no operations")),
    );
    for (key, expected) in &expected {
        let shown = shown.remove(key).unwrap_or_default();
        let by_gpu = shown.iter().filter(|shown| ON_GPU.contains(&shown.timing.as_str())).count();
        let told = gpu_timed.get(key).copied().unwrap_or(0);
        if by_gpu > told || (rules.complete && by_gpu < told) {
            wrong.push(format!("{key:?}: {by_gpu} operations at the GPU's time, {told} by the summary"));
        }
        let ranks = process.ranks.get(&key.0).copied().unwrap_or(0);
        wrong.extend(
            differences(expected, &shown, ranks, rules)
                .into_iter()
                .map(|what| format!("{} {key:?}: {what}", process.name)),
        );
    }
    wrong
}

/// The operations of a lane: a region each, its bytes inside, its bandwidth from its begin to its end.
fn operations(location: &Location, ticks_per_second: f64, wrong: &mut Vec<String>) -> Vec<Shown> {
    let mut operations: Vec<Shown> = Vec::new();
    let mut busbw: Option<(u64, u64)> = None;
    let mut open: Option<(u64, Shown)> = None;
    for event in &location.events {
        let mut no = |what: &str| wrong.push(format!("{} at {}: {what}", location.label(), event.time));
        match &event.what {
            What::Enter(region) => {
                let attribute = |name: &str| event.attributes.get(name).filter(|value| !value.is_empty()).cloned();
                let timing = attribute("nccl_timing").unwrap_or_default();
                let [algorithm, protocol] = ["nccl_algorithm", "nccl_protocol"].map(attribute);
                if open.is_some() || !["stamps", "events", "proxy", "enqueue"].contains(&timing.as_str()) {
                    no(&format!("{region} inside another, or timed by {timing:?}"));
                }
                if busbw.is_some_and(|(since, _)| since != event.time) {
                    no("a bandwidth that does not begin with its operation");
                }
                let on_gpu = ON_GPU.contains(&timing.as_str());
                if region.ends_with(NOT_ON_GPU) == on_gpu {
                    no(&format!("{region} is timed by {timing:?}"));
                }
                let func = region.strip_prefix("nccl").unwrap_or("?").trim_end_matches(NOT_ON_GPU).to_owned();
                let sequence = attribute("nccl_sequence").and_then(|number| number.parse().ok());
                let busbw = busbw.map(|(_, value)| value);
                let shown = Shown { func, sequence, algorithm, protocol, timing, bytes: -1, busbw, length_us: 0.0 };
                open = Some((event.time, shown));
            }
            What::Metric(values) => {
                match (values.get("nccl_op_bytes"), values.get("nccl_op_effective_busbw"), &mut open) {
                    (Some(&bytes), None, Some((_, shown))) if shown.bytes == -1 => shown.bytes = bytes as i64,
                    (None, Some(0), None) if busbw.take().is_some() => {
                        let left = location
                            .events
                            .iter()
                            .rev()
                            .find(|left| left.time <= event.time && matches!(left.what, What::Leave(_)));
                        if left.is_none_or(|left| left.time != event.time) {
                            no("a bandwidth that does not end with its operation");
                        }
                    }
                    (None, Some(&value), None) if value > 0 && busbw.is_none() => busbw = Some((event.time, value)),
                    _ => no(&format!("{values:?}")),
                }
            }
            What::Leave(_) => {
                let Some((begin, mut shown)) = open.take() else { continue };
                shown.length_us = event.time.saturating_sub(begin) as f64 / ticks_per_second * 1e6;
                if shown.bytes == -1 {
                    no("an operation without bytes");
                }
                operations.push(shown);
            }
            What::Other(other) => no(other),
        }
    }
    if busbw.is_some() {
        wrong.push(format!("{}: a bandwidth that never ends", location.label()));
    }
    operations
}

fn differences(expected: &[&Operation], shown: &[Shown], ranks: i64, rules: Rules) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut likes: BTreeMap<Likeness<'_>, (Vec<&Operation>, Vec<&Shown>)> = BTreeMap::new();
    for operation in expected {
        let Operation { func, bytes, sequence, algorithm, protocol, .. } = operation;
        let likeness = (func.as_str(), *bytes, *sequence, algorithm.as_deref(), protocol.as_deref());
        likes.entry(likeness).or_default().0.push(operation);
    }
    for shown in shown {
        let is_collective = expected.iter().any(|operation| operation.func == shown.func && operation.kind == "Coll");
        let rest = (shown.sequence, shown.algorithm.as_deref(), shown.protocol.as_deref());
        let (sequence, algorithm, protocol) = if is_collective { rest } else { (None, None, None) };
        likes.entry((&shown.func, shown.bytes, sequence, algorithm, protocol)).or_default().1.push(shown);
    }
    for (likeness, (expected, shown)) in likes {
        if shown.len() > expected.len() || (rules.complete && shown.len() < expected.len()) {
            wrong.push(format!("{likeness:?} is shown {} times instead of {}", shown.len(), expected.len()));
        }
        let mut by_gpu: Vec<&Shown> =
            shown.iter().copied().filter(|shown| ON_GPU.contains(&shown.timing.as_str())).collect();
        by_gpu.sort_by(|one, other| one.length_us.total_cmp(&other.length_us));
        let mut times: Vec<f64> = expected.iter().filter_map(|operation| operation.gpu_us).collect();
        times.sort_by(f64::total_cmp);
        wrong.extend(unmatched(&likeness, &by_gpu, &times, ranks, rules));
    }
    wrong
}

/// Operations at the GPU's time whose length or bandwidth none of the GPU's times explains; both in the order of
/// length.
fn unmatched(likeness: &Likeness<'_>, by_gpu: &[&Shown], times: &[f64], ranks: i64, rules: Rules) -> Option<String> {
    let mut times = times.iter().copied();
    for shown in by_gpu {
        let tolerance = |time: f64| rules.tolerance_us + time * TICK_UNCERTAINTY;
        let Some(time) = times.find(|&time| shown.length_us - time <= tolerance(time)) else {
            return Some(format!("{likeness:?}: shown for {} us, longer than any on the GPU", shown.length_us));
        };
        if time - shown.length_us > tolerance(time) {
            return Some(format!("{likeness:?}: shown for {} us instead of {time} us", shown.length_us));
        }
        // the one whose factor nobody disputes
        if shown.func == "AllReduce" && ranks > 1 && shown.bytes > 0 && time > 0.0 {
            let busbw = shown.bytes as f64 / (time * 1e-6) * 2.0 * (ranks - 1) as f64 / ranks as f64;
            let error = 0.001 + rules.tolerance_us / time;
            if shown.busbw.is_none_or(|found| (found as f64 / busbw - 1.0).abs() > error) {
                return Some(format!("{likeness:?}: {:?} B/s instead of {busbw}", shown.busbw));
            }
        }
    }
    None
}

/// What is wrong with the lanes of pairs; `transfers` are the bytes from rank to peer, as a replay tells them.
pub(crate) fn wrong_pairs(
    trace: &Trace,
    process: &Process,
    transfers: &BTreeMap<(String, i64, i64), u64>,
    rules: Rules,
) -> Vec<String> {
    let is_own = |(comm, rank, _): &&(String, i64, i64)| {
        process.operations.iter().any(|own| own.comm == *comm && own.rank == *rank)
    };
    let mut wanted: BTreeMap<_, u64> =
        transfers.keys().filter(is_own).map(|key| (key.clone(), transfers[key])).collect();
    let most = wanted.len().min(MOST_PAIRS);
    let mut wrong = Vec::new();
    let mut shown: Vec<u64> = Vec::new();
    for location in of_process(trace, &process.name) {
        let Some(key) = pair(&location.name) else { continue };
        let (mut inside, mut bytes) = (false, 0);
        for event in &location.events {
            match &event.what {
                What::Enter(region) => inside = region == "NCCL transfers",
                What::Leave(_) => inside = false,
                What::Metric(values) if inside => bytes += values.get("nccl_pair_bytes").copied().unwrap_or(0),
                _ => {}
            }
        }
        let told = wanted.remove(&key);
        if told != Some(bytes) {
            wrong.push(format!("{}: {bytes} B instead of {told:?}", location.label()));
        }
        shown.push(bytes);
    }
    if shown.len() > most || (rules.complete && shown.len() < most) {
        wrong.push(format!("{}: {} pairs are shown instead of {most}; not {wanted:?}", process.name, shown.len()));
    }
    let busier = wanted.values().max() > shown.iter().min();
    if !shown.is_empty() && busier {
        wrong.push(format!("{}: pairs are shown that are less busy than {wanted:?}", process.name));
    }
    wrong
}

/// Counters of the bytes sent and received.
const MOVED: [&str; 2] = ["nccl_bytes_sent", "nccl_bytes_received"];

/// The bytes that an operation sends and receives, as MPI's adapter counts them.
fn moved(operation: &Operation, ranks: i64) -> [i64; 2] {
    let bytes = operation.bytes;
    let (all, is_root) = (bytes * ranks, operation.root == Some(operation.rank));
    match operation.func.as_str() {
        "Send" => [bytes, 0],
        "Recv" => [0, bytes],
        "Broadcast" | "Scatter" => [if is_root { all } else { 0 }, bytes],
        "Reduce" | "Gather" => [bytes, if is_root { all } else { 0 }],
        _ => [all, all],
    }
}

/// What is wrong with the lanes in a profile: visits, bytes and time of each function; without a trace, bytes sent and
/// received, too.
pub(crate) fn wrong_in_profile(profile: &Profile, process: &Process, rules: Rules, has_trace: bool) -> Vec<String> {
    let mut expected: BTreeMap<&str, Vec<&Operation>> = BTreeMap::new();
    for operation in &process.operations {
        expected.entry(&operation.func).or_default().push(operation);
    }
    let mut wrong = Vec::new();
    for (func, operations) in expected {
        let of = |region: &str, metric| {
            profile.lanes(&process.name).map(|(lane, _)| profile.value(region, lane, metric)).sum::<f64>()
        };
        let regions = [format!("nccl{func}"), format!("nccl{func}{NOT_ON_GPU}")];
        let sum = |metric| regions.iter().map(|region| of(region, metric)).sum::<f64>();
        let [visits, bytes, time_us] = [sum("visits"), sum("nccl_op_bytes"), of(&regions[0], "time") * 1e6];
        let count = operations.len() as f64;
        let all_bytes = operations.iter().map(|operation| operation.bytes).sum::<i64>() as f64;
        let too_many = visits > count || bytes > all_bytes;
        if too_many || (rules.complete && (visits, bytes) != (count, all_bytes)) {
            wrong.push(format!(
                "{}: {func} has {visits} visits, {bytes} B instead of {count}, {all_bytes}",
                process.name
            ));
        }
        let moved = operations.iter().map(|operation| moved(operation, process.ranks[&operation.comm]));
        let moved = moved.fold([0, 0], |sum, moved| [sum[0] + moved[0], sum[1] + moved[1]]);
        for (counter, expected) in MOVED.into_iter().zip(moved.map(|bytes| bytes as f64)) {
            let found = sum(counter);
            // cube_dump prints six digits
            let is_right = (found - expected).abs() <= expected * 1e-5;
            if !has_trace && !is_right && (rules.complete || found > expected) {
                wrong.push(format!("{}: {func} has {counter} {found} instead of {expected}", process.name));
            }
        }
        // cube_dump prints six digits
        let room = count * rules.tolerance_us + time_us * 1e-4;
        let on_gpu = operations.iter().filter_map(|operation| operation.gpu_us).fold(0.0, |sum, time| sum + time);
        if rules.complete && (time_us - on_gpu).abs() > room {
            wrong.push(format!("{}: {func} has {time_us} us instead of {on_gpu}", process.name));
        }
    }
    wrong
}
