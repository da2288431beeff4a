//! Times of network transfers by state, and the transfers of operations, straight from the callbacks.

use std::collections::BTreeMap;
use std::error::Error;

use super::json::{Event, Recording, int};
use super::operations;

/// All transfers that a rank of a communicator saw in one direction with another rank.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StateRow {
    pub(crate) comm: String,
    pub(crate) rank: i64,
    pub(crate) peer: i64,
    pub(crate) direction: &'static str,
    pub(crate) transfers: usize,
    pub(crate) bytes: i64,
    /// Waits for the GPU, waits for the receiver, times on the network, flushes; a direction lacks one of them.
    pub(crate) times_us: [Option<f64>; 4],
}

/// The transfers that a rank's operations of one function and range of sizes have sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OperationTransfersRow {
    pub(crate) operations: usize,
    pub(crate) transfers: usize,
    pub(crate) bytes: i64,
    pub(crate) time_us: f64,
}

/// Communicator, rank, kind, function, lower bound of the operations' bytes.
pub(crate) type SizeKey = (String, i64, String, String, i64);

/// Communicator, rank, other rank, direction.
type PairKey = (String, i64, i64, &'static str);

/// Bytes of a transfer and its time in each of its three states, nanoseconds.
type TimedTransfer = (i64, [i64; 3]);

/// Returns the rows of all processes, sorted by key.
pub(crate) fn rows(recordings: &[&Recording]) -> Result<Vec<StateRow>, Box<dyn Error>> {
    let mut groups: BTreeMap<PairKey, Vec<TimedTransfer>> = BTreeMap::new();
    for recording in recordings {
        for step in recording.events.iter().filter(|event| event.kind == "ProxyStep") {
            let Some(op) = proxy_of(recording, step)? else { continue };
            let sends = int(&op.start, "send")? != 0;
            let Some((bytes, times)) = times(step, sends)? else { continue };
            let context = recording.context(op)?;
            let direction = if sends { "send" } else { "receive" };
            let key = (context.comm.clone(), context.rank, int(&op.start, "peer")?, direction);
            groups.entry(key).or_default().push((bytes, times));
        }
    }
    let row = |((comm, rank, peer, direction), steps): (PairKey, Vec<TimedTransfer>)| {
        let [first, second, third] =
            [0, 1, 2].map(|state| Some(steps.iter().map(|(_, times)| times[state]).sum::<i64>() as f64 / 1000.0));
        let times_us = if direction == "send" { [first, second, third, None] } else { [third, None, first, second] };
        let bytes = steps.iter().map(|(bytes, _)| bytes).sum();
        StateRow { comm, rank, peer, direction, transfers: steps.len(), bytes, times_us }
    };
    Ok(groups.into_iter().map(row).collect())
}

/// Returns the proxy operation of a step, if it is of this process.
fn proxy_of<'a>(recording: &'a Recording, step: &Event) -> Result<Option<&'a Event>, Box<dyn Error>> {
    let Some(op) = step.parent.map(|parent| &recording.events[parent]).filter(|op| op.kind == "ProxyOp") else {
        return Ok(None);
    };
    Ok((int(&op.start, "pid")? == recording.pid).then_some(op))
}

/// Returns the bytes of a step that has stopped and had all of its states, and the time from each state to the next.
fn times(step: &Event, sends: bool) -> Result<Option<TimedTransfer>, Box<dyn Error>> {
    let last = |number: i64| step.states.iter().rfind(|line| line["state"] == number);
    // NCCL reports the wait for the receiver at each poll
    let first = |number: i64| step.states.iter().find(|line| line["state"] == number);
    let states = if sends { [last(8), first(20), last(9)] } else { [last(10), last(11), last(12)] };
    let with_size = if sends { step.state(9) } else { step.state(11) };
    let ([Some(one), Some(two), Some(three)], Some(sized), Some(stop)) = (states, with_size, step.stop) else {
        return Ok(None);
    };
    let [one, two, three] = [int(one, "t")?, int(two, "t")?, int(three, "t")?];
    Ok(Some((int(sized, "arg")?, [two - one, three - two, stop - three])))
}

/// Returns the transfers of the operations of all processes, by key.
pub(crate) fn of_operations(
    recordings: &[&Recording],
) -> Result<BTreeMap<SizeKey, OperationTransfersRow>, Box<dyn Error>> {
    let mut rows: BTreeMap<SizeKey, OperationTransfersRow> = BTreeMap::new();
    for recording in recordings {
        for event in recording.events.iter().filter(|event| event.is_operation()) {
            let mut found = OperationTransfersRow { operations: 1, ..OperationTransfersRow::default() };
            for op in recording.children(event, "ProxyOp") {
                if int(&op.start, "send")? == 0 || int(&op.start, "pid")? != recording.pid {
                    continue;
                }
                for step in recording.children(op, "ProxyStep") {
                    let (Some(wait), Some(stop)) = (step.state(9), step.stop) else { continue };
                    found.transfers += 1;
                    found.bytes += int(wait, "arg")?;
                    found.time_us += (stop - int(wait, "t")?) as f64 / 1000.0;
                }
            }
            if found.transfers == 0 {
                continue;
            }
            let context = recording.context(event)?;
            let kind = if event.kind == "P2p" { "P2p" } else { "Coll" };
            let mut from = 1;
            while 2 * from <= operations::bytes(event)? {
                from *= 2;
            }
            let func = event.start["func"].as_str().unwrap_or_default();
            let row = rows.entry((context.comm.clone(), context.rank, kind.into(), func.into(), from)).or_default();
            row.operations += 1;
            row.transfers += found.transfers;
            row.bytes += found.bytes;
            row.time_us += found.time_us;
        }
    }
    Ok(rows)
}
