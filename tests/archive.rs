//! The OTF2 archive of a replay, read back through the real OTF2 library.

use crate::support::tool;

use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A metric on a location of a process: its unit, type, number of values and last value, and whether its values never
/// fell.
struct Read {
    process: String,
    location: String,
    metric: String,
    unit: String,
    value_type: String,
    values: u64,
    last: f64,
    monotone: bool,
}

/// Replays a run with a trace; returns the summary and the archive's anchor file.
fn replay(directory: &TempDir, run: &Path) -> (Value, PathBuf) {
    let archive = directory.path().join("archive");
    let mut command = tool::tool();
    command.arg("replay").arg(run).args(["--format", "json", "--otf2"]).arg(&archive);
    let all: Vec<&str> = common::metric::counters().iter().map(|counter| counter.name.as_str()).collect();
    command.env("SCOREP_METRIC_NCCL_PLUGIN", all.join(","));
    (tool::summary(&mut command), archive.join("traces.otf2"))
}

/// Reads an archive with the C program; returns `None` where OTF2 is not installed.
fn read(anchor: &Path) -> Option<Vec<Read>> {
    let Some(program) = option_env!("HOST_OTF2_LAST_VALUES") else {
        tool::skip("OTF2 is not installed (Debian: libotf2-trace-dev)");
        return None;
    };
    let text = tool::succeed(Command::new(program).arg(anchor));
    let rows = text.lines().map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [process, location, metric, unit, value_type, values, last, monotone] = fields[..] else {
            unreachable!("{line}")
        };
        Read {
            process: process.into(),
            location: location.into(),
            metric: metric.into(),
            unit: unit.into(),
            value_type: value_type.into(),
            values: values.parse().unwrap(),
            last: last.parse().unwrap(),
            monotone: monotone == "yes",
        }
    });
    Some(rows.collect())
}

#[test]
fn the_last_counter_values_are_the_summarys() {
    for name in ["net2_collectives", "nodes2x2_train", "nvlink4_single"] {
        let directory = tempfile::tempdir().unwrap();
        let run = tool::run(name);
        let (summary, anchor) = replay(&directory, &run);
        let Some(rows) = read(&anchor) else { return };
        for (number, capture) in tool::captures(&run).iter().enumerate() {
            let process = capture.file_name().unwrap().to_string_lossy().replace(".jsonl.gz", "");
            let counters: BTreeMap<String, u64> =
                serde_json::from_value(summary["processes"][number]["counters"].clone()).unwrap();
            assert!(counters["nccl_ops"] > 0);
            for (counter, value) in counters {
                let of_threads = rows.iter().filter(|row| row.process == process && row.metric == counter);
                let sum: f64 = of_threads.map(|row| row.last).sum();
                assert_eq!(sum, value as f64, "{name} {process} {counter}");
            }
        }
    }
}

#[test]
fn every_metric_is_there_with_its_unit_and_never_falls() {
    let directory = tempfile::tempdir().unwrap();
    let (summary, anchor) = replay(&directory, &tool::run("net2_collectives"));
    let [process, communicator] =
        ["processes", "communicators"].map(|rows| &summary[rows][1 - usize::from(rows == "communicators")]);
    assert_eq!(process["series"]["#0"], format!("NCCL {} rank 1", communicator["comm"].as_str().unwrap()));
    let Some(rows) = read(&anchor) else { return };
    let unit = |name: &str| match name.rsplit_once('_').map(|(_, last)| last) {
        Some("time") => "ns",
        Some("bytes") => "B",
        _ => "#",
    };
    let series = BTreeMap::from([
        ("nccl_window_transfer_rate", "B/s"),
        ("nccl_window_transfer_latency", "ns"),
        ("nccl_window_collective_time", "ns"),
        ("nccl_window_effective_busbw", "B/s"),
    ]);
    let mut counters = HashSet::new();
    for row in &rows {
        assert_eq!(row.value_type, "uint64", "{}", row.metric);
        if row.location.starts_with("NCCL series of ") {
            let name = row.metric.split('#').next().unwrap();
            assert_eq!(row.unit, series[name], "{}", row.metric);
        } else if !row.location.starts_with("NCCL ") {
            // lanes have counters of their own, which describe single operations
            assert_eq!(row.unit, unit(&row.metric), "{}", row.metric);
            assert!(row.monotone, "{} falls on {}", row.metric, row.location);
            counters.insert(row.metric.clone());
        }
    }
    assert_eq!(counters.len(), common::metric::COUNTERS);
    let has = |rows: &[Read], name: &str| {
        let name = format!("nccl_window_{name}");
        rows.iter().any(|row| row.metric == name && row.values > 0 && row.last > 0.0)
    };
    for name in ["transfer_rate#0", "transfer_rate#0@0", "transfer_rate#0@1", "transfer_latency#0"] {
        assert!(has(&rows, name), "{name}");
    }
    // these series exist only where the GPU has timed nearly all collectives
    assert!(!has(&rows, "effective_busbw#0") && !has(&rows, "collective_time#0"));
    let directory = tempfile::tempdir().unwrap();
    let (_, anchor) = replay(&directory, &tool::run("truth_fsdp"));
    let rows = read(&anchor).unwrap();
    assert!(has(&rows, "effective_busbw#0") && has(&rows, "collective_time#0"));
}

#[test]
fn otf2_print_reads_it_without_a_word_of_complaint() {
    if Command::new("otf2-print").arg("--version").output().is_err() {
        return tool::skip("otf2-print is not installed (Debian: otf2-tools)");
    }
    let directory = tempfile::tempdir().unwrap();
    let (_, anchor) = replay(&directory, &tool::run("nodes2x2_train"));
    let events = tool::succeed(Command::new("otf2-print").arg(&anchor));
    assert!(events.contains("METRIC") && events.contains("ncclAllReduce"), "{events}");
    let definitions = tool::succeed(Command::new("otf2-print").arg("-G").arg(&anchor));
    for counter in common::metric::counters() {
        let mut members = definitions.lines().filter(|line| line.starts_with("METRIC_MEMBER"));
        let line = members.find(|line| line.contains(&format!("\"{}\"", counter.name)));
        assert!(line.is_some_and(|line| line.contains(counter.unit.to_str().unwrap())), "{}: {line:?}", counter.name);
    }
}

/// Four ranks with 16 nested groups: the end of each group, its launch and the start of its operations are regions.
#[test]
fn launches_of_nested_groups_are_regions() {
    if Command::new("otf2-print").arg("--version").output().is_err() {
        return tool::skip("otf2-print is not installed (Debian: otf2-tools)");
    }
    let directory = tempfile::tempdir().unwrap();
    let (_, anchor) = replay(&directory, &tool::run("nvlink4_ring"));
    let events = tool::succeed(Command::new("otf2-print").arg(&anchor));
    let entered = |line: &&str| line.starts_with("ENTER") && line.contains("\"ncclGroupEnd\"");
    assert_eq!(events.lines().filter(entered).count(), 4 * 16 * 3);
}
