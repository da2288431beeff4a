//! A replay gives the same summary every time, for any number of processors, with and without a trace.

use crate::support::tool;

use serde_json::Value;
use std::process::Command;

/// Returns the summary's text without values that may differ: process ids, windows and memory, and the names of series,
/// which only a trace has.
fn fixed_text(command: &mut Command) -> String {
    let mut summary = tool::summary(command);
    for process in summary["processes"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        for field in ["pid", "windows", "peak_memory_bytes"] {
            assert!(process.remove(field).is_some_and(|value| value.is_u64()), "{field}");
        }
        process.remove("series");
    }
    serde_json::to_string_pretty(&summary).unwrap()
}

/// Checks that two texts are equal; the message has the first lines that differ.
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

/// A replay settles operations at its end. A job settles them while it runs, as soon as they have been quiet for the
/// settling time.
#[test]
fn settling_during_the_run_gives_the_same_summary_as_settling_at_its_end() {
    for (name, path) in tool::runs() {
        let replay = |settle: Option<&str>| {
            let mut command = tool::tool();
            command.envs(settle.map(|seconds| ("NCCL_SCOREP_SETTLE_SECONDS", seconds)));
            fixed_text(command.arg("replay").arg(&path).args(["--format", "json"]))
        };
        let at_the_end = replay(None);
        for seconds in ["0.25", "0.005"] {
            same(&at_the_end, &replay(Some(seconds)), &format!("{name}, {seconds} s"));
        }
    }
}

/// Otherwise the test above would compare equal runs.
#[test]
fn a_settling_time_that_is_set_holds_for_a_replay() {
    let mut command = tool::tool();
    command.arg("replay").arg(tool::run("nvlink2_graph")).args(["--format", "json"]);
    let output = command.envs([("NCCL_SCOREP_SETTLE_SECONDS", "soon"), ("NCCL_SCOREP_LOG", "warn")]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("NCCL_SCOREP_SETTLE_SECONDS=soon is not understood"), "{said}");
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
        let replay =
            |more: &[String]| fixed_text(tool::tool().arg("replay").arg(&path).args(["--format", "json"]).args(more));
        let archive = directory.path().join(name).to_string_lossy().into_owned();
        same(&replay(&[]), &replay(&["--otf2".into(), archive]), name);
    }
}
