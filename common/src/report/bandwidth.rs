//! How fast collectives are, by the rank that waits for nobody.

use super::figure::{bytes, count, number};
use super::{MOST, table};
use crate::summary::Summary;
use std::fmt::Write;

/// Those with most bytes. Nothing where processes were not gathered.
pub(super) fn tables(summary: &Summary) -> String {
    if summary.bandwidth.is_empty() {
        return String::new();
    }
    let mut rows: Vec<_> = summary.bandwidth.iter().collect();
    if rows.len() > MOST {
        rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    }
    let mut table = table(&["communicator", "function", "from", "operations", "least us", "busbw GB/s"], 2);
    for row in rows.iter().take(MOST) {
        table.add_row([
            row.comm.clone(),
            row.func.clone(),
            bytes(row.from_bytes),
            count(row.operations),
            number(Some(row.least_us / row.operations as f64), 1),
            number(Some(row.busbw_gb_s), 2),
        ]);
    }
    let mut text =
        format!("\nBus bandwidth of collectives by size, by the least time over the ranks: without their waits\n{table}\n");
    if let Some(others) = rows.len().checked_sub(MOST).filter(|&others| others > 0) {
        let _ = writeln!(text, "and {} more with fewer bytes", count(others as u64));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Bandwidth;

    #[test]
    fn those_with_most_bytes_are_there_and_the_rest_is_counted() {
        let row = |power: u32| Bandwidth {
            comm: "00000000000000ab".into(),
            func: "AllReduce".into(),
            from_bytes: 1 << power,
            operations: 10,
            bytes: 10 << power,
            least_us: 250.0,
            busbw_gb_s: 189.126,
        };
        let text = |count: u32| tables(&Summary { bandwidth: (0..count).map(row).collect(), ..Summary::merge(vec![]) });
        assert_eq!(text(0), "");
        assert!(text(1).contains("189.13") && text(1).contains("25.0") && text(1).contains("1 B"), "{}", text(1));
        let many = text(25);
        assert!(
            many.contains("16.00 MiB") && !many.contains(" 16 B") && many.ends_with("and 5 more with fewer bytes\n"),
            "{many}"
        );
    }
}
