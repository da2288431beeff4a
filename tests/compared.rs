//! Comparisons between the ranks of a replay: which rank is late, and how fast collectives are. A figure covers nearly
//! all operations, or it is absent; the summary says how many operations it lacks.

use crate::support::{synthetic, tool};

use serde_json::{Value, json};
use std::path::Path;

fn replayed(run: &Path, change: impl FnOnce(&mut std::process::Command)) -> Value {
    let mut command = tool::tool();
    command.arg("replay").arg(run).args(["--format", "json", "--lateness"]);
    change(&mut command);
    tool::summary(&mut command)
}

fn rows<'a>(summary: &'a Value, list: &str) -> &'a [Value] {
    summary[list].as_array().map_or(&[], Vec::as_slice)
}

/// At most one in three of the operations has a time: the first operations of the run.
#[test]
fn few_timed_operations_give_neither_a_mean_nor_a_bandwidth() {
    let of_warm_up = ["net2_collectives", "nodes2x2_collectives", "nvlink2_collectives", "v230_nodes2x2_collectives"];
    for name in of_warm_up {
        let summary = replayed(&tool::run(name), |command| {
            command.env("NCCL_SCOREP_GPU_TIME", "stamps");
        });
        for (list, figures) in [("lateness", &["mean_us", "p99_us"][..]), ("bandwidth", &["busbw_gb_s"])] {
            assert!(!rows(&summary, list).is_empty(), "{name}: no {list}");
            for row in rows(&summary, list) {
                let [count, timed, operations] =
                    ["count", "timed", "operations"].map(|field| row[field].as_u64().unwrap());
                assert!(0 < operations && operations <= timed && 10 * timed < 9 * count, "{name}: {row}");
                assert!(figures.iter().all(|&figure| row[figure].is_null()), "{name}: {row}");
            }
        }
    }
    let summary = replayed(&tool::run("net2_collectives"), |_| {});
    let world = &rows(&summary, "lateness")[0];
    assert_eq!([&world["count"], &world["timed"], &world["last"]], [120, 5, 2], "{world}");
}

/// The root of a broadcast, and the senders of a reduce, leave when their buffers are filled. Bandwidths from their
/// times were up to eleven times that of the wire.
#[test]
fn no_bus_bandwidth_is_above_that_of_the_wire() {
    let summary = replayed(&tool::run("v232_nodes2x1_collectives"), |_| {});
    let operations = rows(&summary, "operations").iter();
    assert!(operations.into_iter().any(|row| row["func"] == "Broadcast" && row["gpu_timed"].as_u64() > Some(0)));
    let found = rows(&summary, "bandwidth");
    assert!(
        found.len() == 24 && found.iter().all(|row| row["func"] != "Broadcast" && row["func"] != "Reduce"),
        "{found:?}"
    );
    let sustained = rows(&summary, "transfers").iter().map(|row| row["sustained_rate_mb_s"].as_f64().unwrap() / 1e3);
    let most = sustained.fold(0.0, f64::max);
    assert!(found.iter().all(|row| row["busbw_gb_s"].as_f64().unwrap() < 1.1 * most), "{most}: {found:?}");
}

/// NCCL 2.27 reports no API calls, so the arrivals of ranks are not known.
#[test]
fn bandwidth_is_there_where_nobody_knows_who_was_late() {
    let run = tool::run("truth_fsdp");
    let known = replayed(&run, |_| {});
    let unknown = replayed(&run, |command| {
        command.args(["--interface", "4"]);
    });
    assert!(!rows(&known, "lateness").is_empty() && rows(&unknown, "lateness").is_empty());
    assert_eq!(rows(&known, "bandwidth"), rows(&unknown, "bandwidth"));
    assert_eq!(rows(&unknown, "bandwidth").len(), 3);
}

/// Returns all-reduces of two ranks, one after the other; the second rank begins each 20 us later.
fn all_reduces(rank: u64, count: u64) -> Vec<Value> {
    let mut lines = vec![
        json!({"cb": "meta", "format": 1, "api": 5, "mask": 4095, "pid": 7 + rank, "real0": 1_000_000_000, "mono0": 0, "dropped": 0}),
        json!({"cb": "init", "ctx": 1, "comm": "abc", "name": "", "nnodes": 1, "nranks": 2, "rank": rank, "t": 1000, "tid": 1}),
    ];
    for number in 0..count {
        let (h, enqueued) = (4 * number + 1, 100_000 + 100_000 * number + 20_000 * rank);
        let (begin, end) = (enqueued + 5_000, 100_000 + 100_000 * number + 65_000);
        let gpu = |time: u64| 7_000_000_000 + time;
        let start = |h: u64, kind: &str, parent: u64, time: u64| json!({"cb": "start", "ctx": 1, "h": h, "type": kind, "parent": parent, "rank": rank, "t": time, "tid": 1});
        let with = |mut line: Value, more: Value| {
            line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            line
        };
        let call = json!({"func": "AllReduce", "count": 262_144, "dtype": "ncclFloat32", "root": 0, "stream": "1", "graph": 0});
        let operation = json!({"seq": number, "func": "AllReduce", "count": 262_144, "dtype": "ncclFloat32", "root": 0, "nch": 1,
            "nwarps": 16, "algo": "RING", "proto": "SIMPLE"});
        let stop = |h: u64, time: u64| json!({"cb": "stop", "h": h, "t": time, "tid": 1});
        lines.extend([
            with(start(h, "GroupApi", 0, enqueued), json!({"depth": 1, "graph": 0})),
            with(start(h + 1, "CollApi", h, enqueued + 100), call),
            stop(h + 1, enqueued + 200),
            with(start(h + 2, "Coll", h + 1, enqueued + 300), operation),
            stop(h + 2, enqueued + 310),
            stop(h, enqueued + 340),
            with(start(h + 3, "KernelCh", h + 2, begin + 2_000), json!({"ch": 0, "ptimer": gpu(begin)})),
            json!({"cb": "state", "h": h + 3, "state": 22, "arg": gpu(end), "t": end + 2_000, "tid": 1}),
            stop(h + 3, end + 2_010),
        ]);
    }
    lines.push(json!({"cb": "finalize", "ctx": 1, "t": 200_000 + 100_000 * count, "tid": 1}));
    lines
}

/// A MiB has room for 18,724 operations of 56 bytes.
#[test]
fn a_full_timeline_compares_what_is_on_it_and_says_how_many_are_not() {
    const COUNT: u64 = 23_000;
    let run = tempfile::tempdir().unwrap();
    synthetic::write(run.path(), (0..2).map(|rank| all_reduces(rank, COUNT)));
    let full = replayed(run.path(), |command| {
        command.env("NCCL_SCOREP_LANE_MB", "1");
    });
    let all = replayed(run.path(), |_| {});
    for (summary, least) in [(&full, 17_000), (&all, COUNT)] {
        let [late, bandwidth] =
            [rows(summary, "lateness"), rows(summary, "bandwidth")].map(|rows| rows.last().unwrap());
        assert!(late["rank"] == 1 && (late["mean_us"].as_f64().unwrap() - 20.0).abs() < 1.0, "{late}");
        // a MiB among two ranks in 40 us
        assert!((bandwidth["busbw_gb_s"].as_f64().unwrap() - 26.2144).abs() < 0.01, "{bandwidth}");
        for row in [late, bandwidth] {
            assert!((least..=COUNT).contains(&row["count"].as_u64().unwrap()), "{row}");
        }
    }
    let left_out = 2 * (COUNT - 18_724);
    let told = rows(&full, "notes").iter().map(|note| note.as_str().unwrap()).collect::<Vec<_>>();
    assert!(told.len() == 1 && told[0].starts_with(&format!("{left_out} collectives are in no lateness")), "{told:?}");
    assert_eq!((rows(&all, "notes").len(), &rows(&all, "lateness")[1]["count"]), (0, &json!(COUNT)));
}
