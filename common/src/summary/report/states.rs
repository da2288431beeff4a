//! The tables of transfers by state, and of the transfers of operations.

use super::figure::{bytes, count, number};
use super::table::{TextColumn, TextTable, View, others};
use crate::summary::{OperationTransfers, Summary, TransferStates};
use std::collections::BTreeMap;

impl TransferStates {
    /// Returns the sum over all states without the queue, microseconds.
    pub fn whole_us(&self) -> f64 {
        self.gpu_us + self.peer_us.unwrap_or_default() + self.network_us + self.flush_us.unwrap_or_default()
    }
}

/// Writes both tables. Empty where NCCL reported no states.
pub(super) fn tables(summary: &Summary, view: &View) -> String {
    by_state(summary, view) + &of_operations(summary, view)
}

const COLUMNS: [TextColumn<TransferStates>; 10] = [
    ("communicator", |row| row.comm.clone()),
    ("ranks", |row| {
        let [from, to] = if row.direction == "send" { [row.rank, row.peer] } else { [row.peer, row.rank] };
        format!("{from} > {to}")
    }),
    ("rank", |row| row.rank.to_string()),
    ("transfers", |row| count(row.transfers)),
    ("queued us", |row| mean(row, row.queued_us)),
    ("mean us", |row| mean(row, row.whole_us())),
    ("GPU wait %", |row| percent(row, Some(row.gpu_us))),
    ("peer wait %", |row| percent(row, row.peer_us)),
    ("network %", |row| percent(row, Some(row.network_us))),
    ("flush %", |row| percent(row, row.flush_us)),
];

fn mean(row: &TransferStates, us: f64) -> String {
    number((row.transfers > 0).then(|| us / row.transfers as f64), 1)
}

fn percent(row: &TransferStates, part: Option<f64>) -> String {
    let whole = row.whole_us();
    number(part.filter(|_| whole > 0.0).map(|us| 100.0 * us / whole), 1)
}

fn by_state(summary: &Summary, view: &View) -> String {
    if summary.states.is_empty() {
        return String::new();
    }
    let droppable = ["flush %", "transfers", "queued us", "mean us"];
    let mut rows: Vec<&TransferStates> = summary.states.iter().collect();
    if rows.len() > view.rows {
        rows.sort_by(|one, other| other.whole_us().total_cmp(&one.whole_us()));
    }
    let table = TextTable::by(&COLUMNS, 2, &droppable, rows.iter().copied().take(view.rows)).by_communicator(summary);
    let head = "\nTransfers by state, as the sender and the receiver see them: shares of the mean time\n";
    let mut text = head.to_owned() + &table.shown(view.width);
    text += &others(rows.len(), view, " that took less time");
    text + "rank: the one that sees them. queued: mean wait behind earlier transfers, outside the mean time\n\
            GPU wait: for its GPU. peer wait: the sender's, until the receiver has room\n\
            network: of a receive, with the wait for the sender\n"
}

fn of_operations(summary: &Summary, view: &View) -> String {
    let mut sums: BTreeMap<(&str, u64), [f64; 4]> = BTreeMap::new();
    for OperationTransfers { func, from_bytes, operations, transfers, bytes, time_us, .. } in
        &summary.operation_transfers
    {
        let sum = sums.entry((func, *from_bytes)).or_default();
        let added = [*operations as f64, *transfers as f64, *bytes as f64, *time_us];
        sum.iter_mut().zip(added).for_each(|(sum, by)| *sum += by);
    }
    if sums.is_empty() {
        return String::new();
    }
    let header = ["function", "from", "operations", "transfers each", "mean size", "mean us"];
    let mut table = TextTable::new(&header, 1, &["operations", "mean size"]);
    let mut rows: Vec<_> = sums.into_iter().collect();
    if rows.len() > view.rows {
        rows.sort_by(|(_, one), (_, other)| other[2].total_cmp(&one[2]));
    }
    for ((function, from), [operations, transfers, size, time_us]) in rows.iter().take(view.rows) {
        table.add_row([
            (*function).to_owned(),
            bytes(*from),
            count(*operations as u64),
            number(Some(transfers / operations), 1),
            bytes((size / transfers) as u64),
            number(Some(time_us / transfers), 1),
        ]);
    }
    let mut text =
        format!("\nTransfers of an operation that sends over the network, by size\n{}", table.shown(view.width));
    text += &others(rows.len(), view, " with fewer bytes");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(direction: &str, peer: i32, [gpu_us, network_us]: [f64; 2], other: f64) -> TransferStates {
        let is_send = direction == "send";
        TransferStates {
            comm: "00000000000000ab".into(),
            rank: 3,
            peer,
            direction: direction.into(),
            transfers: 4,
            bytes: 1 << 20,
            queued_us: 600.0,
            gpu_us,
            peer_us: is_send.then_some(other),
            network_us,
            flush_us: (!is_send).then_some(other),
        }
    }

    fn cells(text: &str, word: &str) -> Vec<String> {
        let line = text.lines().find(|line| line.contains(word)).unwrap();
        line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()[2..11].to_vec()
    }

    #[test]
    fn shares_are_those_of_all_states_and_the_sender_is_first() {
        let states = vec![row("send", 7, [70.0, 5.0], 25.0), row("receive", 7, [1.0, 2.0], 1.0)];
        let text = tables(&Summary { states, ..Summary::merge(vec![]) }, &View::default());
        assert_eq!(cells(&text, "3 > 7"), ["3 > 7", "3", "4", "150.0", "25.0", "70.0", "25.0", "5.0", "-"], "{text}");
        assert_eq!(cells(&text, "7 > 3"), ["7 > 3", "3", "4", "150.0", "1.0", "25.0", "-", "50.0", "25.0"], "{text}");
    }

    #[test]
    fn those_that_took_most_time_stay() {
        let states = (0..30).map(|peer| row("send", peer, [f64::from(peer), 0.0], 0.0)).collect();
        let text = tables(&Summary { states, ..Summary::merge(vec![]) }, &View::default());
        assert!(text.contains("3 > 29") && !text.contains("3 > 9 ") && text.contains("and 10 more"), "{text}");
    }

    #[test]
    fn operations_are_summed_over_ranks_and_communicators() {
        let of = |rank, transfers| OperationTransfers {
            comm: "ab".into(),
            rank,
            kind: "Coll".into(),
            func: "AllReduce".into(),
            from_bytes: 1 << 20,
            operations: 2,
            transfers,
            bytes: transfers << 19,
            time_us: 30.0,
        };
        let text = tables(
            &Summary { operation_transfers: vec![of(0, 8), of(1, 4)], ..Summary::merge(vec![]) },
            &View::default(),
        );
        let line = text.lines().find(|line| line.contains("AllReduce")).unwrap();
        let cells: Vec<&str> = line.split(['│', '┆']).map(str::trim).collect();
        assert_eq!(cells[1..7], ["AllReduce", "1.00 MiB", "4", "3.0", "512.00 KiB", "5.0"], "{text}");
    }
}
