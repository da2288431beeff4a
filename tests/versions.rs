//! The figures of recorded runs through every version of NCCL's interface: data that a version reports comes out
//! unchanged, and data that it does not report is not made up.

use crate::support::{reference, tool};

use reference::Reference;
use reference::compare::compare;
use serde_json::Value;
use std::collections::BTreeMap;

/// A run over the network with CUDA graphs, v5; every kind of operation over the network, v7.
const RUNS: [&str; 2] = ["nodes2x2_graph", "v232_nodes2x1_collectives"];

fn replay(run: &str, interface: u32) -> Value {
    let mut command = tool::tool();
    command.arg("replay").arg(tool::run(run)).args(["--format", "json", "--interface", &interface.to_string()]);
    tool::summary(&mut command)
}

fn expected(run: &str) -> Reference {
    reference::summarise(&tool::captures(&tool::run(run))).unwrap()
}

fn sum(rows: &Value, field: &str) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).sum()
}

/// Count and bytes by kind, function and peer, over all communicators and ranks: up to v3 NCCL's wrappers report
/// neither communicators nor ranks.
type Operations = BTreeMap<(String, String, Option<i64>), (u64, u64)>;

fn operations_of_summary(summary: &Value) -> Operations {
    let mut sums = Operations::new();
    for row in summary["operations"].as_array().unwrap() {
        let [kind, func] = ["kind", "func"].map(|field| row[field].as_str().unwrap().to_owned());
        let sum = sums.entry((kind, func, row["peer"].as_i64())).or_default();
        sum.0 += row["count"].as_u64().unwrap();
        sum.1 += row["bytes"].as_u64().unwrap();
    }
    sums
}

fn operations_of_reference(expected: &Reference) -> Operations {
    let mut sums = Operations::new();
    for row in &expected.operations {
        let sum = sums.entry((row.kind.clone(), row.func.clone(), row.peer)).or_default();
        sum.0 += u64::try_from(row.count).unwrap();
        sum.1 += u64::try_from(row.bytes).unwrap();
    }
    sums
}

#[test]
fn operations_and_bytes_are_the_same_through_every_version() {
    for run in RUNS {
        let expected = expected(run);
        for interface in 1..=7 {
            let summary = replay(run, interface);
            assert_eq!(operations_of_summary(&summary), operations_of_reference(&expected), "{run}, v{interface}");
            for field in ["dropped", "unfinished", "unknown_events", "ignored_handles", "orphans"] {
                assert_eq!(sum(&summary["processes"], field), 0, "{run}, v{interface}: {field}");
            }
        }
    }
}

#[test]
fn up_to_v3_there_are_no_transfers_and_no_gpu_times() {
    for run in RUNS {
        for interface in 1..=3 {
            let summary = replay(run, interface);
            let operations = &summary["operations"];
            for rows in ["transfers", "channels", "states", "operation_transfers"] {
                assert_eq!(summary[rows].as_array().map(Vec::len), Some(0), "{run}, v{interface}: {rows}");
            }
            assert_eq!(sum(operations, "gpu_timed"), 0, "{run}, v{interface}");
            // operations over the network are timed by the proxy, all others by their enqueue
            let timed = ["proxy_timed", "enqueue_timed"].map(|field| sum(operations, field));
            assert_eq!(timed[0] + timed[1], sum(operations, "count"), "{run}, v{interface}");
            assert!(timed[0] > 0, "{run}, v{interface}: {timed:?}");
        }
    }
}

/// v4 reports no API calls, so there are fewer callbacks and no invisible calls. v5 to v7 differ in nothing that these
/// runs have.
#[test]
fn from_v4_on_the_figures_are_the_references() {
    for run in RUNS {
        let expected = expected(run);
        for interface in 4..=7 {
            let mut differences = compare(&replay(run, interface), &expected);
            if interface == 4 {
                differences.retain(|difference| !difference.starts_with("processes"));
            }
            assert_eq!(differences, Vec::<String>::new(), "{run}, v{interface}");
        }
    }
}

/// Without the option, the replay speaks the capture's version: v7 knows kernel phases, so they are not unknown events.
#[test]
fn kernel_phases_are_known_in_v7_and_not_told_in_v6() {
    let run = "v231_nvlink2_graph";
    let newest = tool::summary(tool::tool().arg("replay").arg(tool::run(run)).args(["--format", "json"]));
    assert_eq!(compare(&newest, &expected(run)), Vec::<String>::new());
    let events = |summary: &Value| sum(&summary["processes"], "events");
    let unknown = |summary: &Value| sum(&summary["processes"], "unknown_events");
    let (v6, v7) = (replay(run, 6), replay(run, 7));
    assert_eq!((events(&v7), unknown(&v7), unknown(&v6)), (events(&newest), 0, 0));
    assert_eq!(events(&v7) - events(&v6), 3312, "one start a phase");
    assert_eq!((&v6["operations"], &v7["operations"]), (&newest["operations"], &newest["operations"]));
}

#[test]
fn other_versions_are_refused() {
    for interface in ["0", "8", "five"] {
        let output = tool::tool().args(["replay", "nowhere", "--interface", interface]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{interface}");
    }
}
