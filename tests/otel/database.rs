//! A Prometheus whose series grew evenly for ten minutes, up to given lines: so each rate is a value by the time, and
//! no test waits for scrapes.

use crate::points::Labels;
use crate::prometheus::{self, Daemon};
use crate::text::Line;
use std::fmt::Write;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// How long the series grew from 0, seconds.
pub(crate) const GREW: f64 = 600.0;
/// Seconds between two samples.
const STEP: u64 = 30;
/// The time of the last sample, at which every query is asked.
const LAST: u64 = 1_700_000_000;

pub(crate) struct Database {
    prometheus: Daemon,
    _blocks: TempDir,
}

impl Database {
    /// Nothing, where Prometheus is not installed.
    pub(crate) fn of(lines: &[Line]) -> Option<Self> {
        prometheus::installed(&["promtool"])?;
        let blocks = tempfile::tempdir().unwrap();
        let steps = GREW as u64 / STEP;
        let mut text = String::new();
        for Line { name, labels, value } in lines {
            let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
            for step in 0..=steps {
                let time = LAST - (steps - step) * STEP;
                let value = value * step as f64 / steps as f64;
                writeln!(text, "{name}{{{}}} {value} {time}", labels.join(",")).unwrap();
            }
        }
        let file = blocks.path().join("series");
        std::fs::write(&file, text + "# EOF\n").unwrap();
        let mut command = Command::new("promtool");
        command.args(["tsdb", "create-blocks-from", "openmetrics"]).arg(&file).arg(blocks.path());
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Self { prometheus: Daemon::prometheus_of(blocks.path())?, _blocks: blocks })
    }

    /// What Prometheus answers: it must understand the query.
    pub(crate) fn query(&self, query: &str) -> Vec<(Labels, f64)> {
        let labels = |row: serde_json::Value| serde_json::from_value(row).unwrap();
        self.prometheus.query_at(query, LAST).into_iter().map(|(row, value)| (labels(row), value)).collect()
    }
}
