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
    of_type(algorithm, channels, predicted, (1024, "ncclFloat32"))
}

/// The same for all-reduces of so many elements of a type.
fn of_type(algorithm: &str, channels: u64, predicted: &Value, (count, datatype): (u64, &str)) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for rank in 0..2 {
        let place = directory.path().join(format!("recording.{rank}"));
        std::fs::create_dir(&place).unwrap();
        let mut file = GzEncoder::new(std::fs::File::create(place.join("h.1.jsonl.gz")).unwrap(), Compression::fast());
        for sequence in 0..3 {
            let call = json!({"cb": "start", "type": "Coll", "seq": sequence, "func": "AllReduce", "count": count,
                "dtype": datatype, "algo": algorithm, "proto": "SIMPLE", "nch": channels});
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
fn report(directory: &TempDir, bytes: u64, algorithm: &str, forced: Option<&str>) {
    let row = json!({"function": "AllReduce", "from_bytes": bytes, "algorithm": algorithm, "protocol": "SIMPLE",
        "forced": forced, "predicted_us": 20.0});
    // a row of sends has no algorithm
    let sent = json!({"function": "SendRecv", "from_bytes": 8, "algorithm": "", "protocol": "", "forced": null});
    let report = json!({"speed": {"known": {"rows": [row, sent]}}});
    std::fs::write(directory.path().join("report.json"), report.to_string()).unwrap();
}

#[test]
fn rows_far_from_those_of_an_ordinary_run_may_be_forced_and_long_ones_must() {
    // 4 MiB a rank, and a byte less, as bytes
    let (long, short) = (8 << 20, (8 << 20) - 1);
    for (bytes, algorithm, channels, forced, right) in [
        (long, "RING", 8, None, true),
        (long, "RING", 8, Some("NCCL_PROTO=LL (x)"), false),
        (long, "TREE", 8, Some("NCCL_ALGO=tree (x)"), true),
        (long, "TREE", 8, None, false),
        (long, "RING", 4, Some("NCCL_MAX_NCHANNELS=4 (x)"), true),
        (long, "RING", 5, Some("NCCL_MAX_NCHANNELS=5 (x)"), false),
        (long, "RING", 5, None, true),
        (long, "RING", 1, None, false),
        (short, "TREE", 8, None, true),
        (short, "TREE", 8, Some("NCCL_ALGO=tree (x)"), true),
        (short, "RING", 8, Some("NCCL_ALGO=tree (x)"), false),
    ] {
        let plain = of_type("RING", 8, &json!([]), (bytes, "ncclInt8"));
        let of = of_type(algorithm, channels, &json!([]), (bytes, "ncclInt8"));
        report(&of, bytes, algorithm, forced);
        let Some((is_right, text)) = said("forced", &[of.path(), plain.path()]) else { return };
        let count = u8::from(right);
        assert!(is_right == right && text.contains(&format!("{count} right of 1 rows, 1 of them predicted")), "{text}");
    }
    let plain = run("RING", 8, &json!([]));
    for (forced, right) in [(None, true), (Some("NCCL_PROTO=LL (x)"), false)] {
        report(&plain, 4096, "RING", forced);
        let Some((is_right, text)) = said("ordinary", &[plain.path()]) else { return };
        assert_eq!(is_right, right, "{text}");
    }
}

#[test]
fn each_type_of_nccls_has_a_size_and_others_are_named() {
    let plain = run("RING", 8, &json!([]));
    for (datatype, size) in [
        ("Int8", 1),
        ("Uint8", 1),
        ("Int32", 4),
        ("Uint32", 4),
        ("Int64", 8),
        ("Uint64", 8),
        ("Float16", 2),
        ("Float32", 4),
        ("Float64", 8),
        ("Bfloat16", 2),
        ("Float8e4m3", 1),
        ("Float8e5m2", 1),
    ] {
        let of = of_type("RING", 8, &json!([]), (4096 / size, &format!("nccl{datatype}")));
        // alike only if the sizes are: then none may be forced
        report(&of, 4096, "RING", Some("x"));
        let Some((is_right, text)) = said("forced", &[of.path(), plain.path()]) else { return };
        assert!(!is_right && text.contains("0 right of 1 rows"), "{datatype}: {text}");
    }
    let of = of_type("RING", 8, &json!([]), (4096, "ncclNew"));
    report(&of, 4096, "RING", None);
    let Some((is_right, text)) = said("forced", &[of.path(), plain.path()]) else { return };
    assert!(!is_right && text.starts_with("the size of ncclNew (AllReduce) is not known"), "{text}");
}

#[test]
fn without_peer_to_peer_access_rows_of_gpus_behind_nvswitches_are_to_be_forced() {
    let of = run("RING", 8, &json!([]));
    for (nvlinks, forced, right) in [
        ([18, 18], Some("NCCL_P2P_DISABLE=1 (x)"), true),
        ([18, 18], None, false),
        ([18, 12], Some("NCCL_P2P_DISABLE=1 (x)"), false),
        ([18, 12], None, true),
    ] {
        for (rank, nvlinks) in nvlinks.into_iter().enumerate() {
            let summary = json!({"processes": [{"notes": [], "links": {"gpus": [{"nvlinks": nvlinks}]}}]});
            std::fs::write(of.path().join(format!("summary.{rank}.json")), summary.to_string()).unwrap();
        }
        report(&of, 4096, "RING", forced);
        let Some((is_right, text)) = said("kept", &[of.path()]) else { return };
        assert_eq!(is_right, right, "{nvlinks:?}: {text}");
    }
    let unknown = run("RING", 8, &json!([]));
    report(&unknown, 4096, "RING", None);
    let Some((is_right, text)) = said("kept", &[unknown.path()]) else { return };
    assert!(!is_right && text.contains("no links"), "{text}");
}
