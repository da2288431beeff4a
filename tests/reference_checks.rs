//! The reference, on figures that were worked out by hand: a reference that could not be wrong would prove nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod reference;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use reference::compare::compare;
use reference::fit::{Fit, fit};
use reference::operations::OperationRow;
use reference::{Reference, Sources, json, summarise_by, transfers};
use serde_json::{Value, json};

/// A process with rank 0 of communicator ab and rank 1 of communicator cd.
const FIRST: &str = include_str!("reference/by_hand/first.jsonl");

/// A process with rank 1 of communicator ab, under an interface that reports no API calls.
const SECOND: &str = include_str!("reference/by_hand/second.jsonl");

/// What the summary of the two must say.
fn by_hand() -> Value {
    let (ab, cd) = ("00000000000000ab", "00000000000000cd");
    json!({
        "schema": "scorep-nccl-summary-1",
        "processes": [
            // Unfinished: the send (handle 8), whose last step (13) never stops, and the receive (25), whose kernel channel (26)
            // never does. Invisible: calls 27 and 31. Out of step: 23, after the send to oneself (21), and 29, after call 27.
            {"process": 0, "pid": 1, "callbacks": 74, "events": 32, "windows": 2, "dropped": 0, "unfinished": 2,
             "invisible": 2, "out_of_step": 2, "ignored_handles": 0, "peak_memory_bytes": 3,
             // All but handles 2 and 5, whose stamps are right.
             "untimed": {"graph": 0, "no_event": 1, "cuda_failed": 0, "not_chosen": 1, "not_believed": 3}},
            {"process": 1, "pid": 4, "callbacks": 13, "events": 5, "windows": 5, "dropped": 0, "unfinished": 0,
             "invisible": 0, "out_of_step": 0, "ignored_handles": 0, "peak_memory_bytes": 6,
             "untimed": {"graph": 1, "no_event": 0, "cuda_failed": 0, "not_chosen": 0, "not_believed": 0}},
        ],
        "communicators": [
            {"comm": ab, "nranks": 2, "nnodes": 2, "name": "",
             "ranks": [{"rank": 0, "process": 0}, {"rank": 1, "process": 1}]},
            {"comm": cd, "nranks": 2, "nnodes": 1, "name": "pair", "ranks": [{"rank": 1, "process": 0}]},
        ],
        "operations": [
            // 2 x 100 elements of 2 bytes, 6000 - 1000 ns and 13000 - 10000 ns; and 1 of 4 bytes, out of step.
            {"comm": ab, "rank": 0, "kind": "Coll", "func": "AllReduce", "peer": null, "count": 3, "bytes": 404,
             "gpu_timed": 2, "event_timed": 0, "time_us": 8.0, "kernel_time_us": 8.0, "min_us": 3.0, "max_us": null},
            {"comm": ab, "rank": 0, "kind": "P2p", "func": "Recv", "peer": 1, "count": 1, "bytes": 24,
             "gpu_timed": 0, "event_timed": 0, "time_us": 0.0, "kernel_time_us": 0.0, "min_us": null, "max_us": null},
            {"comm": ab, "rank": 0, "kind": "P2p", "func": "Send", "peer": 0, "count": 1, "bytes": 1,
             "gpu_timed": 0, "event_timed": 0, "time_us": 0.0, "kernel_time_us": 0.0, "min_us": null, "max_us": null},
            {"comm": ab, "rank": 0, "kind": "P2p", "func": "Send", "peer": 1, "count": 1, "bytes": 64,
             "gpu_timed": 0, "event_timed": 0, "time_us": 0.0, "kernel_time_us": 0.0, "min_us": null, "max_us": null},
            {"comm": ab, "rank": 1, "kind": "Coll", "func": "AllReduce", "peer": null, "count": 1, "bytes": 200,
             "gpu_timed": 0, "event_timed": 0, "time_us": 0.0, "kernel_time_us": 0.0, "min_us": null, "max_us": null},
            {"comm": cd, "rank": 1, "kind": "Coll", "func": "AllGather", "peer": null, "count": 1, "bytes": 6,
             "gpu_timed": 0, "event_timed": 0, "time_us": 0.0, "kernel_time_us": 0.0, "min_us": null, "max_us": null},
        ],
        "transfers": [
            // Steps 10, 11, 12, 15: 1000 bytes in 2 us, 2000 in 3, 3000 in 4, 3000 in 5; from 2 to 4, 3 to 6, 10 to 14 and 20 to
            // 25 us, together 4 + 4 + 5. The fastest lie on 1 us + bytes / 1000. Of all, the means are 2250 bytes and 3.5 us, and
            // the sums about them xx = 2750000, xy = 3500, yy = 5: slope 7/5500, latency 3.5 - 2250 x 7/5500 = 7/11,
            // R2 = 3500^2 / (2750000 x 5) = 49/55.
            {"comm": ab, "rank": 0, "peer": 1, "transfers": 4, "bytes": 9000, "sizes": 3,
             "active_us": 13.0, "active_rate_mb_s": 9000.0 / 13.0,
             "avg": {"latency_us": 7.0 / 11.0, "rate_mb_s": 5500.0 / 7.0, "r2": 49.0 / 55.0, "n": 4},
             "min": {"latency_us": 1.0, "rate_mb_s": 1000.0, "r2": 1.0, "n": 3},
             "rate_mb_s": 1000.0, "latency_us": 1.0},
            // 500 bytes from 1 to 2 us and 500 from 1.5 to 2.5 us.
            {"comm": ab, "rank": 1, "peer": 0, "transfers": 2, "bytes": 1000, "sizes": 1,
             "active_us": 1.5, "active_rate_mb_s": 2000.0 / 3.0, "avg": null, "min": null,
             "rate_mb_s": 2000.0 / 3.0, "latency_us": null},
        ],
        "channels": [
            {"comm": ab, "rank": 0, "peer": 1, "channel": 3, "transfers": 3, "bytes": 6000,
             "mean_size_bytes": 2000.0, "mean_time_us": 3.0},
            {"comm": ab, "rank": 0, "peer": 1, "channel": 4, "transfers": 1, "bytes": 3000,
             "mean_size_bytes": 3000.0, "mean_time_us": 5.0},
            {"comm": ab, "rank": 1, "peer": 0, "channel": 0, "transfers": 2, "bytes": 1000,
             "mean_size_bytes": 500.0, "mean_time_us": 1.0},
        ],
    })
}

fn summarise_texts(texts: &[&str]) -> Reference {
    summarise_texts_by(texts, Sources::Both)
}

fn summarise_texts_by(texts: &[&str], sources: Sources) -> Reference {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (rank, text) in texts.iter().enumerate() {
        let path = folder.path().join(format!("hand.r{rank}.jsonl.gz"));
        let mut encoder = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap();
        paths.push(path);
    }
    summarise_by(&paths, sources).unwrap()
}

fn reference() -> Reference {
    summarise_texts(&[FIRST, SECOND])
}

fn captures_of(run: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(run);
    let mut paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    paths.sort();
    paths
}

#[test]
fn figures_worked_out_by_hand() {
    assert_eq!(compare(&by_hand(), &reference()), Vec::<String>::new());
}

/// Every value of the summary in turn becomes another: each must be found, but for those that no capture determines.
#[test]
fn no_wrong_value_goes_unseen() {
    let reference = reference();
    let mut places = Vec::new();
    leaves(&by_hand(), String::new(), &mut places);
    assert!(places.len() > 150, "{}", places.len());
    for place in places {
        let mut wrong = by_hand();
        let value = wrong.pointer_mut(&place).unwrap();
        *value = match value {
            Value::Number(number) if number.is_f64() => {
                json!(number.as_f64().unwrap() * 1.002 + 1e-6)
            }
            Value::Number(number) => json!(number.as_i64().unwrap() + 1),
            Value::String(text) => json!(format!("{text}x")),
            _ => json!(0),
        };
        let free = ["pid", "windows", "peak_memory_bytes"].iter().any(|name| place.ends_with(name));
        assert_eq!(compare(&wrong, &reference).is_empty(), free, "{place}");
        // A count that no capture determines must still be one.
        *wrong.pointer_mut(&place).unwrap() = json!([]);
        assert!(!compare(&wrong, &reference).is_empty(), "{place}");
    }
}

fn leaves(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| leaves(value, format!("{place}/{name}"), places)),
        Value::Array(rows) => rows.iter().enumerate().for_each(|(i, value)| leaves(value, format!("{place}/{i}"), places)),
        _ => places.push(place),
    }
}

#[test]
fn missing_doubled_and_extra_rows_are_named() {
    let reference = reference();
    let key = "comm=\"00000000000000ab\" rank=0 peer=1 channel=3";
    let differences = |change: fn(&mut Vec<Value>)| {
        let mut summary = by_hand();
        change(summary["channels"].as_array_mut().unwrap());
        compare(&summary, &reference)
    };
    assert_eq!(differences(|rows| drop(rows.remove(0))), [format!("channels [{key}]: missing row")]);
    assert_eq!(differences(|rows| rows.push(rows[0].clone())), [format!("channels [{key}]: 2 rows instead of one")]);
    let extra = |rows: &mut Vec<Value>| {
        rows.push(rows[0].clone());
        rows[3]["rank"] = json!(9);
    };
    assert_eq!(differences(extra), [format!("channels [{}]: extra row", key.replace("rank=0", "rank=9"))]);
    let mut summary = by_hand();
    summary["channels"] = json!(null);
    assert_eq!(compare(&summary, &reference), ["channels: is no list"]);
}

#[test]
fn tolerances_are_those_promised() {
    let reference = reference();
    let differences = |place: &str, factor: f64| {
        let mut summary = by_hand();
        let value = summary.pointer_mut(place).unwrap();
        *value = json!(value.as_f64().unwrap() * factor);
        compare(&summary, &reference).len()
    };
    for time in ["/operations/0/time_us", "/transfers/0/active_us", "/channels/0/mean_time_us"] {
        assert_eq!((differences(time, 1.0009), differences(time, 0.9989)), (0, 1), "{time}");
    }
    for fitted in ["/transfers/0/avg/latency_us", "/transfers/0/min/rate_mb_s", "/transfers/0/min/r2", "/transfers/1/rate_mb_s"] {
        assert_eq!((differences(fitted, 1.000_000_9), differences(fitted, 0.999_998_9)), (0, 1), "{fitted}");
    }
}

/// Without a communicator's own rank among the peers, and with every call followed, every operation with stamps is timed.
#[test]
fn in_step_to_the_end() {
    let followed = FIRST.replace("\"peer\":0", "\"peer\":7").replace(
        "\"type\":\"CollApi\",\"parent\":0,\"rank\":0,\"func\":\"Broadcast\"",
        "\"type\":\"GroupApi\",\"parent\":0,\"rank\":0",
    );
    let reference = summarise_texts(&[&followed]);
    let process = &reference.processes[0];
    assert_eq!((process.out_of_step, process.invisible, process.unfinished), (0, 1, 2));
    let reduce = &reference.operations[0];
    assert_eq!((reduce.gpu_timed, reduce.time_us, reduce.max_us), (3, 68.0, Some(60.0)));
}

/// Kernels of one communicator, in the order of their launches: an all-reduce by TREE, without events; a send and a receive in one kernel; an
/// all-reduce by PAT, alone; one by TREE with events that no kernel can be between; two silent broadcasts in a group; one without events.
const KERNELS: &str = include_str!("reference/by_hand/kernels.jsonl");

#[test]
fn times_of_kernels_worked_out_by_hand() {
    let row = |kind: &str, func: &str, peer, counts: [usize; 3], bytes, [time_us, kernel_time_us, each]: [f64; 3]| {
        let of = |most: bool| if counts[1] > 0 && most { Some(each) } else { None };
        let (comm, kind, func) = ("00000000000000ef".into(), kind.into(), func.into());
        let [count, gpu_timed, event_timed] = counts;
        let (min_us, max_us) = (of(true), of(count == gpu_timed));
        let rank = 0;
        OperationRow {
            comm,
            rank,
            kind,
            func,
            peer,
            count,
            bytes,
            gpu_timed,
            event_timed,
            time_us,
            kernel_time_us,
            min_us,
            max_us,
        }
    };
    let of = |sources| {
        let reference = summarise_texts_by(&[KERNELS], sources);
        let process = &reference.processes[0];
        assert_eq!((process.callbacks, process.events, process.unfinished, process.out_of_step), (50, 21, 0, 0));
        let (invisible, untimed) = (process.invisible, process.untimed);
        (reference.operations, invisible, untimed)
    };
    // The events' clock is 1000500 ns ahead of the host's at most. The first event before the send and the receive happened at once, when
    // the host was not done with the launch: from 12000 + 1000500 to 1030500 ns. That before the third kernel had to wait: 1054500 to
    // 1064500 ns. The broadcasts' group was over at 85000: 85000 + 1000500 to 1100600 ns.
    let broadcasts = row("Coll", "Broadcast", None, [2, 2, 2], 28, [30.2, 15.1, 15.1]);
    // the kernel counts with the send, which is first
    let p2p = |func: &str, kernel| row("P2p", func, Some(1), [1, 1, 1], 1, [18.0, kernel, 18.0]);
    let all_reduces = |timed: [usize; 3], time| row("Coll", "AllReduce", None, timed, 3, [time; 3]);
    let rest = [broadcasts, p2p("Recv", 0.0), p2p("Send", 18.0)];
    let with = |first: OperationRow| [vec![first], rest.to_vec()].concat();
    assert_eq!(of(Sources::Both), (with(all_reduces([3, 1, 0], 7.0)), 1, 2));
    assert_eq!(of(Sources::Events), (with(all_reduces([3, 1, 1], 10.0)), 1, 2));
    let untimed = |func: &str| row("P2p", func, Some(1), [1, 0, 0], 1, [0.0; 3]);
    let by_stamps = vec![all_reduces([3, 1, 0], 7.0), untimed("Recv"), untimed("Send")];
    assert_eq!(of(Sources::Stamps), (by_stamps, 3, 4));
}

#[test]
fn lines_with_known_answers() {
    // 250 ns + bytes / 2, wherever the sizes lie: 0.25 us and 2 bytes a nanosecond.
    for offset in [0, 1_000_000_000_000] {
        let points = [0, 2, 10, 4].map(|bytes: i64| (offset + bytes, 250 + (offset + bytes) / 2));
        let fit = fit(&points).unwrap();
        assert!((fit.latency_us - 0.25).abs() < 1e-3, "{fit:?}");
        assert_eq!((fit.rate_mb_s, fit.r2, fit.n), (Some(2000.0), Some(1.0), 4));
    }
    let flat = Fit { latency_us: 0.7, rate_mb_s: None, r2: None, n: 3 };
    assert_eq!(fit(&[(1, 700), (2, 700), (5, 700)]), Some(flat));
    let falling = fit(&[(0, 300), (100, 100)]).unwrap();
    assert_eq!(falling, Fit { latency_us: 0.3, rate_mb_s: Some(-500.0), r2: Some(1.0), n: 2 });
    assert_eq!(fit(&[(5, 1), (5, 2)]), None);
    assert_eq!(fit(&[]), None);
}

#[test]
fn unions_with_known_answers() {
    assert_eq!(transfers::union(vec![]), 0);
    // Apart, touching, overlapping, inside, the same again, empty.
    assert_eq!(transfers::union(vec![(10, 12), (0, 4), (4, 5), (11, 15), (12, 13), (0, 4), (7, 7)]), 10);
    assert_eq!(transfers::fastest(&[(8, 3), (4, 9), (8, 2), (4, 7)]), [(4, 7), (8, 2)]);
}

/// The two passes round; sums of whole numbers do not. On real transfers both must give the same line.
#[test]
fn two_passes_lose_no_digits_on_real_transfers() {
    let mut fits = 0;
    for run in ["net2_collectives", "nodes2x2_collectives"] {
        for path in captures_of(run) {
            let recording = json::read(&path).unwrap();
            let transfers = transfers::all(&[&recording]).unwrap();
            let points = transfers::points(&transfers);
            for points in [transfers::fastest(&points), points] {
                let Some(fit) = fit(&points) else { continue };
                let sum = |term: fn(i128, i128) -> i128| points.iter().map(|&(x, y)| term(x.into(), y.into())).sum::<i128>();
                let n = points.len() as i128;
                let (x, y) = (sum(|x, _| x), sum(|_, y| y));
                let xx = n * sum(|x, _| x * x) - x * x;
                let xy = n * sum(|x, y| x * y) - x * y;
                let yy = n * sum(|_, y| y * y) - y * y;
                let rate = 1000.0 * xx as f64 / xy as f64;
                let latency = (y * xx - x * xy) as f64 / (n * xx) as f64 / 1000.0;
                let r2 = (xy as f64 / xx as f64) * (xy as f64 / yy as f64);
                for (two_passes, exact) in [(fit.rate_mb_s.unwrap(), rate), (fit.latency_us, latency), (fit.r2.unwrap(), r2)] {
                    assert!((two_passes - exact).abs() <= 1e-11 * exact.abs(), "{two_passes} {exact} in {}", path.display());
                }
                fits += 1;
            }
        }
    }
    assert_eq!(fits, 12);
}
