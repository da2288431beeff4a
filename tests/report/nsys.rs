//! Exports of Nsight Systems beside recordings.

use crate::report::{json, ran, report};
use crate::support::tool;
use flate2::read::MultiGzDecoder;
use rusqlite::Connection;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use tempfile::TempDir;

/// Returns the first line of a recording: its process and the time of day at its begin.
fn meta(capture: &Path) -> Value {
    let mut line = String::new();
    BufReader::new(MultiGzDecoder::new(File::open(capture).unwrap())).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

/// Two of four ranks have kernels, in one file: one that computes all the time, and one that never does but once.
#[test]
fn computation_of_an_export_is_in_the_breakdown() {
    let directory = TempDir::new().unwrap();
    let captures = tool::captures(&tool::run("nodes2x2_train"));
    let [busy, idle] = [0, 1].map(|rank: usize| meta(&captures[rank]));
    let global = |meta: &Value| meta["pid"].as_i64().unwrap() << 24;
    let began = busy["real0"].as_i64().unwrap();
    let export = directory.path().join("node.sqlite");
    let sql = format!(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         INSERT INTO StringIds VALUES (1, 'gemm');
         CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT);
         INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({began});
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, globalPid INT, shortName INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 3600000000000, {}, 1), (0, 1, {}, 1);",
        global(&busy),
        global(&idle)
    );
    Connection::open(&export).unwrap().execute_batch(&sql).unwrap();
    let (place, csv) = (directory.path().join("report.json"), directory.path().join("csv"));
    let mut command = report(&captures);
    command.arg("--nsys").arg(&export).arg("--json").arg(&place).arg("--csv").arg(&csv);
    let (status, printed, said) = ran(command.args(["--part", "breakdown"]));
    assert_eq!((status, said.as_str()), (Some(0), ""));
    let sentences = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(sentences.contains("Only the 2 ranks count whose kernels are known, of 4."), "{printed}");
    // the one that never computes may have been recorded in part
    assert!(sentences.contains("No kernel is known in 50 % of the steps: if the profiler"), "{printed}");
    let budget = json(&place)["budget"]["known"].clone();
    let gpus = budget["breakdown"]["gpus"].as_array().unwrap();
    assert_eq!(gpus.iter().map(|gpu| gpu["has_kernels"] == true).collect::<Vec<_>>(), [true, true, false, false]);
    let exposed =
        |gpu: usize| gpus[gpu]["exposed_ns"].as_array().unwrap().iter().map(|ns| ns.as_u64().unwrap()).sum::<u64>();
    let of = |gpu: usize, field: &str| budget["gpus"][gpu][field].as_u64().unwrap();
    assert_eq!((exposed(0), of(0, "idle_ns")), (0, 0));
    assert_eq!(of(0, "computing_ns") + of(0, "overlapped_ns"), of(0, "total_ns"));
    assert_eq!((exposed(1) + of(1, "idle_ns"), of(1, "computing_ns")), (of(1, "total_ns"), 0));
    assert!(exposed(1) > 0 && of(1, "idle_ns") > 0);
    // the whole is of both: half of it is computing
    let rows = fs::read_to_string(csv.join("breakdown.csv")).unwrap();
    let computing: Vec<&str> = rows.lines().find(|line| line.starts_with("computing,")).unwrap().split(',').collect();
    let share: f64 = computing[2].parse().unwrap();
    assert!((0.49..0.51).contains(&share) && computing[3] == "0" && computing[5] == "1", "{rows}");
    // an export of other processes is named and left out
    let other = directory.path().join("other.sqlite");
    Connection::open(&other).unwrap().execute_batch(&sql.replace(&global(&busy).to_string(), "16777216")).unwrap();
    let (status, _, said) = ran(report(&captures).arg("--nsys").arg(&other));
    assert_eq!(status, Some(1));
    assert!(said.contains("other.sqlite: process 1 with kernels is none of the job's"), "{said}");
}
