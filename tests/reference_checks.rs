//! Checks of the reference with figures computed by hand: a reference that accepts wrong figures would prove nothing.

use crate::support::reference;

use std::fs::File;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use reference::compare::compare;
use reference::fit::fit;
use reference::operations::OperationRow;
use reference::transfers::{self, Regression, Service};
use reference::{Reference, Sources, summarise_by};
use serde_json::{Value, json};

/// A process with rank 0 of communicator ab and rank 1 of communicator cd.
const FIRST: &str = include_str!("support/reference/by_hand/first.jsonl");

/// A process with rank 1 of communicator ab, under an interface that reports no API calls.
const SECOND: &str = include_str!("support/reference/by_hand/second.jsonl");

/// Returns the expected summary of both processes.
fn by_hand() -> Value {
    let (ab, cd) = ("00000000000000ab", "00000000000000cd");
    let (slope, mean, sxx) = (419_400.0 / 941_625.0, 1263.0 / 586.0, 941_625.0 / 586.0 / 900.0);
    let latency = (1380.0 - 1263.0 * slope) / 586.0;
    let variance: f64 = (205_200.0 - 419_400.0 * slope) / 586.0 / 900.0 / 2.0;
    json!({
        "schema": "scorep-nccl-summary-1",
        "processes": [
            // Unfinished: the send (handle 8), whose last step (13) never stops, and the receive (25), whose kernel
            // channel (26) never does. Invisible: calls 27 and 31. Out of step: 23, after the send to oneself (21), and
            // 29, after call 27.
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
             "gpu_timed": 2, "event_timed": 0, "time_us": 8.0, "kernel_time_us": 8.0, "kernel_once_us": 8.0,
             "min_us": 3.0, "max_us": null},
            {"comm": ab, "rank": 0, "kind": "P2p", "func": "Recv", "peer": 1, "count": 1, "bytes": 24,
             "gpu_timed": 0, "event_timed": 0, "time_us": 0.0, "kernel_time_us": 0.0, "kernel_once_us": 0.0,
             "min_us": null, "max_us": null},
            {"comm": ab, "rank": 0, "kind": "P2p", "func": "Send", "peer": 0, "count": 1, "bytes": 1,
             "gpu_timed": 0, "event_timed": 0, "time_us": 0.0, "kernel_time_us": 0.0, "kernel_once_us": 0.0,
             "min_us": null, "max_us": null},
            {"comm": ab, "rank": 0, "kind": "P2p", "func": "Send", "peer": 1, "count": 1, "bytes": 64,
             "gpu_timed": 0, "event_timed": 0, "time_us": 0.0, "kernel_time_us": 0.0, "kernel_once_us": 0.0,
             "min_us": null, "max_us": null},
            {"comm": ab, "rank": 1, "kind": "Coll", "func": "AllReduce", "peer": null, "count": 1, "bytes": 200,
             "gpu_timed": 0, "event_timed": 0, "time_us": 0.0, "kernel_time_us": 0.0, "kernel_once_us": 0.0,
             "min_us": null, "max_us": null},
            {"comm": cd, "rank": 1, "kind": "Coll", "func": "AllGather", "peer": null, "count": 1, "bytes": 6,
             "gpu_timed": 0, "event_timed": 0, "time_us": 0.0, "kernel_time_us": 0.0, "kernel_once_us": 0.0,
             "min_us": null, "max_us": null},
        ],
        "transfers": [
            // Steps 10, 11, 12 by channel 3, and 15 by channel 4: 1000 bytes from 2 to 4 us, 2000 from 3 to 6, 3000
            // from 10 to 13, 8000 from 20 to 25, together 4 + 3 + 5. Step 11 waits behind 10 until 4 us, so the service
            // times are 2, 2, 3 and 5 us, and 1, 2, 1 and 1 are in flight. In kB and us, with the weights 225, 225, 100
            // and 36 (900 / time^2): sums w 586, wx 1263, wy 1380, wxx 4329, wxy 3690, wyy 3600; 586 wxx - wx wx =
            // 941625, 586 wxy - wx wy = 419400, 586 wyy - wy wy = 205200. Slope 419400 / 941625, latency (1380 - 1263
            // slope) / 586.
            {"comm": ab, "rank": 0, "peer": 1, "transfers": 4, "bytes": 14000, "sizes": 4, "channels": 2,
             "active_us": 12.0, "sustained_rate_mb_s": 14000.0 / 12.0, "typical_rate_mb_s": 14000.0 / 12.0,
             "mean_in_flight": 1.25, "max_in_flight": 2,
             "channel_fits": null,
             "fit": {"latency_us": latency, "latency_error_us": (variance * (900.0 / 586.0 + mean * mean / sxx)).sqrt(),
                     "rate_mb_s": 1000.0 / slope, "rate_error_mb_s": 1000.0 / slope / slope * (variance / sxx).sqrt(),
                     "r2": 419_400.0_f64.powi(2) / (941_625.0 * 205_200.0), "n": 4}},
            // 500 bytes from 1 to 2 us and 500 from 1.5 to 2.5 us, by one channel: service times of 1 and 0.5 us, whose
            // lower median is the typical one.
            {"comm": ab, "rank": 1, "peer": 0, "transfers": 2, "bytes": 1000, "sizes": 1, "channels": 1,
             "active_us": 1.5, "sustained_rate_mb_s": 2000.0 / 3.0, "typical_rate_mb_s": 1000.0,
             "mean_in_flight": 1.5, "max_in_flight": 2, "fit": null, "channel_fits": null},
        ],
        "channels": [
            {"comm": ab, "rank": 0, "peer": 1, "channel": 3, "transfers": 3, "bytes": 6000,
             "mean_size_bytes": 2000.0, "mean_time_us": 8.0 / 3.0},
            {"comm": ab, "rank": 0, "peer": 1, "channel": 4, "transfers": 1, "bytes": 8000,
             "mean_size_bytes": 8000.0, "mean_time_us": 5.0},
            {"comm": ab, "rank": 1, "peer": 0, "channel": 0, "transfers": 2, "bytes": 1000,
             "mean_size_bytes": 500.0, "mean_time_us": 1.0},
        ],
        "states": [
            // Step 10 alone has all of its states: from 1.1 us on, from 1.2, and from 2 to 4.
            {"comm": ab, "rank": 0, "peer": 1, "direction": "send", "transfers": 1, "bytes": 1000,
             "queued_us": 0.0, "gpu_us": 0.1, "peer_us": 0.8, "network_us": 2.0, "flush_us": null},
        ],
        "operation_transfers": [
            // 2 + 3 + 3 + 5 us for the 64 bytes of handle 8; twice 1 us for 200 bytes.
            {"comm": ab, "rank": 0, "kind": "P2p", "func": "Send", "from_bytes": 64, "operations": 1, "transfers": 4,
             "bytes": 14000, "time_us": 13.0},
            {"comm": ab, "rank": 1, "kind": "Coll", "func": "AllReduce", "from_bytes": 128, "operations": 1,
             "transfers": 2, "bytes": 1000, "time_us": 2.0},
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

#[test]
fn figures_worked_out_by_hand() {
    assert_eq!(compare(&by_hand(), &reference()), Vec::<String>::new());
}

/// Changes every value of the summary in turn. The reference must find each change, except in values that no capture
/// determines.
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
        // a count that no capture determines must still be a number
        *wrong.pointer_mut(&place).unwrap() = json!([]);
        assert!(!compare(&wrong, &reference).is_empty(), "{place}");
    }
}

fn leaves(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| leaves(value, format!("{place}/{name}"), places))
        }
        Value::Array(rows) => {
            rows.iter().enumerate().for_each(|(i, value)| leaves(value, format!("{place}/{i}"), places))
        }
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
    for fitted in [
        "/transfers/0/fit/latency_us",
        "/transfers/0/fit/rate_mb_s",
        "/transfers/0/fit/r2",
        "/transfers/0/mean_in_flight",
    ] {
        assert_eq!((differences(fitted, 1.000_000_9), differences(fitted, 0.999_998_9)), (0, 1), "{fitted}");
    }
}

/// If no peer of communicator ab is the rank itself, and its API calls have operations, stamps time each operation.
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

/// Kernels of one communicator, in the order of their launches: an all-reduce by TREE without CUDA events; a send and a
/// receive in one kernel; an all-reduce by PAT alone; an all-reduce by TREE with CUDA events between which no kernel
/// fits; two silent broadcasts in a group; one operation without CUDA events.
const KERNELS: &str = include_str!("support/reference/by_hand/kernels.jsonl");

#[test]
fn times_of_kernels_worked_out_by_hand() {
    let row = |kind: &str,
               func: &str,
               peer,
               counts: [usize; 3],
               bytes,
               [time_us, kernel_time_us, kernel_once_us, each]: [f64; 4]| {
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
            kernel_once_us,
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
    // The events' clock is 1000500 ns ahead of the host's at most. The first event before the send and the receive
    // happened at once, at 1010500 ns, when the host was not done with the launch (12000 + 1000500): from 3200 ns behind
    // it to 1030500 ns. That before the third kernel had to wait: 3200 ns behind 1054500 to 1064500 ns. The broadcasts'
    // group was over at 85000: 85000 + 1000500 to 1100600 ns.
    let broadcasts = row("Coll", "Broadcast", None, [2, 2, 2], 28, [30.2, 15.1, 15.1, 15.1]);
    // the kernel counts with both functions, and once with the send, which is first
    let p2p = |func: &str, once| row("P2p", func, Some(1), [1, 1, 1], 1, [16.8, 16.8, once, 16.8]);
    let all_reduces = |timed: [usize; 3], time| row("Coll", "AllReduce", None, timed, 3, [time; 4]);
    let rest = [broadcasts, p2p("Recv", 0.0), p2p("Send", 16.8)];
    let with = |first: OperationRow| [vec![first], rest.to_vec()].concat();
    assert_eq!(of(Sources::Both), (with(all_reduces([3, 1, 0], 7.0)), 1, 2));
    assert_eq!(of(Sources::Events), (with(all_reduces([3, 1, 1], 6.8)), 1, 2));
    let untimed = |func: &str| row("P2p", func, Some(1), [1, 0, 0], 1, [0.0; 4]);
    let by_stamps = vec![all_reduces([3, 1, 0], 7.0), untimed("Recv"), untimed("Send")];
    assert_eq!(of(Sources::Stamps), (by_stamps, 3, 4));
}

#[test]
fn lines_with_known_answers() {
    // 250 ns + bytes / 2: 0.25 us and 2 bytes a nanosecond.
    let line = |bytes: i64| (bytes, 250.0 + bytes as f64 / 2.0);
    let exact = fit(&[0, 200, 1000, 1600].map(line)).unwrap();
    assert!((exact.latency_us.unwrap() - 0.25).abs() < 1e-9 && (exact.rate_mb_s - 2000.0).abs() < 1e-6, "{exact:?}");
    assert!(
        exact.latency_error_us < 1e-9 && exact.rate_error_mb_s < 1e-3 && (exact.r2 - 1.0).abs() < 1e-9 && exact.n == 4
    );
    // A line that begins at -100 ns is none, and one that scatters around 0 has no latency.
    assert_eq!(fit(&[200, 400, 1000, 1600].map(|bytes| (bytes, bytes as f64 - 100.0))), None);
    let through = fit(&[(1000, 970.0), (2000, 2060.0), (4000, 3900.0), (8000, 8300.0)]).unwrap();
    assert!(through.latency_us.is_none() && through.rate_mb_s > 900.0, "{through:?}");
    // Three sizes, a span below 8, times that are equal, that fall, and that scatter.
    assert_eq!(fit(&[0, 200, 1600].map(line)), None);
    assert_eq!(fit(&[0, 200, 1000, 1599].map(line)), None);
    assert_eq!(fit(&[0, 200, 1000, 1600].map(|bytes| (bytes, 700.0))), None);
    assert_eq!(fit(&[0, 200, 1000, 1600].map(|bytes| (bytes, 2000.0 - bytes as f64))), None);
    assert_eq!(fit(&[(0, 300.0), (200, 900.0), (1000, 300.0), (1600, 900.0)]), None);
    assert_eq!(fit(&[]), None);
}

#[test]
fn medians_with_known_answers() {
    let of = |times: &[i64], regression| {
        let services: Vec<_> = times.iter().map(|&time| Service { bytes: 8, time, in_flight: 1 }).collect();
        transfers::points(&services, regression)[0].1
    };
    // 16 and 17 share a bucket, and so do 1024 to 1151.
    for (times, median) in [
        (&[5][..], 5.0),
        (&[0, 0, 9], 0.0),
        (&[1, 2, 3, 4], 2.0),
        (&[1, 17, 16, 18, 99], 16.5),
        (&[1, 2, 1030, 1150, 1152, 9999], 1090.0),
    ] {
        assert_eq!(of(times, Regression::Median), median, "{times:?}");
    }
    assert_eq!([Regression::Min, Regression::Avg].map(|by| of(&[7, 4, 10], by)), [4.0, 7.0]);
}

#[test]
fn unions_with_known_answers() {
    assert_eq!(transfers::union(vec![]), 0);
    // Apart, touching, overlapping, inside, the same again, empty.
    assert_eq!(transfers::union(vec![(10, 12), (0, 4), (4, 5), (11, 15), (12, 13), (0, 4), (7, 7)]), 10);
}
