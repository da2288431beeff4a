//! The measurements as a table for a person. Memory and dropped events are the rounds' largest values; the plugin's own
//! processor time is the smallest.

use super::measure::Measured;
use super::row::BenchRow;
use common::report::TextTable;
use std::path::Path;

const HEADER: [&str; 14] = [
    "capture",
    "plugin",
    "interface",
    "ns/call",
    "median",
    "x limit",
    "+ empty",
    "p50",
    "p99",
    "p99.99",
    "max us",
    "MiB",
    "own threads ns/event",
    "dropped",
];

/// Headings of columns that a narrow terminal may leave out, first to last.
const DISPENSABLE: [&str; 10] =
    ["interface", "median", "max us", "MiB", "p50", "own threads ns/event", "p99.99", "p99", "x limit", "dropped"];

/// Returns the table for a terminal of this width in characters.
pub(super) fn of(rows: &[BenchRow], width: Option<u16>) -> String {
    let mut table = TextTable::new(&HEADER, 2, &DISPENSABLE);
    for row in rows {
        let name = Path::new(&row.plugin)
            .file_stem()
            .map_or_else(|| row.plugin.clone(), |name| name.to_string_lossy().into_owned());
        let latency = row.timed.latency.as_ref();
        let of_latency = |ns: Option<f64>, scale: f64| ns.map_or_else(String::new, |ns| format!("{:.0}", ns / scale));
        let most = |of: fn(&Measured) -> f64| row.rounds.iter().map(of).fold(0.0, f64::max);
        let least = |of: fn(&Measured) -> f64| row.rounds.iter().map(of).fold(f64::INFINITY, f64::min);
        let dropped = row.rounds.iter().filter_map(|measured| Some(measured.recorded.as_ref()?.dropped)).max();
        table.add_row([
            row.capture.clone(),
            name,
            row.rounds.first().map_or_else(String::new, |measured| format!("v{}", measured.interface)),
            format!("{:.1}", row.fastest_ns),
            format!("{:.1}", row.median_ns),
            row.times_limit.map_or_else(String::new, |times| format!("{times:.2}")),
            row.above_empty_ns.map_or_else(String::new, |above| format!("{above:.1}")),
            of_latency(latency.map(|latency| latency.p50), 1.0),
            of_latency(latency.map(|latency| latency.p99), 1.0),
            of_latency(latency.map(|latency| latency.p9999), 1.0),
            of_latency(latency.map(|latency| latency.max), 1e3),
            format!("{:.1}", most(|measured| measured.memory_kib as f64 / 1024.0)),
            format!("{:.1}", least(|measured| measured.other_processor_ns as f64 / measured.starts as f64)),
            dropped.map_or_else(String::new, |dropped| dropped.to_string()),
        ]);
    }
    table.shown(width)
}
