//! Whether collectives waited for their launch or for their GPU: as the summary of the same replay says.

use crate::figures::replay;
use crate::points::{self, Point};
use crate::receiver::Receiver;
use crate::support::tool;
use serde_json::Value;

#[test]
fn they_are_the_summarys() {
    // both cases, by events and by stamps
    for (run, has_both) in [("truth_fsdp", true), ("truth_v232_moe", true), ("truth_tree", false)] {
        let receiver = Receiver::good();
        // of several processes, a summary has lateness in their place
        let capture = tool::captures(&tool::run(run)).remove(0);
        let summary = replay(&capture, &receiver.endpoint(), &[]);
        let points: Vec<Point> = receiver.requests().iter().flat_map(points::of).collect();
        let rows = summary["launches"].as_array().unwrap();
        assert!(!rows.is_empty());
        for row in rows {
            let rank = row["rank"].to_string();
            let [host, gpu] = ["host_later", "gpu_later"].map(|field| row[field].as_f64().unwrap());
            assert!(host + gpu > 0.0 && (!has_both || host.min(gpu) > 0.0), "{run}: {row}");
            let value = |name: &str, later: &str| {
                let is_it = |point: &&Point| {
                    let is_rank =
                        point.label("communicator") == row["comm"].as_str().unwrap() && point.label("rank") == rank;
                    point.name == name && is_rank && point.label("later") == later
                };
                points.iter().find(is_it).map(|point| {
                    assert_eq!(point.label("comm_type"), "COLLECTIVE", "{point:?}");
                    (point.sum, point.unit.clone())
                })
            };
            let counted = |later| value("nccl_profiler_collective_launches", later);
            let count = |count: f64| Some((count, "count".to_owned()));
            assert_eq!((counted("host"), counted("gpu")), (count(host), count(gpu)), "{run}: {row}");
            let queued = row["queued_us"].as_f64().unwrap().floor();
            let found = value("nccl_profiler_collective_queued_time", "");
            assert_eq!(found, Some((queued, "us".to_owned())), "{run}: {row}");
        }
        let ranks = points.iter().filter(|point| point.name == "nccl_profiler_collective_queued_time").count();
        assert_eq!(ranks, rows.len(), "{run}");
    }
}

/// A job that asks for no sample of its collectives in a summary has them, too.
#[test]
fn they_need_no_sample_of_a_summary() {
    let receiver = Receiver::good();
    let capture = tool::captures(&tool::run("truth_fsdp")).remove(0);
    let summary: Value = replay(&capture, &receiver.endpoint(), &[("NCCL_SCOREP_GATHER_KB", "0")]);
    assert!(summary["launches"].as_array().is_none_or(Vec::is_empty), "{}", summary["launches"]);
    let points: Vec<Point> = receiver.requests().iter().flat_map(points::of).collect();
    assert!(points.iter().any(|point| point.name == "nccl_profiler_collective_launches" && point.sum > 0.0));
}
