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
use reference::{Reference, json, summarise, transfers};
use serde_json::{Value, json};

/// A process with rank 0 of communicator ab and rank 1 of communicator cd.
const FIRST: &str = r#"{"cb":"meta","format":1,"api":5,"mask":4095,"pid":10,"real0":0,"mono0":0,"dropped":0}
{"t":0,"tid":1,"cb":"init","ctx":1,"comm":"ab","name":"","nnodes":2,"nranks":2,"rank":0}
{"t":0,"tid":1,"cb":"init","ctx":2,"comm":"cd","name":"pair","nnodes":1,"nranks":2,"rank":1}
{"t":0,"tid":1,"cb":"start","ctx":1,"h":1,"type":"CollApi","parent":0,"rank":0,"func":"AllReduce","count":100}
{"t":0,"tid":1,"cb":"start","ctx":1,"h":2,"type":"Coll","parent":1,"rank":0,"func":"AllReduce","count":100,"dtype":"ncclBfloat16"}
{"t":0,"tid":1,"cb":"stop","h":1}
{"t":0,"tid":1,"cb":"stop","h":2}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":3,"type":"KernelCh","parent":2,"rank":0,"ch":0,"ptimer":1000}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":4,"type":64,"parent":2,"rank":0,"ch":1,"ptimer":1500}
{"t":0,"tid":2,"cb":"state","h":3,"state":22,"arg":6000}
{"t":0,"tid":2,"cb":"stop","h":3}
{"t":0,"tid":2,"cb":"state","h":4,"state":22,"arg":4000}
{"t":0,"tid":2,"cb":"stop","h":4}
{"t":0,"tid":1,"cb":"start","ctx":1,"h":5,"type":"Coll","parent":1,"rank":0,"func":"AllReduce","count":100,"dtype":"Bfloat16"}
{"t":0,"tid":1,"cb":"stop","h":5}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":6,"type":"KernelCh","parent":5,"rank":0,"ch":0,"ptimer":10000}
{"t":0,"tid":2,"cb":"state","h":6,"state":22,"arg":13000}
{"t":0,"tid":2,"cb":"stop","h":6}
{"t":0,"tid":1,"cb":"start","ctx":1,"h":7,"type":"P2pApi","parent":0,"rank":0,"func":"Send","count":8}
{"t":0,"tid":1,"cb":"start","ctx":1,"h":8,"type":"P2p","parent":7,"rank":0,"func":"Send","count":8,"dtype":"ncclFloat64","peer":1}
{"t":0,"tid":1,"cb":"stop","h":8}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":9,"type":"ProxyOp","parent":8,"rank":0,"pid":10,"ch":3,"peer":1,"nsteps":4,"chunk":1,"send":1}
{"t":1000,"tid":2,"cb":"start","ctx":1,"h":10,"type":"ProxyStep","parent":9,"rank":0,"step":0}
{"t":1100,"tid":2,"cb":"state","h":10,"state":8,"arg":0}
{"t":1200,"tid":2,"cb":"state","h":10,"state":20,"arg":0}
{"t":1300,"tid":2,"cb":"state","h":10,"state":9,"arg":7}
{"t":2000,"tid":2,"cb":"state","h":10,"state":9,"arg":1000}
{"t":4000,"tid":2,"cb":"stop","h":10}
{"t":2000,"tid":2,"cb":"start","ctx":1,"h":11,"type":"ProxyStep","parent":9,"rank":0,"step":1}
{"t":3000,"tid":2,"cb":"state","h":11,"state":9,"arg":2000}
{"t":6000,"tid":2,"cb":"stop","h":11}
{"t":9000,"tid":2,"cb":"start","ctx":1,"h":12,"type":"ProxyStep","parent":9,"rank":0,"step":2}
{"t":10000,"tid":2,"cb":"state","h":12,"state":9,"arg":3000}
{"t":14000,"tid":2,"cb":"stop","h":12}
{"t":14000,"tid":2,"cb":"start","ctx":1,"h":13,"type":"ProxyStep","parent":9,"rank":0,"step":3}
{"t":14000,"tid":2,"cb":"state","h":13,"state":9,"arg":9999}
{"t":15000,"tid":2,"cb":"stop","h":9}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":14,"type":"ProxyOp","parent":8,"rank":0,"pid":10,"ch":4,"peer":1,"nsteps":1,"chunk":1,"send":1}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":15,"type":"ProxyStep","parent":14,"rank":0,"step":0}
{"t":20000,"tid":2,"cb":"state","h":15,"state":9,"arg":3000}
{"t":25000,"tid":2,"cb":"stop","h":15}
{"t":25000,"tid":2,"cb":"stop","h":14}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":16,"type":"ProxyOp","parent":5,"rank":0,"pid":10,"ch":5,"peer":1,"nsteps":1,"chunk":1,"send":0}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":17,"type":"ProxyStep","parent":16,"rank":0,"step":0}
{"t":0,"tid":2,"cb":"state","h":17,"state":9,"arg":777}
{"t":1,"tid":2,"cb":"stop","h":17}
{"t":1,"tid":2,"cb":"stop","h":16}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":18,"type":"ProxyOp","parent":5,"rank":0,"pid":99,"ch":6,"peer":1,"nsteps":1,"chunk":1,"send":1}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":19,"type":"ProxyStep","parent":18,"rank":0,"step":0}
{"t":0,"tid":2,"cb":"state","h":19,"state":9,"arg":888}
{"t":1,"tid":2,"cb":"stop","h":19}
{"t":1,"tid":2,"cb":"stop","h":18}
{"t":0,"tid":1,"cb":"start","ctx":1,"h":20,"type":"P2pApi","parent":0,"rank":0,"func":"Send","count":1}
{"t":0,"tid":1,"cb":"start","ctx":1,"h":21,"type":"P2p","parent":20,"rank":0,"func":"Send","count":1,"dtype":"ncclFloat8e4m3","peer":0}
{"t":0,"tid":1,"cb":"stop","h":21}
{"t":0,"tid":1,"cb":"start","ctx":1,"h":22,"type":"CollApi","parent":0,"rank":0,"func":"AllReduce","count":1}
{"t":0,"tid":1,"cb":"start","ctx":1,"h":23,"type":"Coll","parent":22,"rank":0,"func":"AllReduce","count":1,"dtype":"ncclInt32"}
{"t":0,"tid":1,"cb":"stop","h":23}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":24,"type":"KernelCh","parent":23,"rank":0,"ch":0,"ptimer":30000}
{"t":0,"tid":2,"cb":"state","h":24,"state":22,"arg":90000}
{"t":0,"tid":2,"cb":"stop","h":24}
{"t":0,"tid":1,"cb":"start","ctx":1,"h":25,"type":"P2p","parent":0,"rank":0,"func":"Recv","count":3,"dtype":"ncclUint64","peer":1}
{"t":0,"tid":1,"cb":"stop","h":25}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":26,"type":"KernelCh","parent":25,"rank":0,"ch":0,"ptimer":30000}
{"t":0,"tid":1,"cb":"start","ctx":2,"h":27,"type":"CollApi","parent":0,"rank":0,"func":"Broadcast","count":1}
{"t":0,"tid":1,"cb":"start","ctx":2,"h":28,"type":"CollApi","parent":0,"rank":0,"func":"AllGather","count":1}
{"t":0,"tid":1,"cb":"start","ctx":2,"h":29,"type":"Coll","parent":28,"rank":1,"func":"AllGather","count":6,"dtype":"ncclInt8"}
{"t":0,"tid":2,"cb":"start","ctx":2,"h":30,"type":"KernelCh","parent":29,"rank":0,"ch":0,"ptimer":1}
{"t":0,"tid":2,"cb":"state","h":30,"state":22,"arg":2}
{"t":0,"tid":2,"cb":"stop","h":30}
{"t":0,"tid":1,"cb":"stop","h":29}
{"t":0,"tid":1,"cb":"start","ctx":2,"h":31,"type":"P2pApi","parent":0,"rank":0,"func":"Send","count":1}
{"t":0,"tid":1,"cb":"start","ctx":2,"h":32,"type":"0x10000","parent":0,"rank":0}
{"t":0,"tid":1,"cb":"finalize","ctx":2}
{"t":0,"tid":1,"cb":"finalize","ctx":1}
"#;

/// A process with rank 1 of communicator ab, under an interface that reports no API calls.
const SECOND: &str = r#"{"cb":"meta","format":1,"api":4,"mask":255,"pid":11,"real0":0,"mono0":0,"dropped":0}
{"t":0,"tid":1,"cb":"init","ctx":1,"comm":"00000000000000ab","name":"","nnodes":2,"nranks":2,"rank":1}
{"t":0,"tid":1,"cb":"start","ctx":1,"h":1,"type":"P2pApi","parent":0,"rank":0,"func":"Send","count":1}
{"t":0,"tid":1,"cb":"start","ctx":1,"h":2,"type":"Coll","parent":0,"rank":1,"func":"AllReduce","count":100,"dtype":"ncclBfloat16"}
{"t":0,"tid":1,"cb":"stop","h":2}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":3,"type":"ProxyOp","parent":2,"rank":1,"pid":11,"ch":0,"peer":0,"nsteps":2,"chunk":1,"send":1}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":4,"type":"ProxyStep","parent":3,"rank":1,"step":0}
{"t":0,"tid":2,"cb":"start","ctx":1,"h":5,"type":"ProxyStep","parent":3,"rank":1,"step":1}
{"t":1000,"tid":2,"cb":"state","h":4,"state":9,"arg":500}
{"t":1500,"tid":2,"cb":"state","h":5,"state":9,"arg":500}
{"t":2000,"tid":2,"cb":"stop","h":4}
{"t":2500,"tid":2,"cb":"stop","h":5}
{"t":2500,"tid":2,"cb":"stop","h":3}
{"t":0,"tid":1,"cb":"finalize","ctx":1}
"#;

/// What the summary of the two must say.
fn by_hand() -> Value {
    let (ab, cd) = ("00000000000000ab", "00000000000000cd");
    json!({
        "schema": "scorep-nccl-summary-1",
        "processes": [
            // Unfinished: the send (handle 8), whose last step (13) never stops, and the receive (25), whose kernel channel (26)
            // never does. Invisible: calls 27 and 31. Out of step: 23, after the send to oneself (21), and 29, after call 27.
            {"process": 0, "pid": 1, "callbacks": 74, "events": 32, "windows": 2, "dropped": 0, "unfinished": 2,
             "invisible": 2, "out_of_step": 2, "ignored_handles": 0, "peak_memory_bytes": 3},
            {"process": 1, "pid": 4, "callbacks": 13, "events": 5, "windows": 5, "dropped": 0, "unfinished": 0,
             "invisible": 0, "out_of_step": 0, "ignored_handles": 0, "peak_memory_bytes": 6},
        ],
        "communicators": [
            {"comm": ab, "nranks": 2, "nnodes": 2, "name": "",
             "ranks": [{"rank": 0, "process": 0}, {"rank": 1, "process": 1}]},
            {"comm": cd, "nranks": 2, "nnodes": 1, "name": "pair", "ranks": [{"rank": 1, "process": 0}]},
        ],
        "operations": [
            // 2 x 100 elements of 2 bytes, 6000 - 1000 ns and 13000 - 10000 ns; and 1 of 4 bytes, out of step.
            {"comm": ab, "rank": 0, "kind": "Coll", "func": "AllReduce", "peer": null, "count": 3, "bytes": 404,
             "gpu_timed": 2, "time_us": 8.0, "min_us": 3.0, "max_us": 5.0},
            {"comm": ab, "rank": 0, "kind": "P2p", "func": "Recv", "peer": 1, "count": 1, "bytes": 24,
             "gpu_timed": 0, "time_us": 0.0, "min_us": null, "max_us": null},
            {"comm": ab, "rank": 0, "kind": "P2p", "func": "Send", "peer": 0, "count": 1, "bytes": 1,
             "gpu_timed": 0, "time_us": 0.0, "min_us": null, "max_us": null},
            {"comm": ab, "rank": 0, "kind": "P2p", "func": "Send", "peer": 1, "count": 1, "bytes": 64,
             "gpu_timed": 0, "time_us": 0.0, "min_us": null, "max_us": null},
            {"comm": ab, "rank": 1, "kind": "Coll", "func": "AllReduce", "peer": null, "count": 1, "bytes": 200,
             "gpu_timed": 0, "time_us": 0.0, "min_us": null, "max_us": null},
            {"comm": cd, "rank": 1, "kind": "Coll", "func": "AllGather", "peer": null, "count": 1, "bytes": 6,
             "gpu_timed": 0, "time_us": 0.0, "min_us": null, "max_us": null},
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
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (rank, text) in texts.iter().enumerate() {
        let path = folder.path().join(format!("hand.r{rank}.jsonl.gz"));
        let mut encoder = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap();
        paths.push(path);
    }
    summarise(&paths).unwrap()
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
