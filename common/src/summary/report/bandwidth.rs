//! The table of bus bandwidths, by the rank that waits for nobody.

use super::figure::{bytes, count, number, share};
use super::table::{TextColumn, TextTable, View, looked_at, others};
use crate::summary::{Bandwidth, Summary};
use crate::sums::enough::ENOUGH_TIMED;
use std::fmt::Write;

const COLUMNS: [TextColumn<Bandwidth>; 8] = [
    ("communicator", |row| row.comm.clone()),
    ("function", |row| row.func.clone()),
    ("from", |row| bytes(row.from_bytes)),
    ("operations", |row| count(row.count)),
    ("GPU-timed %", |row| share(row.timed, row.count)),
    ("alone", |row| count(row.operations)),
    ("least us", |row| number(row.busbw_gb_s.map(|_| row.least_us / row.operations as f64), 1)),
    ("busbw GB/s", |row| number(row.busbw_gb_s, 2)),
];

/// Writes the rows with most bytes. Empty if processes were not gathered.
pub(super) fn tables(summary: &Summary, view: &View) -> String {
    if summary.bandwidth.is_empty() {
        return String::new();
    }
    let mut rows: Vec<_> = summary.bandwidth.iter().collect();
    if rows.len() > view.rows {
        rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    }
    let dispensable = ["alone", "operations", "GPU-timed %", "least us"];
    let table = TextTable::by(&COLUMNS, 2, &dispensable, rows.iter().copied().take(view.rows)).by_communicator(summary);
    let mut text = format!(
        "\nBus bandwidth of collectives by size, by the least time over the ranks: without their waits; {}\n{}",
        summary.ranks(),
        table.shown(view.width)
    );
    text += &others(rows.len(), view, " with fewer bytes");
    if rows.iter().any(|row| row.busbw_gb_s.is_none()) {
        let _ = writeln!(text, "no bandwidth where the GPU has timed less than {ENOUGH_TIMED} % on all ranks");
    }
    text + &looked_at(rows.iter().map(|row| row.one_in))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_with_most_bytes_are_there_and_the_rest_is_counted() {
        let row = |power: u32| Bandwidth {
            comm: "00000000000000ab".into(),
            func: "AllReduce".into(),
            from_bytes: 1 << power,
            count: 12,
            timed: 11,
            operations: 10,
            one_in: 1,
            bytes: 10 << power,
            least_us: 250.0,
            busbw_gb_s: Some(189.126),
        };
        let tables = |bandwidth| tables(&Summary { bandwidth, ..Summary::merge(vec![]) }, &View::default());
        let text = |count: u32| tables((0..count).map(row).collect());
        assert_eq!(text(0), "");
        let many = text(25);
        assert!(
            many.contains("16.00 MiB") && !many.contains(" 16 B") && many.ends_with("and 5 more with fewer bytes\n"),
            "{many}"
        );
        let cells = |text: &str| {
            let line = text.lines().find(|line| line.contains("AllReduce")).unwrap();
            line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()[3..9].to_vec()
        };
        assert_eq!(cells(&text(1)), ["1 B", "12", "91.7", "10", "25.0", "189.13"]);
        let few = tables(vec![Bandwidth { timed: 1, operations: 1, one_in: 64, busbw_gb_s: None, ..row(2) }]);
        assert_eq!(cells(&few), ["4 B", "12", "8.3", "1", "-", "-"]);
        assert!(few.ends_with("timed less than 90 % on all ranks\none operation in 64 was looked at\n"), "{few}");
    }
}
