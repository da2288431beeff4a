//! Lanes: each operation is a region at its own time on a location of its communicator, and each pair of ranks has a
//! location for its transfers. The host (tests/c/score_p/scorep_host.c) prints the expected values. Score-P's stand-in
//! aborts where Score-P would.

use crate::support::job;

use job::lanes::{PLACE, check, owner, visits};
use job::{Location, plan};
use std::collections::BTreeSet;

#[test]
fn every_operation_is_a_region_at_its_time() {
    for version in [4, 5, 6, 7] {
        let job = plan("lanes", 0).of_version(version).run();
        let process = job.only();
        assert_eq!(job.said(), Vec::<&str>::new(), "v{version}");
        check(process, 1e9, &PLACE);
        assert_eq!(process.counter("Master thread", "nccl_ops"), process.operations().len() as u64);
    }
}

#[test]
fn overlapping_operations_go_to_further_lanes() {
    let job = plan("lanes", 0).run();
    let lanes = job.only().lanes();
    let names: Vec<&str> = lanes.keys().map(String::as_str).collect();
    let expected = [
        "NCCL 0000000000001a2b rank 0",
        "NCCL 0000000000002b3c rank 1",
        "NCCL 0000000000002b3c rank 1 (2)",
        "NCCL 0000000000002b3c rank 1 (3)",
        "NCCL 0000000000003c4d rank 0",
        "NCCL 0000000000003c4d rank 0 (2)",
        "NCCL 0000000000004d5e rank 3",
    ];
    // the rank pair of the transfer has a lane, too
    let of_communicators: Vec<&str> = names.into_iter().filter(|name| owner(name).is_some()).collect();
    assert_eq!(of_communicators, expected);
    let on = |name: &str| lanes[name].visits.len();
    assert_eq!(expected.map(on), [20, 2, 1, 1, 1, 1, 6]);
    // no lane has two operations at the same time
    for lane in lanes.values() {
        assert!(lane.visits.windows(2).all(|pair| pair[0].end <= pair[1].begin), "{}", lane.name);
    }
}

/// Each rank of the process has its own lanes, at the times of its own GPU.
#[test]
fn ranks_of_one_process_have_lanes_of_their_own() {
    let job = plan("two_gpus", 0).run();
    assert_eq!(job.said(), Vec::<&str>::new());
    let lanes = job.only().lanes();
    assert_eq!(lanes.keys().collect::<Vec<_>>(), ["NCCL 0000000000001a2b rank 0", "NCCL 0000000000001a2b rank 1"]);
    check(job.only(), 1e9, &PLACE);
}

#[test]
fn regions_counters_and_attributes_are_defined_as_what_they_are() {
    let job = plan("lanes", 0).run();
    let process = job.only();
    let regions: BTreeSet<(String, u32, u32)> = process
        .lines("region")
        .map(|fields| (fields[0].to_owned(), fields[1].parse().unwrap(), fields[2].parse().unwrap()))
        .filter(|(name, _, _)| process.operations().iter().any(|operation| format!("nccl{}", operation.func) == *name))
        .collect();
    // paradigm CUDA; one to all, all to one, all to all, point to point
    let expected = [
        ("ncclAllGather", 13),
        ("ncclAllReduce", 13),
        ("ncclBroadcast", 11),
        ("ncclRecv", 15),
        ("ncclReduce", 12),
        ("ncclReduceScatter", 13),
        ("ncclSend", 15),
    ];
    assert_eq!(regions, expected.map(|(name, kind)| (name.to_owned(), 11, kind)).into());
    let metric =
        |name: &str| process.lines("metric").find(|fields| fields[0] == name).map(|fields| fields[1..].join(" "));
    // unit, any mode, exclusive: a sum in the profile
    let bytes = metric("nccl_op_bytes").unwrap();
    assert!(bytes.starts_with("B ") && bytes.ends_with(" 0"), "{bytes}");
    assert!(metric("nccl_op_effective_busbw").unwrap().starts_with("B/s "));
    let attributes: BTreeSet<Vec<&str>> = process.lines("attribute").collect();
    let expected = [
        ["nccl_algorithm", "10"],
        ["nccl_peer", "7"],
        ["nccl_root", "7"],
        ["nccl_protocol", "10"],
        ["nccl_queued", "7"],
        ["nccl_sequence", "7"],
        ["nccl_timing", "10"],
    ];
    assert_eq!(attributes, expected.map(Vec::from).into());
}

/// The records of the bus bandwidth, as nccl-tests defines it, lie around the region and not in it, so only a trace has
/// it.
#[test]
fn bus_bandwidth_is_shown_while_an_operation_lasts() {
    let job = plan("lanes", 0).run();
    let lanes = job.only().lanes();
    let lane = &lanes["NCCL 0000000000001a2b rank 0"];
    assert!(lane.visits.iter().all(|visit| visit.counter("nccl_op_effective_busbw").is_none()));
    for visit in &lane.visits {
        let seconds = (visit.end - visit.begin) as f64 / 1e9;
        // an all-reduce among four
        let expected = visit.counter("nccl_op_bytes").unwrap() as f64 * 1.5 / seconds;
        let shown = lane.shown("nccl_op_effective_busbw", visit.begin + 1).unwrap() as f64;
        assert!((shown / expected - 1.0).abs() < 0.01, "{shown} instead of {expected}");
    }
    let end = lane.visits.last().unwrap().end;
    assert_eq!(lane.shown("nccl_op_effective_busbw", end), Some(0));
}

/// A function has no bus bandwidth if one of its ranks may be done as soon as its buffers are filled.
#[test]
fn only_functions_that_no_rank_ends_alone_have_a_bus_bandwidth() {
    let job = plan("lanes", 0).run();
    let lanes = job.only().lanes();
    let mut found = BTreeSet::new();
    for lane in lanes.values() {
        for visit in &lane.visits {
            let shown = lane.shown("nccl_op_effective_busbw", visit.begin).is_some_and(|shown| shown > 0);
            found.insert((visit.region.as_str(), shown));
        }
    }
    for (region, expected) in
        [("ncclAllReduce", true), ("ncclReduceScatter", true), ("ncclBroadcast", false), ("ncclReduce", false)]
    {
        assert!(found.contains(&(region, expected)) && !found.contains(&(region, !expected)), "{region}: {found:?}");
    }
}

#[test]
fn without_a_trace_there_are_lanes_without_attributes() {
    let job = plan("lanes", 0).without("SCOREP_ENABLE_TRACING").run();
    assert_eq!(job.said(), Vec::<&str>::new());
    let found: usize = visits(&job.only().lanes()).values().map(Vec::len).sum();
    assert_eq!(found, job.only().operations().len());
}

#[test]
fn each_of_the_busiest_pairs_has_a_lane() {
    for (pairs, setting) in [(8, None), (3, Some("3")), (10, Some("20")), (0, Some("0"))] {
        let plan = plan("pairs", 0);
        let job = setting.into_iter().fold(plan, |plan, setting| plan.with("NCCL_SCOREP_LANE_PAIRS", setting)).run();
        assert_eq!(job.said(), Vec::<&str>::new());
        let lanes = job.only().lanes();
        let names: BTreeSet<&str> = lanes.keys().map(String::as_str).filter(|name| name.contains(" to ")).collect();
        // a higher rank gets more data
        let expected: BTreeSet<String> =
            (11 - pairs..11).map(|peer| format!("NCCL 0000000000001a2b 0 to {peer}")).collect();
        assert_eq!(names, expected.iter().map(String::as_str).collect());
        expected.iter().for_each(|name| check_pair(&lanes[name]));
    }
}

/// Checks a pair's lane: 10 sends of each of four sizes, 4000 to 32,000 bytes times the peer.
fn check_pair(lane: &Location) {
    let peer: u64 = lane.name.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(lane.visits.iter().all(|visit| visit.region == "NCCL transfers"), "{}", lane.name);
    let bytes: u64 = lane.visits.iter().map(|visit| visit.counter("nccl_pair_bytes").unwrap()).sum();
    assert_eq!(bytes, 10 * 60_000 * peer, "{}", lane.name);
    let at = lane.visits[0].begin;
    let [rate, latency, fit] =
        ["nccl_pair_rate", "nccl_pair_latency", "nccl_pair_r2"].map(|name| lane.shown(name, at).unwrap() as f64);
    // the transfers do not overlap; each takes 5 us and a nanosecond for ten bytes
    let sustained = bytes as f64 / (40.0 * 5e-6 + bytes as f64 / 1e10);
    assert!((rate / sustained - 1.0).abs() < 0.01, "{}: {rate} B/s", lane.name);
    assert!((latency - 5000.0).abs() < 50.0, "{}: {latency} ns", lane.name);
    assert!(fit > 999_000.0, "{}: {fit} ppm", lane.name);
}

#[test]
fn a_pair_has_a_region_for_each_window() {
    let job = plan("pairs", 0).with("NCCL_SCOREP_WINDOW_SECONDS", "0.5").run();
    let lanes = job.only().lanes();
    let lane = &lanes["NCCL 0000000000001a2b 0 to 10"];
    assert!(lane.visits.len() >= 3, "{:?}", lane.visits);
    let bytes: u64 = lane.visits.iter().map(|visit| visit.counter("nccl_pair_bytes").unwrap()).sum();
    assert_eq!(bytes, 10 * 60_000 * 10);
}

/// A window without a fit shows no other window's fit: transfers of one size give none.
#[test]
fn a_window_without_a_fit_shows_none() {
    let job = plan("pairs_of_one_size", 0).with("NCCL_SCOREP_WINDOW_SECONDS", "1").run();
    assert_eq!(job.said(), Vec::<&str>::new());
    let lanes = job.only().lanes();
    let lane = &lanes["NCCL 0000000000001a2b 0 to 1"];
    let shown =
        |at: u64| ["nccl_pair_rate", "nccl_pair_latency", "nccl_pair_r2"].map(|name| lane.shown(name, at).unwrap());
    let [first, last] = [lane.visits.first(), lane.visits.last()].map(|visit| shown(visit.unwrap().begin));
    // 5 us latency, and 3.2 us for 32,000 bytes
    assert!(first[1].abs_diff(5000) < 50 && first[2] > 999_000, "{first:?}");
    assert!((last[0] as f64 / (32_000.0 / 8.2e-6) - 1.0).abs() < 0.01 && last[1..] == [0, 0], "{last:?}");
}

#[test]
fn gpu_times_lie_where_they_belong_however_far_the_clocks_are_apart() {
    for offset in [-2_000_000, -900_000, 0, 340_000, 2_000_000] {
        let job = plan("clock_offset", offset).run();
        assert_eq!(job.said(), Vec::<&str>::new(), "{offset}");
        check(job.only(), 2.6e9, &PLACE);
    }
}

/// A drift of 50 ppm moves the clocks apart by 40 us from one early callback to the next.
#[test]
fn gpu_times_lie_where_they_belong_however_the_clocks_drift() {
    for drift in [-50, 50] {
        let job = plan("clock_drift", drift).run();
        assert_eq!(job.said(), Vec::<&str>::new(), "{drift}");
        check(job.only(), 2.6e9, &PLACE);
    }
}

/// A tick is 10 ns at 100 MHz, and a microsecond with gettimeofday; the GPU's stamps move in steps of 10 ns.
#[test]
fn gpu_times_lie_where_they_belong_with_coarse_clocks() {
    for rate in [100_000_000, 1_000_000] {
        let job = plan("clock_coarse", rate).run();
        assert_eq!(job.said(), Vec::<&str>::new(), "{rate}");
        check(job.only(), rate as f64, &PLACE);
    }
}

/// Some GPUs count steps of 10 ns: a setting says so, or the GPU is AMD's.
#[test]
fn gpu_times_lie_where_they_belong_whatever_the_stamps_count() {
    for (name, value) in [("NCCL_SCOREP_GPU_TICK", "10"), ("HOST_NCCL", env!("RCCL_STAND_IN"))] {
        let job = plan("clock_counts", 0).with(name, value).run();
        assert_eq!(job.said(), Vec::<&str>::new(), "{name}");
        check(job.only(), 1e9, &PLACE);
    }
}

#[test]
fn a_tick_rate_that_is_told_is_believed() {
    let job = plan("clock_offset", 1000).with("NCCL_SCOREP_TICK_RATE", "2.6e9").run();
    assert_eq!(job.said(), Vec::<&str>::new());
    check(job.only(), 2.6e9, &PLACE);
}

/// Threads that Score-P does not know have no location, and so no regions.
#[test]
fn calls_are_regions_of_the_threads_that_score_p_knows() {
    let calls = |setting: &str| {
        let job = plan("host_regions", 0).with("NCCL_SCOREP_HOST_REGIONS", setting).run();
        let process = job.only();
        assert_eq!(job.said(), Vec::<&str>::new());
        check(process, 1e9, &PLACE);
        let of_threads = process.locations().into_iter().filter(|location| !location.is_gpu);
        let count =
            |location: &Location, region: &str| location.visits.iter().filter(|visit| visit.region == region).count();
        let counts = |location: Location| {
            let regions = ["step", "ncclAllReduce", "ncclSend"].map(|region| count(&location, region));
            (regions, location.visits.len(), location.name)
        };
        of_threads.map(counts).collect::<Vec<_>>()
    };
    let main = |regions: [usize; 3]| (regions, regions.iter().sum(), "Master thread".to_owned());
    let known = |regions: [usize; 3]| (regions, regions.iter().sum(), "known".to_owned());
    assert_eq!(calls("on"), [main([1, 3, 1]), known([1, 2, 1])]);
    assert_eq!(calls("off"), [main([1, 0, 0]), known([1, 0, 0])]);
}

/// Each region lasts as long as the call: 2 us.
#[test]
fn a_region_of_the_host_lasts_as_long_as_the_call() {
    let job = plan("host_regions", 0).with("NCCL_SCOREP_HOST_REGIONS", "on").run();
    let locations = job.only().locations();
    let calls = locations.iter().filter(|location| !location.is_gpu).flat_map(|location| &location.visits);
    let lengths: BTreeSet<u64> =
        calls.filter(|visit| visit.region != "step").map(|visit| visit.end - visit.begin).collect();
    assert_eq!(lengths, [2000].into());
}

/// Regions of nested groups: the end of the inner group, each launch, and the start of its operations, 2 + 1 + 7 + 4
/// us. A captured operation has none after its launch. The counter also has the microsecond between launch and
/// operations.
#[test]
fn the_launch_of_nested_groups_is_a_region_and_time_in_the_api() {
    let job = plan("nested_groups", 0)
        .with("NCCL_SCOREP_HOST_REGIONS", "on")
        .with("SCOREP_METRIC_NCCL_PLUGIN", "nccl_api_time")
        .run();
    assert_eq!(job.said(), Vec::<&str>::new());
    let process = job.only();
    let main = process.locations().into_iter().find(|location| location.name == "Master thread").unwrap();
    let inside: Vec<_> = main
        .visits
        .iter()
        .filter(|visit| visit.region != "step")
        .map(|visit| (visit.region.as_str(), visit.end - visit.begin))
        .collect();
    let group = [("ncclSend", 2000), ("ncclGroupEnd", 1000), ("ncclGroupEnd", 7000), ("ncclGroupEnd", 4000)];
    assert_eq!(inside, [&group[..], &group[..3], &group[..]].concat());
    let counted = process.lines("value").map(|fields| fields[2].parse::<u64>().unwrap());
    assert_eq!(counted.sum::<u64>(), 15_000 + 10_000 + 15_000);
}
