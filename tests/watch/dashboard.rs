//! The row of Grafana's dashboard: each metric in it is one that the watch writes.

use super::{job, watch};
use std::collections::BTreeSet;
use std::path::Path;

const START: &str = "scorep_nccl_watch_";

/// Returns the names of the watch's metrics in a text.
fn names(text: &str) -> BTreeSet<&str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.split(|letter| !is_part(letter)).filter(|word| word.starts_with(START)).collect()
}

#[test]
fn the_watch_writes_the_metrics_of_the_dashboard() {
    let directory = tempfile::tempdir().unwrap();
    job(directory.path(), "slurm 7", None);
    let textfile = directory.path().join("watch.prom");
    let output = watch(directory.path(), &["--textfile", textfile.to_str().unwrap()]).output().unwrap();
    let written = std::fs::read_to_string(textfile).unwrap_or_else(|_| format!("{output:?}"));
    let dashboard = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/grafana/scorep-nccl.json");
    let dashboard = std::fs::read_to_string(dashboard).unwrap();
    let shown = names(&dashboard);
    assert!(shown.len() >= 6, "{shown:?}");
    let missing: Vec<&&str> = shown.iter().filter(|name| !names(&written).contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?} in {written}");
}
