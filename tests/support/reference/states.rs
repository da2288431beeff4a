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
    /// Times in the queue, waits for the GPU, waits for the receiver, times on the network, flushes; a direction lacks
    /// one of them.
    pub(crate) times_us: [Option<f64>; 5],
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

/// Bytes of a transfer and its time in the queue and in each of its three states, nanoseconds.
type TimedTransfer = (i64, [i64; 4]);

/// Bytes of a step, the times at which it entered its three states, and its stop.
type EnteredStates = (i64, [i64; 4]);

/// Returns the rows of all processes, sorted by key.
pub(crate) fn rows(recordings: &[&Recording]) -> Result<Vec<StateRow>, Box<dyn Error>> {
    let mut groups: BTreeMap<PairKey, Vec<TimedTransfer>> = BTreeMap::new();
    for recording in recordings {
        for op in recording.events.iter().filter(|event| event.kind == "ProxyOp") {
            if int(&op.start, "pid")? != recording.pid {
                continue;
            }
            let sends = int(&op.start, "send")? != 0;
            let timed = in_queue(recording, op, sends)?;
            if timed.is_empty() {
                continue;
            }
            let context = recording.context(op)?;
            let direction = if sends { "send" } else { "receive" };
            let key = (context.comm.clone(), context.rank, int(&op.start, "peer")?, direction);
            groups.entry(key).or_default().extend(timed);
        }
    }
    let row = |((comm, rank, peer, direction), steps): (PairKey, Vec<TimedTransfer>)| {
        let [queued, first, second, third] =
            [0, 1, 2, 3].map(|state| Some(steps.iter().map(|(_, times)| times[state]).sum::<i64>() as f64 / 1000.0));
        let times_us = match direction {
            "send" => [queued, first, second, third, None],
            _ => [queued, third, None, first, second],
        };
        let bytes = steps.iter().map(|(bytes, _)| bytes).sum();
        StateRow { comm, rank, peer, direction, transfers: steps.len(), bytes, times_us }
    };
    Ok(groups.into_iter().map(row).collect())
}

/// Returns the steps of a proxy operation of which all states and those of the step before are known. A step is queued
/// from its post until the step before went to the network, or had its data.
fn in_queue(recording: &Recording, op: &Event, sends: bool) -> Result<Vec<TimedTransfer>, Box<dyn Error>> {
    let mut by_number = BTreeMap::new();
    for step in recording.children(op, "ProxyStep") {
        if let Some(entered) = entered(step, sends)? {
            by_number.insert(int(&step.start, "step")?, entered);
        }
    }
    let before =
        |number: i64| by_number.get(&(number - 1)).map(|(_, [_, two, three, _])| if sends { *three } else { *two });
    let timed = by_number.iter().filter_map(|(&number, &(bytes, [one, two, three, stop]))| {
        let head = if number == 0 { one } else { before(number)?.max(one) };
        (head <= two).then_some((bytes, [head - one, two - head, three - two, stop - three]))
    });
    Ok(timed.collect())
}

/// Returns a step that has stopped and had all of its states in their order.
fn entered(step: &Event, sends: bool) -> Result<Option<EnteredStates>, Box<dyn Error>> {
    let last = |number: i64| step.states.iter().rfind(|line| line["state"] == number);
    // NCCL reports the wait for the receiver at each poll
    let first = |number: i64| step.states.iter().find(|line| line["state"] == number);
    let states = if sends { [last(8), first(20), last(9)] } else { [last(10), last(11), last(12)] };
    let with_size = if sends { step.state(9) } else { step.state(11) };
    let ([Some(one), Some(two), Some(three)], Some(sized), Some(stop)) = (states, with_size, step.stop) else {
        return Ok(None);
    };
    let times = [int(one, "t")?, int(two, "t")?, int(three, "t")?, stop];
    let bytes = int(sized, "arg")?;
    Ok(times.is_sorted().then_some((bytes, times)))
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
