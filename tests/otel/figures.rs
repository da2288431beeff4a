//! The figures themselves: those of the summary of the same replay.

use crate::job;
use crate::points::{self, Point};
use crate::receiver::Receiver;
use crate::support::{reference, tool};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Runs of every kind: over the network and within a node, by the GPU's time and by others', collectives and pipelines.
pub(crate) const RUNS: [&str; 6] = [
    "nodes2x2_collectives",
    "nodes2x2_train",
    "nodes4x1_pipeline",
    "nvlink2_graph",
    "v230_nodes2x2_graph",
    "v232_nodes2x1_defaults",
];

/// What must agree: by name and labels, a count, or none, and a sum.
pub(crate) type Rows = BTreeMap<(String, Vec<String>), (Option<u64>, f64)>;

pub(crate) fn replay(source: &Path, endpoint: &str, settings: &[(&str, &str)]) -> Value {
    let mut command = tool::tool();
    command.arg("replay").arg(source).args(["--format", "json", "--otlp", endpoint]);
    job::without_others(&mut command).envs(settings.iter().copied());
    // what else is to be known stands in the summary
    command.env("NCCL_SCOREP_LOG", "off");
    tool::summary(&mut command)
}

fn add(rows: &mut Rows, name: &str, labels: &[String], count: Option<u64>, sum: f64) {
    let row = rows.entry((name.to_owned(), labels.to_vec())).or_insert((count.map(|_| 0), 0.0));
    row.0 = row.0.zip(count).map(|(one, other)| one + other);
    row.1 += sum;
}

/// What the summary says, as exporters say it.
pub(crate) fn expected(summary: &Value) -> Rows {
    let mut rows = Rows::new();
    let text = |row: &Value, field: &str| row[field].as_str().map_or_else(|| row[field].to_string(), str::to_owned);
    let table = |name: &str| summary[name].as_array().unwrap().clone();
    for row in table("operations") {
        let labels = ["comm", "rank", "func"].map(|field| text(&row, field));
        let family = if row["kind"] == "Coll" { "collective" } else { "p2p" };
        let number = |field: &str| row[field].as_u64().unwrap();
        let (count, bytes) = (number("count"), number("bytes"));
        let name = |what: &str| format!("nccl_profiler_{family}_{what}");
        if family == "collective" {
            add(&mut rows, &name("bytes"), &labels, None, bytes as f64);
            add(&mut rows, &name("count"), &labels, Some(count), count as f64);
        } else {
            add(&mut rows, &name("bytes"), &labels, Some(count), bytes as f64);
        }
        let has_bandwidth = ["AllReduce", "AllGather", "ReduceScatter"].contains(&row["func"].as_str().unwrap());
        if has_bandwidth && number("gpu_timed") > 0 {
            add(&mut rows, &name("bus_time"), &labels, None, row["kernel_time_us"].as_f64().unwrap().floor());
        }
        // in these runs one source times all operations of a row
        let of_gpu = if number("event_timed") > 0 { "events" } else { "stamps" };
        for (by, timed, time) in [
            (of_gpu, "gpu_timed", "time_us"),
            ("proxy", "proxy_timed", "proxy_time_us"),
            ("enqueue", "enqueue_timed", "enqueue_time_us"),
        ] {
            if number(timed) > 0 {
                let labels = [&labels[..], &[by.to_owned()]].concat();
                add(&mut rows, &name("time"), &labels, Some(number(timed)), row[time].as_f64().unwrap());
            }
        }
    }
    for row in table("transfers") {
        let labels = ["comm", "rank", "peer"].map(|field| text(&row, field));
        add(&mut rows, "nccl_profiler_rank_bytes", &labels, None, row["bytes"].as_f64().unwrap());
    }
    for row in table("states") {
        let (sent, peer) = (row["direction"] == "send", ["rank", "peer"]);
        let [source, dest] = if sent { peer } else { ["peer", "rank"] };
        let labels = ["comm", source, dest, "direction"].map(|field| text(&row, field));
        let count = row["transfers"].as_f64().unwrap();
        add(&mut rows, "nccl_profiler_state_transfers", &labels, None, count);
        for state in ["queued", "gpu", "peer", "network", "flush"] {
            let Some(time) = row[format!("{state}_us")].as_f64() else { continue };
            let labels = [&labels[..], &[state.to_owned()]].concat();
            add(&mut rows, "nccl_profiler_state_time", &labels, None, time.floor());
        }
    }
    for row in table("channels") {
        let labels = ["comm", "rank", "peer", "channel"].map(|field| text(&row, field));
        let [count, bytes] = ["transfers", "bytes"].map(|field| row[field].as_u64().unwrap());
        add(&mut rows, "nccl_profiler_transfer_size", &labels, Some(count), bytes as f64);
        let time = row["mean_time_us"].as_f64().unwrap() * count as f64;
        add(&mut rows, "nccl_profiler_transfer_time", &labels, Some(count), time);
    }
    for process in table("processes") {
        for (name, field) in [
            ("nccl_incomplete", "incomplete"),
            ("nccl_dropped", "dropped"),
            ("nccl_unfinished_ops", "unfinished"),
            ("nccl_invisible_ops", "invisible"),
            ("nccl_skipped_ops", "skipped"),
            ("nccl_foreign_proxy_ops", "foreign_proxy_ops"),
            ("nccl_out_of_step", "out_of_step"),
        ] {
            add(&mut rows, name, &[], None, process[field].as_f64().unwrap());
        }
        let progress = &process["progress_threads"];
        for (state, entries) in [("active", "active"), ("idle", "idle"), ("asleep", "sleeps"), ("appending", "appends")]
        {
            let Some(time) = progress[format!("{state}_us")].as_f64() else { continue };
            add(&mut rows, "nccl_progress_time", &[state.to_owned()], None, time.floor());
            add(&mut rows, "nccl_progress_entries", &[state.to_owned()], None, progress[entries].as_f64().unwrap());
        }
        if let Some(appended) = progress["appended"].as_f64() {
            add(&mut rows, "nccl_progress_appended_ops", &[], None, appended);
        }
        for row in process["network_events"].as_array().into_iter().flatten() {
            let there = ["direction", "kind", "merged_device"].into_iter().filter(|field| !row[*field].is_null());
            let labels: Vec<String> = there.map(|field| text(row, field)).collect();
            add(&mut rows, "nccl_network_events", &labels, None, row["events"].as_f64().unwrap());
            add(&mut rows, "nccl_network_event_bytes", &labels, None, row["bytes"].as_f64().unwrap());
        }
        for (cause, count) in process["untimed"].as_object().unwrap() {
            add(&mut rows, &format!("nccl_untimed_{cause}"), &[], None, count.as_f64().unwrap());
        }
    }
    add(&mut rows, "nccl_exports_failed", &[], None, 0.0);
    rows
}

/// What the summary does not have: figures of windows, and whose a transfer was.
fn is_of_its_own(name: &str) -> bool {
    let of_sends = ["num_transfers", "transfer_size", "transfer_time"];
    let of_operations = ["nccl_profiler_collective_", "nccl_profiler_p2p_"];
    let is_of_sends =
        of_operations.iter().filter_map(|start| name.strip_prefix(start)).any(|what| of_sends.contains(&what));
    is_of_sends
        || ["nccl_profiler_rank_rate", "nccl_profiler_rank_latency", "nccl_profiler_transfer_latency"].contains(&name)
        // of ranks of which something is known: launches.rs
        || ["nccl_profiler_collective_launches", "nccl_profiler_collective_queued_time"].contains(&name)
        // of the operations that the GPU has timed alone: panels.rs, where it has timed all
        || name == "nccl_profiler_collective_bus_bytes"
}

pub(crate) fn found(points: &[Point]) -> Rows {
    let mut rows = Rows::new();
    for point in points.iter().filter(|point| !is_of_its_own(&point.name)) {
        let names = [
            "communicator",
            "rank",
            "operation",
            "timing",
            "source_rank",
            "dest_rank",
            "channel",
            "direction",
            "kind",
            "merged_device",
            "state",
        ];
        let labels: Vec<String> = names.iter().filter_map(|name| point.labels.get(*name).cloned()).collect();
        add(&mut rows, &point.name, &labels, point.count, point.sum);
    }
    rows
}

/// Where what was found is not what is expected.
pub(crate) fn differences(found: &Rows, expected: &Rows) -> Vec<String> {
    let mut wrong = Vec::new();
    for key in found.keys().chain(expected.keys()) {
        let (found, expected) = (found.get(key), expected.get(key));
        let close = found.zip(expected).is_some_and(|(found, expected)| {
            // times go through the number of a tick in another order
            let slack = match key.0.as_str() {
                // each export cuts a nanosecond
                "nccl_progress_time" => 1.0,
                name if name.ends_with("time") => 1e-9 * expected.1,
                _ => 0.0,
            };
            found.0 == expected.0 && (found.1 - expected.1).abs() <= slack
        });
        if !close {
            wrong.push(format!("{key:?}: {found:?}, the summary has {expected:?}"));
        }
    }
    wrong
}

#[test]
fn they_are_the_summarys() {
    for (run, gzip) in RUNS.into_iter().zip([false, true].into_iter().cycle()) {
        let receiver = Receiver::good();
        let settings = [("OTEL_EXPORTER_OTLP_COMPRESSION", if gzip { "gzip" } else { "none" })];
        let summary = replay(&tool::run(run), &receiver.endpoint(), &settings);
        let requests = receiver.requests();
        // one a process, at its end: a minute has not passed before
        assert_eq!(requests.len(), summary["processes"].as_array().unwrap().len(), "{run}");
        assert!(requests.iter().all(|request| (request.header("content-encoding") == Some("gzip")) == gzip));
        let points: Vec<Point> = requests.iter().flat_map(points::of).collect();
        assert_eq!(differences(&found(&points), &expected(&summary)), Vec::<String>::new(), "{run}");
    }
}

#[test]
fn rates_and_latencies_are_of_windows() {
    let receiver = Receiver::good();
    let summary = replay(&tool::run("nodes2x2_collectives"), &receiver.endpoint(), &[]);
    let points: Vec<Point> = receiver.requests().iter().flat_map(points::of).collect();
    let rates: Vec<&Point> = points.iter().filter(|point| point.name == "nccl_profiler_rank_rate").collect();
    assert_eq!(rates.len(), summary["transfers"].as_array().unwrap().len());
    for rate in rates {
        let mean = rate.sum / rate.count.unwrap() as f64;
        assert!(rate.unit == "MB/s" && mean > 1.0 && mean < 1e6, "{rate:?}");
    }
}

/// In one window, so that its fit is the reference's, of all transfers of the channel.
#[test]
fn channels_have_latencies_of_their_own() {
    let receiver = Receiver::good();
    let run = tool::run("nodes2x2_collectives");
    let mut command = tool::tool();
    command.arg("replay").arg(&run).args(["--format", "json", "--window", "3600", "--otlp", &receiver.endpoint()]);
    tool::summary(command.env("NCCL_SCOREP_LOG", "off").env("NCCL_SCOREP_WINDOW_EVENTS", "1000000"));
    let points = receiver.requests().into_iter().flat_map(|request| points::of(&request));
    let key = |point: &Point| {
        ["communicator", "source_rank", "dest_rank", "channel"].map(|name| point.label(name).to_owned())
    };
    let of_channels = points.filter(|point| point.name == "nccl_profiler_transfer_latency");
    let found: BTreeMap<_, _> = of_channels.map(|point| (key(&point), (point.count.unwrap(), point.sum))).collect();
    let channels = reference::summarise(&tool::captures(&run)).unwrap().channels;
    let expected: BTreeMap<_, _> = channels
        .into_iter()
        .filter_map(|row| {
            let [rank, peer, channel] = [row.rank, row.peer, row.channel].map(|number| number.to_string());
            Some(([row.comm, rank, peer, channel], row.latency_us?))
        })
        .collect();
    assert!(found.keys().eq(expected.keys()) && !found.is_empty(), "{found:?}, {expected:?}");
    for (key, (count, latency)) in found {
        // it is kept in whole nanoseconds
        assert!(count == 1 && (latency - expected[&key]).abs() < 1e-3, "{key:?}: {latency}, {}", expected[&key]);
    }
}

/// Whose a transfer was the summary does not tell: of a rank, all of them are somebody's.
#[test]
fn every_transfer_is_an_operations() {
    for run in ["nodes2x2_collectives", "nodes4x1_pipeline", "net2_single"] {
        let receiver = Receiver::good();
        let summary = replay(&tool::run(run), &receiver.endpoint(), &[]);
        let (mut told, mut sent) = (BTreeMap::<(String, String), f64>::new(), BTreeMap::<(String, String), f64>::new());
        for row in summary["transfers"].as_array().unwrap() {
            let key = (row["comm"].as_str().unwrap().to_owned(), row["rank"].to_string());
            *told.entry(key).or_default() += row["transfers"].as_f64().unwrap();
        }
        let points = receiver.requests().into_iter().flat_map(|request| points::of(&request));
        for point in points.filter(|point| point.name.ends_with("_num_transfers")) {
            *sent.entry((point.label("communicator").into(), point.label("rank").into())).or_default() += point.sum;
        }
        assert_eq!(sent, told, "{run}");
        assert!(!told.is_empty());
    }
}

#[test]
fn a_request_is_as_the_standard_and_the_environment_say() {
    let receiver = Receiver::good();
    let settings = [
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=a%20b"),
        ("OTEL_SERVICE_NAME", "training"),
        ("OTEL_RESOURCE_ATTRIBUTES", "host.name=elsewhere,team=red"),
        ("SLURM_JOB_ID", "17"),
        ("SLURM_PROCID", "3"),
        ("SLURM_LOCALID", "1"),
        ("CUDA_VISIBLE_DEVICES", "GPU-1234"),
    ];
    let capture = tool::captures(&tool::run("net2_collectives")).remove(0);
    let summary = replay(&capture, &receiver.endpoint(), &settings);
    let request = receiver.requests().remove(0);
    assert_eq!(request.line, "POST /v1/metrics HTTP/1.1");
    assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
    assert_eq!(request.header("x-tenant"), Some("a b"));
    let resource = points::resource(&request);
    let pid = summary["processes"][0]["pid"].to_string();
    for (name, value) in [
        ("service.name", "training"),
        ("host.name", "elsewhere"),
        ("team", "red"),
        ("process.pid", &pid),
        ("slurm.job.id", "17"),
        ("slurm.procid", "3"),
        ("gpu.uuid", "GPU-1234"),
        ("telemetry.sdk.language", "rust"),
    ] {
        assert_eq!(resource.get(name).map(String::as_str), Some(value), "{resource:?}");
    }
    for point in points::of(&request) {
        assert_eq!((point.label("local_rank"), point.label("gpu_uuid")), ("1", "GPU-1234"), "{point:?}");
        assert!(!point.label("hostname").is_empty());
    }
}

#[test]
fn histograms_reach_from_a_microsecond_to_ten_seconds_and_from_a_byte_to_16_gib() {
    let receiver = Receiver::good();
    replay(&tool::run("nodes4x1_pipeline"), &receiver.endpoint(), &[]);
    let points: Vec<Point> = receiver.requests().iter().flat_map(points::of).collect();
    for (name, unit, first, last) in [
        ("nccl_profiler_p2p_time", "us", 1.0, 1e7),
        ("nccl_profiler_p2p_bytes", "bytes", 1.0, (1_u64 << 34) as f64),
        ("nccl_profiler_transfer_time", "us", 1.0, 1e7),
    ] {
        let point = points.iter().find(|point| point.name == name).unwrap();
        assert_eq!(
            (point.unit.as_str(), point.bounds[0], *point.bounds.last().unwrap()),
            (unit, first, last),
            "{name}"
        );
    }
}

#[test]
fn rank_pairs_past_those_that_have_labels_are_summed_up() {
    let of = |most: &str| {
        let receiver = Receiver::good();
        replay(&tool::run("nodes2x2_collectives"), &receiver.endpoint(), &[("NCCL_SCOREP_OTEL_MAX_PEERS", most)]);
        let points: Vec<Point> = receiver.requests().iter().flat_map(points::of).collect();
        let bytes: Vec<Point> = points.into_iter().filter(|point| point.name == "nccl_profiler_rank_bytes").collect();
        let others = bytes.iter().filter(|point| point.label("dest_rank") == "other").count();
        (bytes.len(), others, bytes.iter().map(|point| point.sum).sum::<f64>())
    };
    let (all, none, bytes) = of("64");
    let (folded, others, folded_bytes) = of("0");
    assert!(none == 0 && others == folded && folded <= all && all > 0, "{all} {folded}");
    assert_eq!(folded_bytes, bytes);
}
