//! The watch as a textfile for Prometheus' node_exporter.

use super::judge::JobState;
use super::judge::finding::{FindingChange, KINDS, WatchFinding};
use crate::diagnosis::finding::HangVerdict;
use common::files::NewFile;
use common::origin::since_epoch;
use common::prometheus;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file.
#[derive(Debug)]
pub(super) struct WatchTextfile {
    path: PathBuf,
    /// Findings that have begun or were there once, by kind.
    counts: BTreeMap<&'static str, u64>,
}

impl WatchTextfile {
    /// Names the file.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), counts: KINDS.map(|kind| (kind, 0)).into() }
    }

    /// Writes the state after a look: the whole file or nothing.
    ///
    /// # Errors
    /// When it cannot be written, in words.
    pub(super) fn write(
        &mut self,
        findings: &[WatchFinding],
        states: &[JobState],
        took: Duration,
    ) -> Result<(), String> {
        for finding in findings.iter().filter(|finding| finding.change != FindingChange::Over) {
            *self.counts.entry(finding.subject.kind()).or_default() += 1;
        }
        let written = prometheus::begun(&self.path, &self.text(states, took)).and_then(NewFile::appear);
        written.map_err(|error| format!("--textfile {}: {error}", self.path.display()))
    }

    /// Removes the file: what it says would stay so.
    pub(super) fn remove(&self) {
        // it may never have been written
        let _ = fs::remove_file(&self.path);
    }

    fn text(&self, states: &[JobState], took: Duration) -> String {
        let mut text = String::new();
        let mut add = |name: &str, kind: &str, meaning: &str, rows: Vec<(String, f64)>| {
            if rows.is_empty() {
                return;
            }
            prometheus::head(&mut text, name, kind, meaning);
            rows.into_iter().for_each(|(labels, value)| prometheus::line(&mut text, name, &labels, value));
        };
        let of_job = |value: fn(&JobState) -> f64| -> Vec<(String, f64)> {
            states.iter().map(|state| (labels(state, &[]), value(state))).collect()
        };
        let of_rank = |value: fn(&super::judge::RankState) -> f64| -> Vec<(String, f64)> {
            let rows = states.iter().flat_map(|state| state.ranks.iter().map(move |rank| (state, rank)));
            let row = |(state, rank): (&JobState, &super::judge::RankState)| {
                let host = rank.process.host.clone().unwrap_or_default();
                let names = [
                    ("rank", rank.process.rank.to_string()),
                    ("hostname", host),
                    ("pid", rank.process.pid.to_string()),
                ];
                (labels(state, &names), value(rank))
            };
            rows.map(row).collect()
        };
        let excess = "Own time of the rank beyond its peers', share of the window";
        add("scorep_nccl_watch_rank_excess_ratio", "gauge", excess, of_rank(|rank| rank.excess));
        let stands = "Whether the rank stands out";
        add("scorep_nccl_watch_rank_stands_out", "gauge", stands, of_rank(|rank| f64::from(u8::from(rank.stands))));
        let hangs = of_job(|state| f64::from(u8::from(state.verdict == HangVerdict::Hang)));
        add("scorep_nccl_watch_hang", "gauge", "Whether the job hangs", hangs);
        add("scorep_nccl_watch_slow_nodes", "gauge", "Nodes that stand out", of_job(|state| state.slow_nodes as f64));
        add("scorep_nccl_watch_slow_links", "gauge", "Links that are slow", of_job(|state| state.slow_links as f64));
        let processes = of_job(|state| state.processes.all as f64);
        add("scorep_nccl_watch_processes", "gauge", "Processes with a state file", processes);
        let running = of_job(|state| state.processes.running as f64);
        add("scorep_nccl_watch_processes_running", "gauge", "Processes that run and write", running);
        let counts = self.counts.iter().map(|(kind, count)| (format!("kind=\"{kind}\""), *count as f64)).collect();
        add("scorep_nccl_watch_findings_total", "counter", "Findings since the watch began", counts);
        let one = |name: &str, value: f64| format!("{name} {value}\n");
        text.push_str("# TYPE scorep_nccl_watch_look_seconds gauge\n");
        text.push_str(&one("scorep_nccl_watch_look_seconds", took.as_secs_f64()));
        text.push_str("# TYPE scorep_nccl_watch_last_look_timestamp_seconds gauge\n");
        text.push_str(&one("scorep_nccl_watch_last_look_timestamp_seconds", since_epoch().as_secs_f64()));
        text
    }
}

fn labels(state: &JobState, further: &[(&str, String)]) -> String {
    // two jobs without names are two rows, and `job` is a label of Prometheus itself
    let job = state.name.clone().unwrap_or_else(|| format!("unnamed {}", state.number));
    prometheus::labels([("job_name", job)].into_iter().chain(further.iter().cloned()))
}
