//! A replay gives the same summary every time, on however many processors, with and without a trace.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod tool;

use serde_json::Value;
use std::process::Command;

/// The summary's text without what may differ: process ids, windows and memory.
fn fixed_text(command: &mut Command) -> String {
    let mut summary = tool::summary(command);
    for process in summary["processes"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        for field in ["pid", "windows", "peak_memory_bytes"] {
            assert!(process.remove(field).is_some_and(|value| value.is_u64()), "{field}");
        }
    }
    serde_json::to_string_pretty(&summary).unwrap()
}

/// Equal, or the first lines that differ.
fn same(first: &str, second: &str, what: &str) {
    let differ = first.lines().zip(second.lines()).filter(|(first, second)| first != second);
    let differences: Vec<String> = differ.take(5).map(|(first, second)| format!("{first} / {second}")).collect();
    assert!(first == second, "{what}: {differences:#?}");
}

#[test]
fn two_runs_give_the_same_summary() {
    for (name, path) in tool::runs() {
        let replay = || fixed_text(tool::tool().arg("replay").arg(&path).args(["--format", "json"]));
        same(&replay(), &replay(), &name);
    }
}

#[test]
fn one_processor_gives_the_same_summary_as_two() {
    for name in ["net2_single", "nodes2x2_train", "nodes2x1_comms", "v232_nodes2x1_defaults"] {
        let path = tool::run(name);
        let replay = |mut command: Command| fixed_text(command.arg("replay").arg(&path).args(["--format", "json"]));
        same(&replay(tool::tool_on(1)), &replay(tool::tool_on(2)), name);
    }
}

#[test]
fn recording_a_trace_changes_no_figure() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["net2_single", "nodes4x1_pipeline"] {
        let path = tool::run(name);
        let replay = |more: &[String]| fixed_text(tool::tool().arg("replay").arg(&path).args(["--format", "json"]).args(more));
        let archive = directory.path().join(name).to_string_lossy().into_owned();
        same(&replay(&[]), &replay(&["--otf2".into(), archive]), name);
    }
}
