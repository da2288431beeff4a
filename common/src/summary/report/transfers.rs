//! The table of transfers by pair of ranks.

use super::figure::{bytes, count, number, with_error};
use super::order::PairOrder;
use super::table::{TextColumn, TextTable, View};
use super::unlike_channels;
use crate::summary::{Summary, Transfers};
use crate::sums::rate::{FEWEST_SIZES, LEAST_ERRORS, LEAST_SPAN};
use std::fmt::Write;

/// Writes the transfers over the network, or that none are known.
pub fn tables(summary: &Summary, view: &View) -> String {
    if summary.transfers.is_empty() {
        return "No transfers over the network: all ranks share a node, or NCCL told of none with their sizes (NCCL 2.27 and later do).\n"
            .into();
    }
    let head = format!("Transfers over the network, seen from the sender; {}\n", summary.ranks());
    let mut text = head + &pairs(summary, view).shown(view.width);
    if let Some(others) = summary.transfers.len().checked_sub(view.rows).filter(|&others| others > 0) {
        let pairs = if others == 1 { "rank pair" } else { "rank pairs" };
        let others = count(others as u64);
        let _ = match view.order {
            None | Some(PairOrder::Bytes) => writeln!(text, "and {others} {pairs} with fewer bytes"),
            Some(_) => writeln!(text, "and {others} more {pairs}"),
        };
    }
    text += &unlike_channels::sentences(summary, view.rows);
    let _ = writeln!(
        text,
        "sustained: bytes over the time with a transfer under way, on all channels together\n\
         typical: of one connection, which is a channel's, with every transfer served in its size's median time\n\
         fit: service time of one connection over size; latency and rate with their standard errors, where there are \
         {FEWEST_SIZES} sizes that span a factor of {LEAST_SPAN} and the slope is {LEAST_ERRORS} errors above 0\n\
         compare fits, or typical rates of equal sizes"
    );
    text
}

/// Headings of the columns that may be left out, in this order.
const DISPENSABLE: [&str; 9] =
    ["R2", "sizes", "transfers", "in flight", "channels", "bytes", "sustained MB/s", "latency us", "typical MB/s"];

const COLUMNS: [TextColumn<Transfers>; 12] = [
    ("communicator", |row| row.comm.clone()),
    ("ranks", |row| format!("{} > {}", row.rank, row.peer)),
    ("transfers", |row| count(row.transfers)),
    ("bytes", |row| bytes(row.bytes)),
    ("sizes", |row| count(row.sizes)),
    ("channels", |row| count(row.channels)),
    ("sustained MB/s", |row| number(row.sustained_rate_mb_s, 1)),
    ("typical MB/s", |row| number(row.typical_rate_mb_s, 1)),
    ("in flight", |row| {
        let in_flight = row.mean_in_flight.zip(row.max_in_flight);
        in_flight.map_or_else(|| "-".into(), |(mean, max)| format!("{mean:.1}, {max}"))
    }),
    ("fit MB/s", |row| with_error(row.fit.map(|fit| (fit.rate_mb_s, fit.rate_error_mb_s)), 0)),
    ("latency us", |row| with_error(row.fit.and_then(|fit| Some((fit.latency_us?, fit.latency_error_us))), 2)),
    ("R2", |row| number(row.fit.map(|fit| fit.r2), 3)),
];

fn pairs(summary: &Summary, view: &View) -> TextTable {
    let sorted_by = view.order.and_then(PairOrder::heading);
    let mut rows: Vec<_> = summary.transfers.iter().collect();
    if let Some(order) = view.order.or((rows.len() > view.rows).then_some(PairOrder::Bytes)) {
        rows.sort_by(|one, other| order.compare(one, other));
    }
    TextTable::by(&COLUMNS, 2, &DISPENSABLE, rows.into_iter().take(view.rows))
        .by_communicator(summary)
        .keeping(sorted_by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Transfers;
    use crate::sums::rate::FittedLine;

    fn pair(peer: i32, bytes: u64, transfers: u64, sustained: Option<f64>, fit: Option<(f64, f64)>) -> Transfers {
        let line = |(rate_mb_s, latency_us)| FittedLine {
            latency_us: Some(latency_us),
            latency_error_us: 0.1,
            rate_mb_s,
            rate_error_mb_s: 1.0,
            r2: 1.0,
            n: 7,
        };
        Transfers {
            comm: "00000000000000ab".into(),
            rank: 3,
            peer,
            transfers,
            bytes,
            sizes: 7,
            channels: 2,
            active_us: 1e6,
            sustained_rate_mb_s: sustained,
            typical_rate_mb_s: sustained.map(|rate| 100.0 - rate),
            typical_error_mb_s: None,
            mean_in_flight: None,
            max_in_flight: None,
            fit: fit.map(line),
            channel_fits: None,
        }
    }

    fn cells(line: &str) -> Vec<String> {
        line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect()
    }

    #[test]
    fn the_order_in_which_columns_go_is_documented() {
        let order = DISPENSABLE.map(|heading| format!("`{heading}`")).join(", ");
        let page = include_str!("../../../../docs/reading.md").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(&format!("in this order: {order}. ")), "{order}");
    }

    #[test]
    fn what_the_pairs_are_sorted_by_is_shown() {
        let transfers = vec![pair(0, 30, 5, Some(10.0), Some((100.0, 2.0)))];
        let summary = Summary { transfers, ..Summary::merge(vec![]) };
        let shown = |order| tables(&summary, &View { width: Some(60), order, ..View::default() });
        assert!(!shown(None).contains("┆  sizes ┆") && !shown(Some(PairOrder::Latency)).contains("bytes ┆"));
        assert!(shown(Some(PairOrder::Bytes)).contains(" 30 B ") && !shown(Some(PairOrder::Fit)).contains(" 30 B "));
    }

    /// A fit is of one of the pair's channels, the sustained rate of all of them.
    #[test]
    fn a_pair_stands_beside_the_number_of_its_channels() {
        let transfers = vec![pair(5, 1 << 30, 1000, Some(1073.7), None)];
        let text = tables(&Summary { transfers, ..Summary::merge(vec![]) }, &View::default());
        let cells = |word: &str| cells(text.lines().find(|line| line.contains(word)).unwrap());
        let place = cells("communicator").iter().position(|cell| cell == "channels").unwrap();
        assert_eq!(cells("3 > 5")[place - 1..=place], ["7", "2"], "{text}");
        assert!(text.contains("there are 4 sizes that span a factor of 8 and the slope is 3 errors above 0"), "{text}");
    }

    #[test]
    fn pairs_are_sorted_by_what_is_asked_for_and_the_unknown_come_last() {
        let transfers = vec![
            pair(0, 30, 5, Some(10.0), None),
            pair(1, 10, 6, None, Some((100.0, 2.0))),
            pair(2, 20, 4, Some(5.0), Some((50.0, 1.0))),
        ];
        let summary = Summary { transfers, ..Summary::merge(vec![]) };
        let shown = |rows, order| {
            let text = tables(&summary, &View { rows, order, ..View::default() });
            let lines = text.lines().filter(|line| line.contains("3 > ")).map(cells);
            let pairs: String = lines.map(|cells| cells[2].replace("3 > ", "")).collect();
            (pairs, text.lines().find(|line| line.contains("rank pair")).map(str::to_owned))
        };
        assert_eq!(shown(20, None), ("012".into(), None));
        assert_eq!(shown(2, None), ("02".into(), Some("and 1 rank pair with fewer bytes".into())));
        for (order, expected) in [
            (PairOrder::Bytes, "021"),
            (PairOrder::Transfers, "102"),
            (PairOrder::Sustained, "201"),
            (PairOrder::Typical, "021"),
            (PairOrder::Fit, "210"),
            (PairOrder::Latency, "120"),
            (PairOrder::Ranks, "012"),
        ] {
            assert_eq!(shown(20, Some(order)), (expected.into(), None), "{order:?}");
        }
        assert_eq!(shown(1, Some(PairOrder::Fit)), ("2".into(), Some("and 2 more rank pairs".into())));
    }
}
