//! Tables about transfers over the network: their times by state, and those of operations.

use super::super::Chapter;
use super::super::names::ReportNames;
use super::super::sentences::sender_and_receiver;
use super::super::sheet::ReportTable;
use super::super::units::{UNKNOWN, bytes, count, number, part_of, share, sizes, time};
use report::answer::{NetworkTransfers, OperationSends, PairStates};

/// The times of a pair's side, in the order of its states.
type SideTimes = fn(&PairStates) -> Option<[f64; 4]>;

/// Adds a column for each state of a side, for programs its sum. For people it is the mean time in the queue, and of
/// the time beyond it the share of each state.
fn with_states<'a>(
    table: ReportTable<'a, &'a PairStates>,
    times: SideTimes,
    count: fn(&PairStates) -> u64,
    columns: [(&'static str, &'static str); 4],
) -> ReportTable<'a, &'a PairStates> {
    let add = |table: ReportTable<'a, &'a PairStates>, (state, (heading, name)): (usize, _)| {
        let us = move |row: &PairStates| times(row).and_then(|times| times.get(state).copied());
        let of_whole = move |us: f64, row: &PairStates| {
            if state == 0 {
                return if count(row) > 0 { time(us / count(row) as f64) } else { UNKNOWN.into() };
            }
            let whole: f64 = times(row).iter().flat_map(|[_, times @ ..]| times).sum();
            if whole > 0.0 { share(part_of(us, whole)) } else { UNKNOWN.into() }
        };
        table.column_by_row(heading, name, us, of_whole)
    };
    columns.into_iter().enumerate().fold(table, add)
}

/// The times by state: the pairs that took most time first.
pub(crate) fn states<'a>(
    transfers: &'a NetworkTransfers,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, &'a PairStates> {
    let table = ReportTable::new(Chapter::States.name(), &transfers.states)
        .names("pair", |row| sender_and_receiver(row, names))
        .column("communicator", "communicator", |row| row.comm.as_str(), |comm| names.communicator(comm))
        .value("rank", |row| i64::from(row.rank))
        .value("peer", |row| i64::from(row.peer))
        .value("from_gpu", |row| names.known(row.from?))
        .value("to_gpu", |row| names.known(row.to?))
        .column("sent", "sent", |row| row.send_us.map(|_| row.sent), count);
    let of_send = [
        ("send: queued", "send_queued_us"),
        ("send: GPU", "send_gpu_us"),
        ("send: peer", "send_peer_us"),
        ("send: network", "send_network_us"),
    ];
    let of_receive = [
        ("receive: queued", "receive_queued_us"),
        ("receive: network", "receive_network_us"),
        ("receive: flush", "receive_flush_us"),
        ("receive: GPU", "receive_gpu_us"),
    ];
    let table = with_states(table, |row| row.send_us, |row| row.sent, of_send);
    let table = table.column("received", "received", |row| row.receive_us.map(|_| row.received), count);
    with_states(table, |row| row.receive_us, |row| row.received, of_receive)
        .in_order(|a, b| b.whole_us().total_cmp(&a.whole_us()))
        .without(["received", "sent", "receive: flush", "receive: queued", "send: queued", "communicator"])
}

/// The transfers of operations: those with most bytes first.
pub(crate) fn transfers<'a>(
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
        .column("transfers each", "transfers_each", each, number)
        .column("mean size", "mean_bytes", size, bytes)
        .column("mean time", "mean_us", mean, time)
        .in_order(|a, b| b.bytes.cmp(&a.bytes))
        .without(["operations", "communicator", "mean size"])
}
