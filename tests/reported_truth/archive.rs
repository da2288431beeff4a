//! The report of a replay's archive says the same as that of the recordings.

use crate::support::report::{self, Row};
use crate::support::tool;
use serde_json::Value;
use std::process::Command;

fn has_otf2() -> bool {
    let is_there = Command::new("otf2-print").arg("--version").output().is_ok();
    if !is_there {
        tool::skip("otf2-print is not installed (Debian: otf2-tools)");
    }
    is_there
}

/// Replays a run and returns the rows of the reports: of its recordings, and of its archive.
fn both_ways(run: &str) -> ([Vec<Row>; 2], [Value; 2]) {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    tool::succeed(tool::tool().arg("replay").arg(tool::run(run)).arg("--otf2").arg(&archive));
    let [recorded, archived] = [tool::run(run), archive].map(|input| report::of(&[input], &[]));
    let rows = [recorded.1, archived.1].map(|mut rows| {
        rows.sort_by_key(|row| (row.communicator.clone(), row.rank, row.begin, row.function.clone(), row.sequence));
        rows
    });
    (rows, [recorded.0, archived.0])
}

/// Without the summary beside it, an archive does not say how many ranks a communicator has: its collectives are not
/// compared, and the report says so. Messages name their other side.
#[test]
fn an_archive_without_a_summary_compares_messages_alone() {
    if !has_otf2() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    tool::succeed(tool::tool().arg("replay").arg(tool::run("nodes2x2_train")).arg("--otf2").arg(&archive));
    std::fs::remove_dir_all(archive.join("nccl")).unwrap();
    let (report, rows) = report::of(&[archive], &[]);
    let notes = report["complete"]["notes"].to_string();
    assert!(notes.contains("The number of ranks of 4 communicators is unknown"), "{notes}");
    assert_eq!(rows.len(), 960);
    assert!(rows.iter().all(|row| row.wait.is_some() == (row.messages > 0)));
}

/// An archive has the operations, times and waits of the recordings, where the GPU has timed all operations.
#[test]
fn the_archive_of_a_replay_says_the_same() {
    if !has_otf2() {
        return;
    }
    for run in ["nodes2x2_train", "truth_moe"] {
        let ([recorded, archived], [of_recordings, of_archive]) = both_ways(run);
        assert_eq!(recorded.len(), archived.len(), "{run}");
        for (row, other) in recorded.iter().zip(&archived) {
            let facts = |row: &Row| (row.communicator.clone(), row.rank, row.function.clone(), row.kind.clone());
            let figures = |row: &Row| (row.sequence, row.bytes, row.messages, row.duration, row.wait, row.transfer);
            assert_eq!((facts(row), figures(row)), (facts(other), figures(other)), "{run}");
            // an archive does not say how well clocks are known, so its errors are never smaller
            assert!(other.wait_error >= row.wait_error, "{run}: {row:?} {other:?}");
        }
        for part in ["/steps/known/count", "/steps/known/period", "/steps/known/warm_up", "/complete/matched"] {
            assert_eq!(of_recordings.pointer(part), of_archive.pointer(part), "{run} {part}");
        }
        let rates = |report: &Value| report["complete"]["wait_error_us"].as_f64();
        assert!(rates(&of_archive) >= rates(&of_recordings) && rates(&of_archive) > Some(0.0), "{run}");
    }
}
