//! Tables about transfers over the network: their times by state, and those of operations.

use super::super::Chapter;
use super::super::names::ReportNames;
use super::super::sheet::ReportTable;
use super::super::units::{UNKNOWN, bytes, count, number, part_of, share, sizes, time};
use crate::answer::{NetworkTransfers, OperationSends, PairStates};

/// Names the ranks of a pair, the sender first.
pub(in crate::output) fn pair_of_states(pair: &PairStates, names: &ReportNames<'_>) -> String {
    let name = |gpu: Option<usize>, rank: i32| gpu.map_or_else(|| format!("rank {rank}"), |gpu| names.gpu(gpu));
    format!("{} to {}", name(pair.from, pair.rank), name(pair.to, pair.peer))
}

/// Returns a part of three as a share of their sum.
fn share_of(times: Option<[f64; 3]>, part: usize) -> Option<f64> {
    let times = times?;
    let whole: f64 = times.iter().sum();
    times.get(part).filter(|_| whole > 0.0).map(|us| part_of(*us, whole))
}

/// The times by state: the pairs that took most time first.
pub(in crate::output) fn states<'a>(
    transfers: &'a NetworkTransfers,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, &'a PairStates> {
    let us = |times: Option<[f64; 3]>, part: usize| times.and_then(|times| times.get(part).copied());
    let part = |value: Option<f64>| value.map_or_else(|| UNKNOWN.into(), share);
    ReportTable::new(Chapter::States.name(), &transfers.states)
        .names("pair", |row| pair_of_states(row, names))
        .column("communicator", "communicator", |row| row.comm.as_str(), |comm| names.communicator(comm))
        .value("rank", |row| i64::from(row.rank))
        .value("peer", |row| i64::from(row.peer))
        .value("from_gpu", |row| names.known(row.from?))
        .value("to_gpu", |row| names.known(row.to?))
        .column("sent", "sent", |row| row.sent, count)
        .column_by_row(
            "send: GPU",
            "send_gpu_us",
            move |row| us(row.send_us, 0),
            move |_, row| part(share_of(row.send_us, 0)),
        )
        .column_by_row(
            "send: peer",
            "send_peer_us",
            move |row| us(row.send_us, 1),
            move |_, row| part(share_of(row.send_us, 1)),
        )
        .column_by_row(
            "send: network",
            "send_network_us",
            move |row| us(row.send_us, 2),
            move |_, row| part(share_of(row.send_us, 2)),
        )
        .column("received", "received", |row| row.received, count)
        .column_by_row(
            "receive: network",
            "receive_network_us",
            move |row| us(row.receive_us, 0),
            move |_, row| part(share_of(row.receive_us, 0)),
        )
        .column_by_row(
            "receive: flush",
            "receive_flush_us",
            move |row| us(row.receive_us, 1),
            move |_, row| part(share_of(row.receive_us, 1)),
        )
        .column_by_row(
            "receive: GPU",
            "receive_gpu_us",
            move |row| us(row.receive_us, 2),
            move |_, row| part(share_of(row.receive_us, 2)),
        )
        .in_order(|a, b| b.whole_us().total_cmp(&a.whole_us()))
        .without(["received", "sent", "receive: flush", "communicator"])
}

/// The transfers of operations: those with most bytes first.
pub(in crate::output) fn transfers<'a>(
    transfers: &'a NetworkTransfers,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, &'a OperationSends> {
    let each = |row: &OperationSends| (row.operations > 0).then(|| row.transfers as f64 / row.operations as f64);
    let size = |row: &OperationSends| (row.transfers > 0).then(|| row.bytes as f64 / row.transfers as f64);
    let mean = |row: &OperationSends| (row.transfers > 0).then(|| row.time_us / row.transfers as f64);
    ReportTable::new(Chapter::Transfers.name(), &transfers.operations)
        .column("function", "function", |row| row.function.as_str(), str::to_owned)
        .column("communicator", "communicator", |row| row.comm.as_str(), |comm| names.communicator(comm))
        .column_by_row("bytes", "from_bytes", |row| row.from_bytes, |from, row| sizes(from, row.to_bytes))
        .value("to_bytes", |row| row.to_bytes)
        .column("operations", "operations", |row| row.operations, count)
        .value("transfers", |row| row.transfers)
        .value("transfer_bytes", |row| row.bytes)
        .value("transfer_us", |row| row.time_us)
        .column("transfers each", "transfers_each", move |row| each(row), number)
        .column("mean size", "mean_bytes", move |row| size(row), bytes)
        .column("mean time", "mean_us", move |row| mean(row), time)
        .in_order(|a, b| b.bytes.cmp(&a.bytes))
        .without(["operations", "communicator", "mean size"])
}
