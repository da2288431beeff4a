//! Synthetic captures, by seed, against the reference, each replayed twice: captures for which nothing was tuned.
//!
//! `SCOREP_NCCL_SEEDS=1000..2000 cargo test --test figures unseen::` tries other seeds. With `SCOREP_NCCL_KEEP=DIR`,
//! the captures of the last seed stay in DIR.

use crate::support::{reference, synthetic, tool};

use std::path::Path;

use reference::compare::compare;
use serde_json::Value;
use synthetic::Run;

/// Seeds of every test run, for each of the two tests.
const SEEDS: std::ops::Range<u64> = 0..24;

#[test]
fn synthetic_runs_give_the_reference_figures_twice() {
    check(false);
}

/// Children that come seconds, or thousands of callbacks, after their parents have stopped or after their
/// communicator's end.
#[test]
fn late_children_are_counted() {
    check(true);
}

fn check(late: bool) {
    let wrong =
        |seed| wrong(&Run::new(seed, late), seed % 3 == 0).into_iter().map(move |what| format!("seed {seed}: {what}"));
    let wrong: Vec<String> = seeds().flat_map(wrong).collect();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

fn seeds() -> std::ops::Range<u64> {
    let Ok(range) = std::env::var("SCOREP_NCCL_SEEDS") else { return SEEDS };
    let (first, end) = range.split_once("..").unwrap();
    first.parse().unwrap()..end.parse().unwrap()
}

/// Returns what is wrong with a run.
fn wrong(run: &Run, short_windows: bool) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let captures = directory.path().join("captures");
    run.write(&captures);
    if let Some(keep) = std::env::var_os("SCOREP_NCCL_KEEP") {
        run.write(Path::new(&keep));
    }
    let mut expected = reference::summarise(&run.write_for_reference(&directory.path().join("reference"))).unwrap();
    for (row, process) in expected.processes.iter_mut().zip(&run.processes) {
        row.ignored_handles = process.ignored_handles;
        row.callbacks -= process.lost_handles.len();
    }
    let first = replay(&captures, short_windows);
    let mut wrong = compare(&first, &expected);
    for (row, process) in first["processes"].as_array().unwrap().iter().zip(&run.processes) {
        if row["unknown_events"] != process.unknown_events {
            wrong.push(format!("unknown_events: {} instead of {}", row["unknown_events"], process.unknown_events));
        }
    }
    for (what, other) in
        [("again", replay(&captures, short_windows)), ("other windows", replay(&captures, !short_windows))]
    {
        if settled(&first) != settled(&other) {
            wrong.push(format!("differs when replayed ({what}): {}", first_difference(&first, &other)));
        }
    }
    wrong
}

fn replay(captures: &Path, short_windows: bool) -> Value {
    let mut command = tool::tool();
    command.arg("replay").arg(captures).args(["--format", "json"]);
    if short_windows {
        command.args(["--window", "0.001"]).env("NCCL_SCOREP_WINDOW_EVENTS", "64");
    }
    tool::summary(&mut command)
}

/// Returns the summary as text, without values that may differ.
fn settled(summary: &Value) -> String {
    let mut summary = summary.clone();
    // single begins of the sample of arrivals are as close as the GPU's clock was known when the collector took them
    summary.as_object_mut().unwrap().remove("launches");
    for process in summary["processes"].as_array_mut().unwrap() {
        for field in ["pid", "windows", "peak_memory_bytes", "arrivals"] {
            process.as_object_mut().unwrap().remove(field);
        }
    }
    serde_json::to_string_pretty(&summary).unwrap()
}

fn first_difference(first: &Value, other: &Value) -> String {
    let (first, other) = (settled(first), settled(other));
    let differs = first.lines().zip(other.lines()).find(|(line, other)| line != other);
    differs.map_or_else(|| "length".into(), |(line, other)| format!("{} and {}", line.trim(), other.trim()))
}
