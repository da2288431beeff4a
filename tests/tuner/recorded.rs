//! Predictions in a recording, and in the report of it.

use crate::{host, lines, tool};
use serde_json::{Value, json};
use std::path::Path;

/// Records a scenario in a directory. Returns the lines of its predictions.
fn recorded(scenario: &str, directory: &Path, settings: &[(&str, &str)]) -> Vec<Value> {
    let record = directory.join("recording");
    tool::succeed(host(6, scenario).env("NCCL_SCOREP_RECORD", &record).envs(settings.iter().copied()));
    let file = std::fs::read_dir(&record).unwrap().next().unwrap().unwrap().path();
    let all = lines::all(&file).1;
    let last = all.last().unwrap();
    assert_eq!(last["cb"], "end");
    all.into_iter().filter(|line| line["cb"] == "predicted").map(|line| line["prediction"].clone()).collect()
}

#[test]
fn a_recording_has_each_prediction_with_its_calls_and_its_report_the_times() {
    let directory = tempfile::tempdir().unwrap();
    let rows = recorded("compared", directory.path(), &[("NCCL_P2P_DISABLE", "1")]);
    let find = |bytes: u64, pipelined: u64| {
        let is_meant =
            |row: &&Value| row["func"] == "AllReduce" && row["bytes"] == bytes && row["pipelined"] == pipelined;
        // the last line counts: a part may have been written before the end
        rows.iter().rfind(is_meant).unwrap()
    };
    let row = find(4096, 1);
    let fields = ["comm", "nranks", "candidates", "algorithm", "protocol", "predicted_us", "calls", "measured"];
    let wanted = json!(["00000000000000ab", 2, 7, "RING", "LL", 2.5, 3, []]);
    assert_eq!(json!(fields.map(|field| row[field].clone())), wanted);
    find(4096, 4);

    let report = directory.path().join("report.json");
    let recording = directory.path().join("recording");
    let mut command = tool::tool();
    tool::succeed(command.arg("report").arg(&recording).arg("--json").arg(&report));
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let speed = report["speed"]["known"]["rows"].as_array().unwrap();
    let of =
        |bytes: u64| speed.iter().find(|row| row["function"] == "AllReduce" && row["from_bytes"] == bytes).unwrap();
    assert_eq!(of(4096)["predicted_us"], 2.5, "{speed:#?}");
    // a recording keeps the settings; without NVLinks they prove nothing
    assert_eq!(of(4096)["forced"], Value::Null);
    let head = lines::head(&std::fs::read_dir(&recording).unwrap().next().unwrap().unwrap().path()).unwrap();
    assert_eq!(head["process"]["nccl_settings"], json!({"NCCL_P2P_DISABLE": "1"}));
}

#[test]
fn a_recording_without_a_tuner_has_no_predictions() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(recorded("unnamed", directory.path(), &[]), [Value::Null; 0]);
}

#[test]
fn as_many_predictions_as_there_is_room_for_are_in_a_recording() {
    let directory = tempfile::tempdir().unwrap();
    let rows = recorded("many", directory.path(), &[]);
    assert!((900..=2048).contains(&rows.len()), "{}", rows.len());
}
