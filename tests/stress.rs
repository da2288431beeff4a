//! Many threads at full speed while windows rotate every 64 events: every event with a handle is in the figures,
//! exactly once.

use crate::support::tool;

use serde_json::Value;
use std::process::Command;

/// Runs the C program; returns the number of handles it was given by kind, and the summary.
fn stress(threads: u32, operations: u32, communicators: u32, settings: &[(&str, &str)]) -> (Vec<u64>, Value) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("summary.json");
    let mut command = Command::new(env!("HOST_STRESS_HOST"));
    command.arg(tool::library()).arg(threads.to_string()).arg(operations.to_string());
    command.arg(communicators.to_string());
    // dropped events are counted in the summary, so no line is needed
    command.env("NCCL_SCOREP_LOG", "off");
    command.env("NCCL_SCOREP_SUMMARY", &path).envs(settings.iter().copied());
    let recorded = tool::succeed(&mut command).split_whitespace().map(|number| number.parse().unwrap()).collect();
    (recorded, serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

fn sum(rows: &Value, field: &str) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).sum()
}

#[test]
fn no_event_is_lost_or_counted_twice() {
    for (threads, operations) in [(1, 20_000), (2, 20_000), (7, 5_000)] {
        for window in ["64", "5000"] {
            let (recorded, summary) = stress(threads, operations, 2, &[("NCCL_SCOREP_WINDOW_EVENTS", window)]);
            let what = format!("{threads} threads, windows of {window}: {:#}", summary["processes"][0]);
            assert_eq!(sum(&summary["operations"], "count"), recorded[0], "{what}");
            assert_eq!(sum(&summary["transfers"], "transfers"), recorded[2], "{what}");
            let process = &summary["processes"][0];
            let events = u64::from(threads * operations) * 5;
            assert_eq!(process["events"].as_u64(), Some(events), "{what}");
            assert_eq!(
                (process["unfinished"].as_u64(), process["ignored_handles"].as_u64()),
                (Some(0), Some(0)),
                "{what}"
            );
            if process["dropped"].as_u64() == Some(0) {
                assert_eq!(sum(&summary["operations"], "gpu_timed"), recorded[0], "{what}");
                assert_eq!(process["orphans"].as_u64(), Some(0), "{what}");
            }
        }
    }
}

/// With a mebibyte of memory many events are dropped: the recorded events are right, and the dropped events are
/// counted.
#[test]
fn what_finds_no_room_is_counted() {
    let (recorded, summary) =
        stress(2, 50_000, 2, &[("NCCL_SCOREP_MEMORY_MB", "1"), ("NCCL_SCOREP_WINDOW_EVENTS", "1000")]);
    let process = &summary["processes"][0];
    let dropped = process["dropped"].as_u64().unwrap();
    assert!(dropped > 0, "{process:#}");
    assert_eq!(process["counters"]["nccl_dropped"].as_u64(), Some(dropped));
    assert_eq!(sum(&summary["operations"], "count"), recorded[0]);
    assert_eq!(sum(&summary["transfers"], "transfers"), recorded[2]);
}

/// A thread that changes between communicators keeps its blocks, so memory is used for events and not for the changes.
#[test]
fn many_communicators_in_turn_drop_nothing() {
    for communicators in [12, 64, 200] {
        let (recorded, summary) = stress(1, 8_000, communicators, &[("NCCL_SCOREP_WINDOW_SECONDS", "1000")]);
        let process = &summary["processes"][0];
        assert_eq!(process["dropped"].as_u64(), Some(0), "{communicators}: {process:#}");
        assert_eq!(
            (recorded[0], sum(&summary["operations"], "gpu_timed")),
            (8_000, 8_000),
            "{communicators}: {process:#}"
        );
    }
}
