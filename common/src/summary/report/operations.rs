//! The table of operations by function: counts and times.

use super::figure::{bytes, count, number, share};
use super::table::{TextTable, View};
use crate::summary::{Summary, SummaryOperations};
use crate::sums::enough::{ENOUGH_TIMED, speaks_for_all};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Sums of a function's operations over communicators and ranks.
#[derive(Debug, Clone, Copy, Default)]
struct FunctionSum {
    count: u64,
    bytes: u64,
    gpu_timed: u64,
    time_us: f64,
    min_us: Option<f64>,
    max_us: Option<f64>,
    /// Number of rows whose longest time is unknown.
    unknown: u64,
    proxy_timed: u64,
    proxy_time_us: f64,
    enqueue_timed: u64,
    enqueue_time_us: f64,
}

impl FunctionSum {
    fn add(&mut self, row: &SummaryOperations) {
        self.count += row.count;
        self.bytes = self.bytes.saturating_add(row.bytes);
        self.gpu_timed += row.gpu_timed;
        self.time_us += row.time_us;
        self.min_us = self.min_us.into_iter().chain(row.min_us).reduce(f64::min);
        self.max_us = self.max_us.into_iter().chain(row.max_us).reduce(f64::max);
        self.unknown += u64::from(row.max_us.is_none());
        self.proxy_timed += row.proxy_timed;
        self.proxy_time_us += row.proxy_time_us;
        self.enqueue_timed += row.enqueue_timed;
        self.enqueue_time_us += row.enqueue_time_us;
    }

    /// Returns whether mean and maximum may stand for all operations.
    fn is_timed(&self) -> bool {
        speaks_for_all(self.gpu_timed, self.count)
    }
}

/// Writes the table. Empty if there was no operation.
pub fn tables(summary: &Summary, view: &View) -> String {
    let mut sums: BTreeMap<(&str, &str), FunctionSum> = BTreeMap::new();
    for row in &summary.operations {
        sums.entry((&row.kind, &row.func)).or_default().add(row);
    }
    if sums.is_empty() {
        return String::new();
    }
    let header = ["kind", "function", "count", "bytes", "GPU-timed %", "min us", "mean us", "max us"];
    let mut table = TextTable::new(&header, 2, &["min us", "kind", "bytes", "GPU-timed %", "count"]);
    for ((kind, function), sum) in &sums {
        let mean = sum.is_timed().then(|| sum.time_us / sum.gpu_timed as f64);
        table.add_row([
            (*kind).to_owned(),
            (*function).to_owned(),
            count(sum.count),
            bytes(sum.bytes),
            share(sum.gpu_timed, sum.count),
            number(sum.min_us, 1),
            number(mean, 1),
            number(sum.max_us.filter(|_| sum.is_timed() && sum.unknown == 0), 1),
        ]);
    }
    let head =
        format!("Operations; {}. Times are the GPU's own and hold the wait for the last rank\n", summary.ranks());
    let mut text = head + &table.shown(view.width);
    if sums.values().any(|sum| sum.gpu_timed > 0 && !sum.is_timed()) {
        let _ = writeln!(
            text,
            "no mean and no maximum where the GPU has timed less than {ENOUGH_TIMED} %: the first operations, which are slow, may be those"
        );
    }
    text += &by_host(&sums, view);
    text.push('\n');
    text
}

/// Writes the times by the host's clock of functions that the GPU has not timed. With NCCL before 2.27, these are all
/// functions.
fn by_host(sums: &BTreeMap<(&str, &str), FunctionSum>, view: &View) -> String {
    let untimed: Vec<_> =
        sums.iter().filter(|(_, sum)| !sum.is_timed() && sum.proxy_timed + sum.enqueue_timed > 0).collect();
    if untimed.is_empty() {
        return String::new();
    }
    let header = ["kind", "function", "by proxy", "proxy mean us", "by enqueue", "enqueue mean us"];
    let mut table = TextTable::new(&header, 2, &["kind", "by enqueue", "enqueue mean us"]);
    let mean = |time_us: f64, timed: u64| number((timed > 0).then(|| time_us / timed as f64), 1);
    for ((kind, function), sum) in untimed {
        table.add_row([
            (*kind).to_owned(),
            (*function).to_owned(),
            count(sum.proxy_timed),
            mean(sum.proxy_time_us, sum.proxy_timed),
            count(sum.enqueue_timed),
            mean(sum.enqueue_time_us, sum.enqueue_timed),
        ]);
    }
    format!(
        "Operations that the GPU has not timed, by the host's clock\n{}\
         by proxy: from the enqueue to the end of the last proxy operation. By enqueue: the enqueue alone, which is no time of communication\n",
        table.shown(view.width)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rank: i32, count: u64, gpu_timed: u64, max_us: Option<f64>) -> SummaryOperations {
        SummaryOperations {
            comm: "00000000000000ab".into(),
            rank,
            kind: "Coll".into(),
            func: "AllReduce".into(),
            peer: None,
            count,
            bytes: 4096,
            gpu_timed,
            event_timed: 0,
            time_us: gpu_timed as f64 * 20.0,
            kernel_time_us: gpu_timed as f64 * 20.0,
            kernel_once_us: gpu_timed as f64 * 20.0,
            min_us: (gpu_timed > 0).then_some(10.0),
            max_us,
            proxy_timed: 0,
            proxy_time_us: 0.0,
            enqueue_timed: count - gpu_timed,
            enqueue_time_us: 0.0,
        }
    }

    fn cells(rows: &[SummaryOperations]) -> (Vec<String>, bool) {
        let text = tables(&Summary { operations: rows.to_vec(), ..Summary::merge(vec![]) }, &View::default());
        let line = text.lines().find(|line| line.contains("AllReduce")).unwrap();
        let cells: Vec<String> = line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect();
        (cells[3..9].to_vec(), text.contains("less than 90 %"))
    }

    #[test]
    fn a_mean_is_of_nearly_all_or_not_there() {
        let (all, said) = cells(&[row(0, 10, 9, Some(30.0)), row(1, 10, 10, Some(40.0))]);
        assert_eq!(
            (all, said),
            (["20", "8.00 KiB", "95.0", "10.0", "20.0", "40.0"].map(str::to_owned).to_vec(), false)
        );
        let (few, said) = cells(&[row(0, 398, 14, None)]);
        assert_eq!((few, said), (["398", "4.00 KiB", "3.5", "10.0", "-", "-"].map(str::to_owned).to_vec(), true));
        let (none, said) = cells(&[row(0, 5, 0, None)]);
        assert_eq!((none, said), (["5", "4.00 KiB", "0.0", "-", "-", "-"].map(str::to_owned).to_vec(), false));
    }

    #[test]
    fn a_maximum_that_one_rank_does_not_know_is_not_there() {
        let (cells, _) = cells(&[row(0, 1000, 1000, Some(30.0)), row(1, 10, 2, None)]);
        assert_eq!(cells[4..], ["20.0".to_owned(), "-".to_owned()]);
    }

    /// NCCL before 2.27 reports all operations so.
    #[test]
    fn operations_without_gpu_times_have_those_of_the_host() {
        let none = SummaryOperations {
            enqueue_timed: 3,
            enqueue_time_us: 6.0,
            proxy_timed: 7,
            proxy_time_us: 350.0,
            ..row(0, 10, 0, None)
        };
        let text = tables(&Summary { operations: vec![none], ..Summary::merge(vec![]) }, &View::default());
        let line = text.lines().filter(|line| line.contains("AllReduce")).nth(1).unwrap();
        let cells: Vec<&str> = line.split(['│', '┆']).map(str::trim).collect();
        assert_eq!(cells[3..7], ["7", "50.0", "3", "2.0"], "{text}");
        // once the GPU has timed nearly all operations, the rest does not matter
        let text = tables(
            &Summary { operations: vec![row(0, 10, 9, Some(30.0))], ..Summary::merge(vec![]) },
            &View::default(),
        );
        assert!(!text.contains("by proxy"), "{text}");
    }

    #[test]
    fn without_operations_there_is_no_table() {
        assert_eq!(tables(&Summary::merge(vec![]), &View::default()), "");
    }
}
