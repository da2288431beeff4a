//! The application's calls as regions on its threads, where that is asked for.

use std::collections::BTreeMap;

use super::captured::Process;
use super::lanes;
use crate::support::trace::{Location, Trace, What};

/// How much earlier than its call an operation may begin, microseconds: by so much the application's pace is uncertain.
const ROOM_US: f64 = 1000.0;

/// What is wrong with the regions of calls on a process' threads.
pub(crate) fn wrong(trace: &Trace, process: &Process, wanted: bool) -> Vec<String> {
    let mut found: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for thread in trace.threads().filter(|thread| thread.group == process.name) {
        for (func, time) in enters(thread) {
            found.entry(func).or_default().push(time);
        }
    }
    let counts: BTreeMap<&str, usize> = found.iter().map(|(&func, times)| (func, times.len())).collect();
    let calls = process.calls.iter().map(|(func, &count)| (func.as_str(), count));
    let calls: BTreeMap<&str, usize> = if wanted { calls.collect() } else { BTreeMap::new() };
    if counts != calls {
        return vec![format!("{}: {counts:?} instead of {calls:?}", process.name)];
    }
    let funcs = calls.keys().filter_map(|&func| too_early(trace, process, func, &found[func]));
    funcs.map(|what| format!("{}: {what}", process.name)).collect()
}

/// Regions of NCCL's functions that are entered, less their `nccl`.
fn enters(location: &Location) -> impl Iterator<Item = (&str, u64)> {
    location.events.iter().filter_map(|event| match &event.what {
        What::Enter(region) => Some((region.strip_prefix("nccl")?, event.time)),
        _ => None,
    })
}

/// A collective that begins on its lane before its call.
fn too_early(trace: &Trace, process: &Process, func: &str, calls: &[u64]) -> Option<String> {
    let mut begins: BTreeMap<(String, i64), Vec<u64>> = BTreeMap::new();
    for location in trace
        .locations
        .iter()
        .filter(|location| location.group == process.name && location.kind == "ACCELERATOR_STREAM")
    {
        let Some(key) = lanes::communicator(&location.name) else { continue };
        begins.entry(key).or_default().extend(enters(location).filter(|(name, _)| *name == func).map(|(_, time)| time));
    }
    begins.values_mut().for_each(|times| times.sort_unstable_by(|one, other| other.cmp(one)));
    // operations of a communicator run in the order of their calls
    let operations = process.operations.iter().filter(|operation| operation.kind == "Coll" && operation.func == func);
    for (operation, &call) in operations.zip(calls) {
        let begin = begins.get_mut(&(operation.comm.clone(), operation.rank)).and_then(Vec::pop);
        let early_us = begin.map_or(0.0, |begin| (call as f64 - begin as f64) / trace.ticks_per_second * 1e6);
        if early_us > ROOM_US {
            return Some(format!("{func} begins {early_us} us before its call at {call}"));
        }
    }
    None
}
