//! The comparison of NCCL's choices (tests/gpu/tuner.py, for tests/gpu/tuner.sh) on runs that were made up.

use crate::python;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

/// Makes a run of two ranks: all-reduces of 4096 bytes by this algorithm and number of channels, with this summary.
fn run(algorithm: &str, channels: u64, predicted: &Value) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for rank in 0..2 {
        let place = directory.path().join(format!("recording.{rank}"));
        std::fs::create_dir(&place).unwrap();
        let mut file = GzEncoder::new(std::fs::File::create(place.join("h.1.jsonl.gz")).unwrap(), Compression::fast());
        for sequence in 0..3 {
            let call = json!({"cb": "start", "type": "Coll", "seq": sequence, "func": "AllReduce", "count": 1024,
                "dtype": "ncclFloat32", "algo": algorithm, "proto": "SIMPLE", "nch": channels});
            writeln!(file, "{call}\n{}", json!({"cb": "stop", "h": 7})).unwrap();
        }
        file.finish().unwrap();
        let summary = json!({"processes": [{"notes": []}], "predicted": predicted});
        std::fs::write(directory.path().join(format!("summary.{rank}.json")), summary.to_string()).unwrap();
    }
    directory
}

/// Returns a row of a prediction of RING beside operations by this algorithm.
fn row(algorithm: &str) -> Value {
    let way = json!({"algorithm": algorithm, "protocol": "SIMPLE", "channels": 2, "median_us": 30.0, "ratio": 1.5});
    json!([{"func": "AllReduce", "bytes": 4096, "candidates": 5, "algorithm": "RING", "protocol": "SIMPLE",
        "predicted_us": 20.0, "measured": [way]}])
}

/// Returns whether a comparison is right, and what it says.
fn said(verb: &str, directories: &[&Path]) -> Option<(bool, String)> {
    let output = python()?.args(["tuner.py", verb]).args(directories).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8(said).unwrap()))
}

#[test]
fn two_runs_are_the_same_if_each_operation_ran_alike() {
    let ring = run("RING", 2, &row("RING"));
    for (other, part) in [
        (run("RING", 2, &json!([])), Ok("6 operations ran alike, in 1 ways")),
        (run("TREE", 2, &json!([])), Err("recording.0: 3 of 3 operations differ, the first: ")),
        (run("RING", 1, &json!([])), Err("recording.0: 3 of 3 operations differ, the first: ")),
        (tempfile::tempdir().unwrap(), Err("recordings of ['recording.0', 'recording.1'] and []")),
    ] {
        let Some((is_same, said)) = said("same", &[ring.path(), other.path()]) else { return };
        let (Ok(text) | Err(text)) = part;
        assert!(is_same == part.is_ok() && said.contains(text), "{part:?}: {said}");
    }
}

#[test]
fn predictions_are_of_the_way_that_nccl_ran() {
    let right = run("RING", 2, &row("RING"));
    let Some((is_right, text)) = said("predicted", &[right.path()]) else { return };
    assert!(is_right && text.contains("1 ways as predicted, ratios 1.5 to 1.5, median 1.5"), "{text}");
    for (wrong, part) in [
        (row("TREE"), "bytes ran as ['TREE', 'SIMPLE'], predicted is ['RING', 'SIMPLE']"),
        (json!([]), "summary.0.json has no predictions"),
    ] {
        let of = run("RING", 2, &wrong);
        let Some((is_right, text)) = said("predicted", &[of.path()]) else { return };
        assert!(!is_right && text.contains(part), "{text}");
    }
}

#[test]
fn the_users_changes_are_trees() {
    for (algorithm, is_right) in [("TREE", true), ("RING", false)] {
        let of = run(algorithm, 3, &json!([]));
        let Some((said_right, text)) = said("changed", &[of.path()]) else { return };
        assert!(said_right == is_right && text.contains("6 all-reduces of the user's tuner"), "{text}");
    }
}

/// Writes the report of a run, with a row of this way and setting.
fn report(directory: &TempDir, algorithm: &str, forced: Option<&str>) {
    let row = json!({"function": "AllReduce", "from_bytes": 4096, "algorithm": algorithm, "protocol": "SIMPLE",
        "forced": forced, "predicted_us": 20.0});
    // a row of sends has no algorithm
    let sent = json!({"function": "SendRecv", "from_bytes": 8, "algorithm": "", "protocol": "", "forced": null});
    let report = json!({"speed": {"known": {"rows": [row, sent]}}});
    std::fs::write(directory.path().join("report.json"), report.to_string()).unwrap();
}

#[test]
fn rows_far_from_those_of_an_ordinary_run_are_to_be_forced_and_no_others() {
    let plain = run("RING", 8, &json!([]));
    for (algorithm, channels, forced, words, right) in [
        ("RING", 8, None, vec![], true),
        ("RING", 8, Some("NCCL_PROTO=LL (x)"), vec![], false),
        ("TREE", 8, Some("NCCL_ALGO=tree (x)"), vec![], true),
        ("TREE", 8, None, vec![], false),
        ("RING", 1, Some("NCCL_MAX_NCHANNELS=1 (x)"), vec![], true),
        ("RING", 4, None, vec![], true),
        ("RING", 1, None, vec![], false),
        ("RING", 8, Some("NCCL_P2P_DISABLE=1 (x)"), vec![Path::new("all")], true),
        ("RING", 8, None, vec![Path::new("all")], false),
    ] {
        let of = run(algorithm, channels, &json!([]));
        report(&of, algorithm, forced);
        let directories = [vec![of.path(), plain.path()], words].concat();
        let Some((is_right, text)) = said("forced", &directories) else { return };
        let count = u8::from(right);
        assert!(is_right == right && text.contains(&format!("{count} right of 1 rows, 1 of them predicted")), "{text}");
    }
    for (forced, right) in [(None, true), (Some("NCCL_PROTO=LL (x)"), false)] {
        report(&plain, "RING", forced);
        let Some((is_right, text)) = said("ordinary", &[plain.path()]) else { return };
        assert_eq!(is_right, right, "{text}");
    }
}
