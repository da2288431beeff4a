//! The check of a long training (tests/gpu/check.py, for tests/gpu/soak.sh) by runs that were made up.

use crate::gpu_scripts::python;
use serde_json::{Value, json};

/// Returns what a rank of 100 s did: 40 all-reduces, and its memory in use, at four moments, in MiB.
fn did(resident: [u64; 4]) -> Value {
    let memory: Vec<Value> =
        resident.iter().zip([5, 40, 60, 100]).map(|(mib, at)| json!([at, mib << 20, 1 << 30])).collect();
    json!({"did": {"AllReduce": [40, 4000]}, "times": {}, "nccl": 22809, "memory": memory, "steps": 9, "loss": 0.5})
}

/// Returns its summary, with so many bytes and dropped events.
fn summary(bytes: u64, dropped: u64) -> Value {
    let mut process = json!({"dropped": dropped, "out_of_step": 0});
    for field in ["unfinished", "invisible", "ignored_handles", "unknown_events", "orphans"] {
        process[field] = 0.into();
    }
    let row = json!({"func": "AllReduce", "kind": "Coll", "count": 40, "bytes": bytes, "gpu_timed": 40, "event_timed": 0,
        "time_us": 1.0, "min_us": 1.0});
    json!({"operations": [row], "transfers": [{"transfers": 3}], "processes": [process]})
}

#[test]
fn a_training_is_held_against_its_own_counts_and_memory() {
    let flat = [1000, 1040, 1040, 1041];
    for (did, summary, expected) in [
        (did(flat), summary(4000, 0), Ok("9 steps in 100 s, resident 1000 to 1041 MiB (+1.0 since 60 s)")),
        (did([1000, 1010, 1020, 1090]), summary(4000, 0), Err("resident memory has grown by 70 MiB in 40 s")),
        (did(flat), summary(3900, 0), Err("AllReduce: [40, 3900] instead of [40, 4000]")),
        (did(flat), summary(4000, 7), Err("dropped is 7")),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        std::fs::write(directory.path().join("did.0.json"), did.to_string()).unwrap();
        std::fs::write(directory.path().join("summary.0.json"), summary.to_string()).unwrap();
        let Some(mut python) = python() else { return };
        let output = python.args(["check.py", "training", path, "NCCL_SCOREP_PRESET=network"]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let right = if output.status.success() { Ok(()) } else { Err(()) };
        let (Ok(part) | Err(part)) = expected;
        assert!(right == expected.map(|_| ()).map_err(|_| ()) && said.contains(part), "{expected:?}: {said}");
    }
}
