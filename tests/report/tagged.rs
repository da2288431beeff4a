//! The report of one tag's operations: times between them hold operations of other tags, and are no rank's own.

use crate::edited::Edited;
use crate::{ran, report, tool};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// The parts that are made of times between operations.
const BETWEEN: [&str; 6] = ["steps", "budget", "phases", "stragglers", "swim", "callbacks"];
const REASON: &str = "with --tag 7, operations of other tags are left out";

/// Returns a training's recordings whose tensor-parallel all-reduces have the tag 7, and its other operations none.
fn tagged() -> Vec<Edited> {
    let tag = |line: &mut Value| {
        if line["ctx"] == 2 && (line["type"] == "Coll" || line["type"] == "CollApi") {
            line["tag"] = json!(7);
        }
    };
    tool::captures(&tool::run("nodes2x2_train")).iter().map(|capture| Edited::of(capture, tag)).collect()
}

fn paths(recordings: &[Edited]) -> Vec<PathBuf> {
    recordings.iter().map(Edited::path).collect()
}

/// Returns functions, and how many operations there were of each.
fn counts(report: &Value) -> Vec<(&str, u64)> {
    let rows = report["speed"]["known"]["rows"].as_array().unwrap();
    let mut counts: Vec<_> =
        rows.iter().map(|row| (row["function"].as_str().unwrap(), row["count"].as_u64().unwrap())).collect();
    counts.sort_unstable();
    counts
}

#[test]
fn times_between_the_operations_of_a_tag_are_no_ranks_own() {
    let recordings = tagged();
    let of = |options: &[&str]| -> Value {
        let text = tool::succeed(report(paths(&recordings)).args(options).args(["--json", "-"]));
        serde_json::from_str(&text).unwrap()
    };
    let all = of(&[]);
    assert!(BETWEEN.iter().all(|part| all[part].get("known").is_some()));
    assert_eq!(counts(&all), [("AllReduce", 192), ("AllReduce", 192), ("SendRecv", 48), ("SendRecv", 48)]);

    let tagged = of(&["--tag", "7"]);
    for part in BETWEEN {
        let reason = tagged[part]["absent"].as_str().unwrap_or_default();
        assert!(reason.starts_with(REASON) && reason.ends_with("leave --tag out for this part."), "{part}: {reason}");
    }
    for answer in ["late", "cost"] {
        let answer = &tagged["answers"][answer];
        let text = answer["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("Not known: {REASON}")) && answer["verdict"] == "unknown", "{answer}");
    }
    let series = &tagged["series"];
    for list in ["lengths_us", "waits_us", "outside_us"] {
        assert_eq!((&series[list], &series["of_steps"]), (&json!([]), &json!(false)), "{list}");
    }
    let notes = tagged["complete"]["notes"].to_string();
    assert!(notes.contains("Only the operations with tag 7 are in the report: 768 of 960."), "{notes}");
    assert!(notes.contains("leave --tag out for them"), "{notes}");

    // the waits of ranks for each other in an operation stay
    assert_eq!(tagged["complete"]["operations"], 768);
    assert_eq!(counts(&tagged), [("AllReduce", 192), ("AllReduce", 192)]);
    let late = &tagged["late"]["known"];
    assert_eq!((&late["steps"], &late["compared"], &late["resolved"]), (&json!(0), &json!(384), &json!(115)));
    for rank in late["ranks"].as_array().unwrap() {
        assert_eq!(
            (&rank["calls"], &rank["own_us"], &rank["propagated_us"]),
            (&json!(192), &Value::Null, &Value::Null)
        );
        assert!(["wait_us", "cost_us", "last"].iter().all(|of| rank[of].as_f64().unwrap() > 0.0), "{rank}");
    }
    let worst = late["worst"].as_array().unwrap();
    assert!(!worst.is_empty() && worst.iter().all(|row| row["propagated"].is_null() && row["before"].is_null()));
    let rows = tagged["communicators"]["known"]["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["operations"].as_u64().unwrap()).sum::<u64>(), 768);
}

#[test]
fn every_form_of_a_tags_report_says_why_parts_are_absent() {
    let (directory, recordings) = (TempDir::new().unwrap(), tagged());
    let place = |name: &str| directory.path().join(name);
    let mut command = report(paths(&recordings));
    command.args(["--tag", "7", "--all", "--html"]).arg(place("page.html")).arg("--csv").arg(place("csv"));
    command.arg("--perfetto").arg(place("trace"));
    let (status, text, said) = ran(&mut command);
    assert_eq!(status, Some(0), "{said}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(REASON), "{text}");
    let page = fs::read_to_string(place("page.html")).unwrap();
    assert!(page.contains(REASON) && page.contains("own or passed on") && !page.contains("largest own cost"));
    let table = fs::read_to_string(place("csv/late.csv")).unwrap();
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let column = |name: &str| names.iter().position(|it| *it == name).unwrap();
    let rows: Vec<_> = lines.collect();
    assert_eq!(rows.len(), 4, "{table}");
    for row in rows {
        assert_eq!((row[column("own_us")], row[column("propagated_us")]), ("", ""), "{table}");
        assert_ne!(row[column("wait_us")], "", "{table}");
    }
}
