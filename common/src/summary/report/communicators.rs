//! The table of communicators by bytes.

use super::figure::{bytes, count, number};
use super::table::{TextTable, View, others};
use crate::summary::Summary;
use std::collections::BTreeMap;

/// Sums over the ranks of a communicator that are here.
#[derive(Debug, Default, Clone, Copy)]
struct CommunicatorSum {
    operations: u64,
    bytes: u64,
    /// GPU time of the timed operations, if there are any.
    gpu_time_us: Option<f64>,
}

/// Writes the communicators with most bytes, if there are several.
pub(super) fn tables(summary: &Summary, view: &View) -> String {
    if summary.communicators.len() < 2 {
        return String::new();
    }
    let mut sums: BTreeMap<&str, CommunicatorSum> = BTreeMap::new();
    for row in &summary.operations {
        let sum = sums.entry(&row.comm).or_default();
        sum.operations += row.count;
        sum.bytes = sum.bytes.saturating_add(row.bytes);
        if row.gpu_timed > 0 {
            *sum.gpu_time_us.get_or_insert(0.0) += row.kernel_once_us;
        }
    }
    let of = |comm: &str| sums.get(comm).copied().unwrap_or_default();
    let mut communicators: Vec<_> = summary.communicators.iter().collect();
    communicators.sort_by_key(|row| std::cmp::Reverse(of(&row.comm).bytes));
    let header = ["communicator", "name", "ranks", "nodes", "operations", "bytes", "GPU time ms"];
    let mut table = TextTable::new(&header, 2, &["nodes", "operations", "name", "ranks"]).by_communicator(summary);
    for row in communicators.iter().take(view.rows) {
        let sum = of(&row.comm);
        table.add_row([
            row.comm.clone(),
            row.name.clone(),
            row.here_of_all(),
            row.nnodes.to_string(),
            count(sum.operations),
            bytes(sum.bytes),
            number(sum.gpu_time_us.map(|sum| sum / 1e3), 3),
        ]);
    }
    let head = format!("Communicators; {}. Times are those of kernels, summed up\n", summary.ranks());
    let mut text = head + &table.shown(view.width);
    text += &others(communicators.len(), view, "");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::SummaryCommunicator;

    #[test]
    fn a_communicator_without_a_time_on_the_gpu_has_none() {
        let row = |comm: &str, gpu_timed| {
            let row = serde_json::json!({
                "comm": comm, "rank": 0, "kind": "Coll", "func": "AllReduce", "peer": null, "count": 2, "bytes": 8,
                "gpu_timed": gpu_timed, "time_us": 0.0, "kernel_once_us": 1500.0 * f64::from(gpu_timed), "min_us": null,
                "max_us": null, "proxy_timed": 0, "proxy_time_us": 0.0, "enqueue_timed": 2, "enqueue_time_us": 1.0,
            });
            serde_json::from_value(row).unwrap()
        };
        let communicator = |comm: &str| SummaryCommunicator {
            comm: comm.into(),
            nranks: 1,
            nnodes: 1,
            name: String::new(),
            ranks: vec![],
        };
        let (communicators, operations) = (["c0", "c1"].map(communicator).into(), vec![row("c0", 0), row("c1", 1)]);
        let text = tables(&Summary { communicators, operations, ..Summary::merge(vec![]) }, &View::default());
        let time = |comm: &str| {
            let line = text.lines().find(|line| line.starts_with('│') && line.contains(comm)).unwrap();
            line.trim_end().rsplit(['│', '┆']).nth(1).unwrap().trim().to_owned()
        };
        assert_eq!((time("c0"), time("c1")), ("-".into(), "1.500".into()), "{text}");
    }

    #[test]
    fn the_largest_come_first_and_the_rest_is_counted() {
        let communicator = |number: i32| SummaryCommunicator {
            comm: format!("c{number:02}"),
            nranks: 4,
            nnodes: 2,
            name: "tp".into(),
            ranks: vec![],
        };
        let summary =
            |count: i32| Summary { communicators: (0..count).map(communicator).collect(), ..Summary::merge(vec![]) };
        assert_eq!(tables(&summary(1), &View::default()), "");
        let text = tables(&summary(25), &View::default());
        assert!(text.contains("c19") && !text.contains("c20") && text.contains("and 5 more"), "{text}");
    }
}
