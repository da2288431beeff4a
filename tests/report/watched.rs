//! The findings of a watch in a report: a log that `scorep-nccl watch` writes, and one with lines of all kinds.

use crate::report::{json, ran, report};
use crate::support::{marked, tool};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Writes the status files of eight ranks, of which rank 5 computes longer from the 20th second on.
fn statuses(directory: &Path) {
    for rank in 0..8 {
        let slow = |window| if rank == 5 && window > 20 { 0.075 } else { 0.0 };
        marked::write(directory, None, rank, |window| marked::usual(rank, window) + slow(window));
    }
}

#[test]
fn a_watchs_log_is_a_table_of_the_report() {
    let directory = TempDir::new().unwrap();
    let place = |name: &str| directory.path().join(name);
    fs::create_dir(place("statuses")).unwrap();
    statuses(&place("statuses"));
    let log = place("findings.jsonl");
    let mut watch = tool::tool();
    watch.arg("watch").arg(place("statuses")).args(["--once", "--interval", "1.5", "--log"]).arg(&log);
    assert_eq!(ran(&mut watch).0, Some(1));
    let mut command = report([tool::run("nvlink2_graph")]);
    command.arg("--findings").arg(&log).args(["--part", "findings", "--html"]).arg(place("page.html"));
    command.arg("--csv").arg(place("csv")).arg("--parquet").arg(place("parquet"));
    let (status, text, said) = ran(&mut command);
    assert_eq!(status, Some(0), "{said}");
    let about = "1 finding of this job in 1 line. 1 finding is not over";
    assert!(text.replace('\n', " ").contains(about), "{text}");
    assert!(text.lines().any(|line| line.contains("rank 5") && line.contains(" ms")), "{text}");
    let page = fs::read_to_string(place("page.html")).unwrap();
    assert!(page.contains("elsewhere1") && page.contains("Findings of a watch"));
    let rows = fs::read_to_string(place("csv/findings.csv")).unwrap();
    assert!(rows.lines().count() == 2 && rows.contains("rank 5,elsewhere1"), "{rows}");
    assert!(place("parquet/findings.parquet").exists());
}

/// Returns a line of a log.
fn line(second: u32, job: &str, change: &str, more: Value) -> String {
    let time = format!("2026-11-28T02:00:{second:02}Z");
    let mut line = json!({"schema": "scorep-nccl finding 1", "time": time, "job": job, "change": change, "text": "-"});
    let (Some(all), Value::Object(more)) = (line.as_object_mut(), more) else { unreachable!() };
    all.extend(more);
    line.to_string()
}

#[test]
fn begin_and_end_are_one_row_and_lines_without_a_finding_are_counted() {
    let directory = TempDir::new().unwrap();
    let place = |name: &str| directory.path().join(name);
    let rank =
        |rank: u32| json!({"kind": "rank", "rank": {"rank": rank, "host": "n1", "pid": rank + 9}, "excess": null});
    let hang = |text: &str| json!({"kind": "hang", "text": text});
    let lines = [
        line(1, "slurm 7", "begins", rank(3)),
        // of a second watcher
        line(2, "slurm 7", "begins", rank(3)),
        line(4, "slurm 7", "over", rank(3)),
        line(5, "slurm 7", "over", rank(3)),
        line(6, "slurm 7", "begins", rank(3)),
        line(3, "slurm 7", "over", rank(4)),
        line(7, "slurm 7", "begins", hang("the job hangs: rank 1 is behind.")),
        line(9, "slurm 7", "over", hang("it goes on; over: rank 1 is behind.")),
        line(1, "slurm 8", "begins", rank(1)),
        "half a li".into(),
        line(1, "slurm 7", "begins", rank(1)).replace("finding 1", "finding 2"),
        "x".repeat(5 << 20),
        line(8, "slurm 7", "begins", json!({"kind": "of tomorrow"})),
        String::new(),
    ];
    fs::write(place("log"), lines.join("\n")).unwrap();
    let mut command = report([tool::run("nvlink2_graph")]);
    command.arg("--findings").arg(place("log")).arg(place("missing")).arg("--json").arg(place("report.json"));
    let (status, _, said) = ran(&mut command);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains(&format!("{}: No such file", place("missing").display())), "{said}");
    let report = json(&place("report.json"));
    let findings = &report["findings"]["known"];
    let count = |kind: &str| findings[kind]["count"].as_u64().unwrap();
    assert_eq!((findings["lines"].as_u64(), count("unread"), count("newer"), count("too_long")), (Some(13), 2, 1, 1));
    let first = format!("{}, line 10", place("log").display());
    assert_eq!(findings["unread"]["first"], first.as_str());
    let second = |time: &Value| time.as_str().map(|text| text[17..19].to_owned());
    let rows: Vec<_> = findings["rows"].as_array().unwrap().iter().filter(|row| row["job"] == "slurm 7").collect();
    let shown: Vec<_> = rows
        .iter()
        .map(|row| (row["who"].as_str().unwrap(), second(&row["found"]), second(&row["until"]), row["lines"].as_u64()))
        .collect();
    let at = |second: &str| Some(second.to_owned());
    let expected = [
        ("rank 3", at("01"), at("04"), Some(4)),
        ("rank 4", None, at("03"), Some(1)),
        ("rank 3", at("06"), None, Some(1)),
        ("", at("07"), at("09"), Some(2)),
    ];
    assert_eq!(shown, expected);
    let notes = report["complete"]["notes"].to_string();
    assert!(notes.contains("Of the log of findings: Left out: 2 lines without a finding, first in "), "{notes}");
}
