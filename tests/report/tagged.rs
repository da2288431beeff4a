//! The operations by tag against a plain count, and the report of one tag's operations: times between them hold
//! operations of other tags, and are no rank's own.

use crate::report::{ran, report};
use crate::support::edited::Edited;
use crate::support::tool;
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The parts that are made of times between operations.
const BETWEEN: [&str; 5] = ["steps", "budget", "phases", "stragglers", "swim"];
/// The planted tags in the order of their rows.
const TAGS: [&str; 4] = ["7", "none", "9", "18446744073709551614"];
const REASON: &str = "with --tag 7, operations of other tags are left out";

/// Returns a training's recordings whose tensor-parallel all-reduces have the tag 7, and its other operations none.
pub(crate) fn tagged() -> Vec<Edited> {
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

/// Returns the report as JSON.
fn json_of(paths: &[PathBuf], options: &[&str]) -> Value {
    serde_json::from_str(&tool::succeed(report(paths).args(options).args(["--json", "-"]))).unwrap()
}

/// Returns the rows of a table in CSV by the names of its columns.
fn rows_of_csv(path: &Path) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

/// Returns the lines of recordings.
fn lines(paths: &[PathBuf]) -> Vec<Value> {
    let text = |path: &PathBuf| std::io::read_to_string(MultiGzDecoder::new(File::open(path).unwrap())).unwrap();
    let texts: Vec<String> = paths.iter().map(text).collect();
    texts.iter().flat_map(|text| text.lines()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns tag, operations and bytes of the rows of a report.
fn rows_by_tag(report: &Value) -> Vec<(String, u64, u64)> {
    let rows = report["tags"]["known"]["rows"].as_array().unwrap();
    let number = |value: &Value| value.as_u64().unwrap();
    rows.iter()
        .map(|row| (row["tag"].as_str().unwrap().to_owned(), number(&row["operations"]), number(&row["bytes"])))
        .collect()
}

/// Returns the same by a plain count of the operations of these types, whose elements take two bytes.
fn counted(lines: &[Value], types: &[&str]) -> Vec<(String, u64, u64)> {
    let mut sums: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    let is_begin = |line: &&Value| line["cb"] == "start" && types.iter().any(|it| line["type"] == *it);
    for line in lines.iter().filter(is_begin) {
        assert_eq!(line["dtype"], "ncclBfloat16");
        let sum = sums.entry(line["tag"].as_u64().unwrap_or(0)).or_default();
        *sum = [sum[0] + 1, sum[1] + 2 * line["count"].as_u64().unwrap()];
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by(|one, other| (other.1[1], other.1[0], one.0).cmp(&(one.1[1], one.1[0], other.0)));
    let name = |tag: u64| if tag == 0 { "none".to_owned() } else { tag.to_string() };
    rows.into_iter().map(|(tag, [operations, bytes])| (name(tag), operations, bytes)).collect()
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
    let of = |options: &[&str]| json_of(&paths(&recordings), options);
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

    let of_tags = rows_by_tag(&all);
    assert_eq!(rows_by_tag(&tagged), of_tags.into_iter().filter(|(tag, ..)| tag == "7").collect::<Vec<_>>());
    let without = of(&["--tag", "0"]);
    let reason = "No operation of the report has a tag (userTag, NCCL 2.31 and later).";
    assert_eq!((&without["tags"]["absent"], &without["complete"]["operations"]), (&json!(reason), &json!(192)));
}

/// A tag that needs all 64 bits for sends, 9 for receives, 7 for three of four all-reduces.
#[test]
fn rows_by_tag_are_those_of_a_plain_count() {
    let tag = |line: &mut Value| {
        let tag = match (line["type"].as_str(), line["func"].as_str()) {
            (Some("P2p"), Some("Send")) => json!(u64::MAX - 1),
            (Some("P2p"), Some("Recv")) => json!(9),
            (Some("Coll"), _) if !line["seq"].as_u64().unwrap().is_multiple_of(4) => json!(7),
            _ => return,
        };
        line["tag"] = tag;
    };
    let edited: Vec<Edited> =
        tool::captures(&tool::run("nodes2x2_train")).iter().map(|capture| Edited::of(capture, tag)).collect();
    let (mut paths, directory) = (paths(&edited), TempDir::new().unwrap());
    let all = json_of(&paths, &["--csv", directory.path().to_str().unwrap()]);
    let rows = rows_by_tag(&all);
    assert_eq!(rows, counted(&lines(&paths), &["Coll", "P2p"]));
    assert_eq!(rows.iter().map(|(_, operations, _)| operations).sum::<u64>(), 960);
    assert_eq!(rows.iter().map(|(tag, ..)| tag.as_str()).collect::<Vec<_>>(), TAGS);

    // the times of calls, by what their tag was planted by
    let mut times: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for call in rows_of_csv(&directory.path().join("operations.csv")) {
        assert!(call["source"] == "events" || call["source"] == "stamps", "{call:?}");
        assert_eq!(call["fused"], "false");
        let tag = match call["function"].as_str() {
            "Send" => TAGS[3],
            "Recv" => "9",
            _ if !call["sequence"].parse::<u64>().unwrap().is_multiple_of(4) => "7",
            _ => "none",
        };
        assert_eq!(if call["tag"].is_empty() { "none" } else { &call["tag"] }, tag, "{call:?}");
        let of_tag = times.entry(tag).or_default();
        *of_tag = (of_tag.0 + 1, of_tag.1 + call["duration_ns"].parse::<u64>().unwrap());
    }
    for row in all["tags"]["known"]["rows"].as_array().unwrap() {
        let (timed, time) = times[row["tag"].as_str().unwrap()];
        assert_eq!((&row["timed"], &row["time_us"]), (&json!(timed), &json!(time as f64 / 1e3)), "{row}");
    }

    // the table is the same
    let table = rows_of_csv(&directory.path().join("tags.csv"));
    let names: Vec<&str> = table.iter().map(|row| row["tag"].as_str()).collect();
    assert_eq!(names, TAGS);
    let functions: Vec<&str> = table.iter().map(|row| row["functions"].as_str()).collect();
    assert_eq!(functions, ["AllReduce", "AllReduce", "SendRecv", "SendRecv"]);
    // so are the rows, in whatever order the inputs come
    paths.reverse();
    assert_eq!(json_of(&paths, &[])["tags"], all["tags"]);
}

/// The sends of an all-to-all have one tag and its receives another: their common time is neither's.
#[test]
fn a_time_of_two_tags_is_of_neither() {
    let tag = |line: &mut Value| {
        if line["type"] == "P2p" {
            line["tag"] = json!(if line["func"] == "Send" { 1 } else { 2 });
        }
    };
    let edited: Vec<Edited> =
        tool::captures(&tool::run("truth_moe")).iter().map(|capture| Edited::of(capture, tag)).collect();
    let all = json_of(&paths(&edited), &[]);
    let expected = counted(&lines(&paths(&edited)), &["P2p"]);
    let rows = rows_by_tag(&all);
    assert_eq!(rows.iter().filter(|(tag, ..)| tag != "none").cloned().collect::<Vec<_>>(), expected);
    for row in all["tags"]["known"]["rows"].as_array().unwrap() {
        let is_timed = row["timed"].as_u64().unwrap() > 0 && row["time_us"].as_f64().is_some_and(|us| us > 0.0);
        assert_eq!(is_timed, row["tag"] == "none", "{row}");
    }
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
    assert!(text.contains("Operations by tag") && page.contains("id=\"tags\""), "{text}");
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
