//! The pictures in docs/pictures equal the demo's and the replay's. The demo's have a row for each lane that the run
//! would have in Score-P.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/tool/mod.rs"]
mod tool;

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_documents_have_the_pictures_that_the_demo_draws() {
    let directory = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    tool::succeed(tool::tool().arg("demo").arg("--output").arg(directory.path()).current_dir(root));
    for name in ["fit.svg", "timeline.svg"] {
        let drawn = std::fs::read(directory.path().join(name)).unwrap();
        let kept = std::fs::read(root.join("docs/pictures").join(name)).unwrap();
        assert!(drawn == kept, "{name}: run `scorep-nccl demo`, and copy scorep-nccl-demo/{name} to docs/pictures");
        assert!(drawn.len() < 200 << 10, "{name}: {} bytes", drawn.len());
    }
    let picture = std::fs::read_to_string(directory.path().join("timeline.svg")).unwrap();
    let summary: Value =
        serde_json::from_slice(&std::fs::read(directory.path().join("nodes2x2_train.json")).unwrap()).unwrap();
    let rows: BTreeSet<&str> = picture.lines().map(str::trim).filter(|line| line.starts_with("NCCL ")).collect();
    assert_eq!(rows, lanes(&summary).iter().map(String::as_str).collect());
}

/// Pictures of sequences, with the operation and its recording.
const SEQUENCES: [(&str, &str, &str); 3] = [
    ("sequence-collective.svg", "AllReduce:12", "nodes2x2_collectives/collectives.r0.jsonl.gz"),
    ("sequence-group.svg", "Group:3", "net2_single/single.r0.jsonl.gz"),
    ("sequence-graph.svg", "AllReduce:5", "nodes2x2_graph/graph.r0.jsonl.gz"),
];

#[test]
fn the_documents_have_the_sequences_that_replay_draws() {
    let directory = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sequence = |operation: &str, recording: &str| {
        let mut command = tool::tool();
        command.args(["replay", "--sequence", operation]).arg(root.join("tests/captures").join(recording));
        command
    };
    for (name, operation, recording) in SEQUENCES {
        let drawn = directory.path().join(name);
        tool::succeed(sequence(operation, recording).arg("--drawing").arg(&drawn));
        let (drawn, kept) =
            (std::fs::read(drawn).unwrap(), std::fs::read(root.join("docs/pictures").join(name)).unwrap());
        assert!(drawn == kept, "{name}: draw it with scorep-nccl replay --sequence {operation}, of {recording}");
        assert!(drawn.len() < 100 << 10, "{name}: {} bytes", drawn.len());
    }
    let page = std::fs::read_to_string(root.join("docs/reading.md")).unwrap();
    for (operation, recording) in
        [("Send:4", "nodes2x2_train/train.r0.jsonl.gz"), ("Recv:4", "nodes2x2_train/train.r2.jsonl.gz")]
    {
        let printed = sequence(operation, recording).output().unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap();
        assert!(printed.lines().count() > 20 && page.contains(&printed), "docs/reading.md lacks:\n{printed}");
    }
}

/// Returns the lanes of a run without simultaneous operations, by their names in Score-P's trace.
fn lanes(summary: &Value) -> BTreeSet<String> {
    let text = |row: &Value, field: &str| row[field].as_str().map_or_else(|| row[field].to_string(), str::to_owned);
    let rows = |list: &str| summary[list].as_array().unwrap().clone();
    let ranks =
        rows("operations").into_iter().map(|row| format!("NCCL {} rank {}", text(&row, "comm"), text(&row, "rank")));
    let pairs = rows("transfers").into_iter();
    let pairs =
        pairs.map(|row| format!("NCCL {} {} to {}", text(&row, "comm"), text(&row, "rank"), text(&row, "peer")));
    ranks.chain(pairs).collect()
}
