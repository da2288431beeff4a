//! The report of one tag's operations: times between them hold operations of other tags, and are no rank's own.

use crate::{ran, report, tool};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

const RANKS: u64 = 8;
const STEPS: u64 = 30;
const TAG: u64 = 7;
const US: u64 = 1000;
/// Time of day and the process' clock at time 0 of a recording.
const DAY: u64 = 1_795_151_200_000_000_000;
/// Elements of an operation without a tag and of one with it, float32.
const TENSOR: u64 = 1 << 18;
const DATA: u64 = 1 << 22;

/// The parts that are made of times between operations.
const BETWEEN: [&str; 6] = ["steps", "budget", "phases", "stragglers", "swim", "callbacks"];

/// When a rank begins an all-reduce, and when it ends; nanoseconds.
type Span = [u64; 2];

/// Returns the times of a rank's two all-reduces in each step: the first in its pair, the second, which has the tag,
/// with all ranks. Every rank computes for 1 ms before each of them; rank 0 computes for 3 ms before the first one, and
/// rank 1 waits for it there.
fn times(rank: u64) -> Vec<[Span; 2]> {
    let mut begin = 500 * US;
    let step = |number: u64| {
        let jitter = |rank: u64| (number * 7 + rank * 5) % 11 * US;
        let tensor = |rank: u64| begin + if rank == 0 { 3000 } else { 1000 } * US + jitter(rank);
        let end = |rank: u64| tensor(rank).max(tensor(rank ^ 1)) + 100 * US;
        let data = |rank: u64| end(rank) + 1000 * US + jitter(rank + 3);
        let all = (0..RANKS).map(data).max().unwrap() + 400 * US;
        let spans = [[tensor(rank), end(rank)], [data(rank), all]];
        begin = all;
        spans
    };
    (0..STEPS).map(step).collect()
}

/// Writes the recording of a rank.
fn record(directory: &Path, rank: u64) {
    let file = File::create(directory.join(format!("tagged.r{rank}.jsonl.gz"))).unwrap();
    let mut file = GzEncoder::new(file, Compression::fast());
    let mut write = |line: Value| writeln!(file, "{line}").unwrap();
    write(json!({"cb": "meta", "format": 1, "api": 7, "mask": 4095, "pid": 1000 + rank, "real0": DAY,
        "mono0": 1_000_000_000, "dropped": 0}));
    let communicators = [(1, 0xaa, RANKS, rank), (2, 0xb0 + rank / 2, 2, rank % 2)];
    for (ctx, comm, nranks, rank) in communicators {
        write(json!({"t": ctx * US, "tid": 1, "cb": "init", "ctx": ctx, "comm": format!("{comm:016x}"), "name": "",
            "nnodes": 1, "nranks": nranks, "rank": rank}));
    }
    let mut handle = 0;
    for (seq, spans) in times(rank).into_iter().enumerate() {
        let operations = [(2, rank % 2, TENSOR, 0), (1, rank, DATA, TAG)];
        for ((ctx, rank, count, tag), [start, stop]) in operations.into_iter().zip(spans) {
            handle += 2;
            let (operation, kernel, enqueued) = (handle - 1, handle, start - 20 * US);
            let mut begin = json!({"t": enqueued, "tid": 1, "cb": "start", "ctx": ctx, "h": operation, "type": "Coll",
                "parent": 0, "rank": rank, "seq": seq, "func": "AllReduce", "count": count, "dtype": "ncclFloat32",
                "root": 0, "nch": 1, "nwarps": 8, "algo": "RING", "proto": "SIMPLE"});
            if tag != 0 {
                begin["tag"] = json!(tag);
            }
            write(begin);
            write(json!({"t": enqueued + US, "tid": 1, "cb": "stop", "h": operation}));
            write(json!({"t": start, "tid": 2, "cb": "start", "ctx": ctx, "h": kernel, "type": "KernelCh",
                "parent": operation, "rank": rank, "ch": 0, "ptimer": DAY + start}));
            write(json!({"t": stop, "tid": 2, "cb": "state", "h": kernel, "state": 22, "arg": DAY + stop}));
            write(json!({"t": stop, "tid": 2, "cb": "stop", "h": kernel}));
        }
    }
    file.finish().unwrap();
}

fn of(recordings: &Path, options: &[&str]) -> Value {
    let text = tool::succeed(report([recordings]).args(options).args(["--json", "-"]));
    serde_json::from_str(&text).unwrap()
}

/// Returns the sizes of operations, and how many there were of each.
fn sizes(report: &Value) -> Vec<(u64, u64)> {
    let rows = report["speed"]["known"]["rows"].as_array().unwrap();
    let mut sizes: Vec<_> =
        rows.iter().map(|row| (row["from_bytes"].as_u64().unwrap(), row["count"].as_u64().unwrap())).collect();
    sizes.sort_unstable();
    sizes
}

#[test]
fn times_between_the_operations_of_a_tag_are_no_ranks_own() {
    let directory = TempDir::new().unwrap();
    let recordings = directory.path().join("recordings");
    fs::create_dir(&recordings).unwrap();
    (0..RANKS).for_each(|rank| record(&recordings, rank));

    let all = of(&recordings, &[]);
    let found = all["stragglers"]["known"]["found"].as_array().unwrap();
    let names: Vec<_> = found.iter().map(|it| (it["name"].as_str().unwrap(), it["gpus"].clone())).collect();
    assert!(matches!(&names[..], [(_, gpus)] if *gpus == json!([0])), "{names:?}");
    assert_eq!(sizes(&all), [(TENSOR * 4, STEPS * RANKS / 2), (DATA * 4, STEPS)]);
    assert!(BETWEEN.iter().filter(|part| **part != "phases").all(|part| all[part].get("known").is_some()));

    let tagged = of(&recordings, &["--tag", "7"]);
    for part in BETWEEN {
        let reason = tagged[part]["absent"].as_str().unwrap_or_else(|| panic!("{part}: {}", tagged[part]));
        assert!(reason.starts_with("with --tag 7, ") && reason.ends_with("leave --tag out for this part."), "{reason}");
    }
    for answer in ["late", "cost"] {
        let (text, verdict) =
            (tagged["answers"][answer]["text"].as_str().unwrap(), &tagged["answers"][answer]["verdict"]);
        assert!(text.starts_with("Not known: with --tag 7, ") && verdict == "unknown", "{verdict}: {text}");
    }
    assert_eq!(tagged["series"]["outside_us"], json!([]));
    assert_eq!((&tagged["series"]["of_steps"], &tagged["series"]["lengths_us"]), (&json!(false), &json!([])));
    let notes = tagged["complete"]["notes"].to_string();
    assert!(notes.contains("Only the operations with tag 7 are in the report: 240 of 480."), "{notes}");
    assert!(notes.contains("leave --tag out for them"), "{notes}");

    // what ranks do to each other within an operation stays
    assert_eq!(tagged["complete"]["operations"], json!(STEPS * RANKS));
    assert_eq!(sizes(&tagged), [(DATA * 4, STEPS)]);
    let late = &tagged["late"]["known"];
    assert_eq!((&late["compared"], &late["resolved"]), (&json!(STEPS), &json!(STEPS)));
    let ranks = late["ranks"].as_array().unwrap();
    let wait = |rank: usize| ranks[rank]["wait_us"].as_f64().unwrap();
    // 2 ms a step, for rank 0 or 1
    assert!((2..8).all(|rank| wait(rank) > 1900.0 * STEPS as f64), "{ranks:?}");
    assert!(wait(0) + wait(1) < 50.0 * STEPS as f64, "{ranks:?}");
    let last: u64 = ranks.iter().map(|rank| rank["last"].as_u64().unwrap()).sum();
    assert_eq!(last, STEPS);
    assert!(ranks.iter().all(|rank| rank["own_us"].is_null() && rank["propagated_us"].is_null()), "{ranks:?}");
    let worst = late["worst"].as_array().unwrap();
    assert!(!worst.is_empty() && worst.iter().all(|row| row["propagated"].is_null() && row["before"].is_null()));
    let rows = tagged["communicators"]["known"]["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["operations"] == json!(STEPS * RANKS)), "{rows:?}");
}

#[test]
fn every_form_of_a_tags_report_says_why_parts_are_absent() {
    let directory = TempDir::new().unwrap();
    let place = |name: &str| directory.path().join(name);
    fs::create_dir(place("recordings")).unwrap();
    (0..RANKS).for_each(|rank| record(&place("recordings"), rank));
    let mut command = report([place("recordings")]);
    command.args(["--tag", "7", "--all", "--html"]).arg(place("page.html")).arg("--csv").arg(place("csv"));
    command.arg("--perfetto").arg(place("trace"));
    let (status, text, said) = ran(&mut command);
    assert_eq!(status, Some(0), "{said}");
    let reason = "with --tag 7, operations of other tags are left out";
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(reason), "{text}");
    let page = fs::read_to_string(place("page.html")).unwrap();
    assert!(page.contains(reason) && page.contains("own or passed on") && !page.contains("largest own cost"));
    let table = fs::read_to_string(place("csv/late.csv")).unwrap();
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let column = |name: &str| names.iter().position(|it| *it == name).unwrap();
    for row in lines {
        assert_eq!((row[column("own_us")], row[column("propagated_us")]), ("", ""), "{table}");
        assert_ne!(row[column("wait_us")], "", "{table}");
    }
    assert!(["budget.csv", "stragglers.csv", "steps.csv"].iter().all(|name| !place("csv").join(name).exists()));
}
