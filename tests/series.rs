//! Series in Score-P: for each communicator and each of its ranks, the values of a window at the window's end.

use crate::support::job;

use job::{Operation, Plan, Process, plan};
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;
/// Time from the enqueue to the begin on the GPU.
const QUEUED: u64 = 20_000;

fn with_series(tokens: &str) -> Plan {
    plan("windows", 0)
        .with("SCOREP_METRIC_PLUGINS", "nccl_plugin,nccl_series_plugin")
        .with("SCOREP_METRIC_NCCL_SERIES_PLUGIN", tokens)
        .with("NCCL_SCOREP_WINDOW_SECONDS", "1")
}

/// Returns times and values, by series. Each location of counters has a name, and values.
fn series(process: &Process) -> BTreeMap<String, Vec<(u64, f64)>> {
    let mut found: BTreeMap<String, Vec<(u64, f64)>> = BTreeMap::new();
    for location in process.locations().into_iter().filter(|location| location.name.starts_with("NCCL series of ")) {
        assert!(location.visits.is_empty() && !location.outside.is_empty(), "{}", location.name);
        for (name, time, value) in location.outside {
            found.entry(name).or_default().push((time, value as f64));
        }
    }
    found
}

fn time_of(process: &Process, line: &str, comm: &str) -> u64 {
    process.lines(line).find(|fields| fields[0] == comm).unwrap()[1].parse().unwrap()
}

fn operations(process: &Process, comm: &str) -> Vec<Operation> {
    let mut operations: Vec<Operation> =
        process.operations().into_iter().filter(|operation| operation.comm == comm).collect();
    operations.sort_by_key(|operation| operation.begin);
    operations
}

/// Returns the windows of a communicator. A window ends when an operation is enqueued more than a second after its
/// begin; the last window ends with the communicator.
fn windows(process: &Process, comm: &str, last: u64) -> Vec<(u64, Vec<Operation>)> {
    let mut opened = time_of(process, "opened", comm);
    let mut windows: Vec<(u64, Vec<Operation>)> = vec![(last, Vec::new())];
    for operation in operations(process, comm) {
        let enqueued = operation.begin - QUEUED;
        if enqueued - opened > SECOND {
            windows.last_mut().unwrap().0 = enqueued;
            windows.push((last, Vec::new()));
            opened = enqueued;
        }
        windows.last_mut().unwrap().1.push(operation);
    }
    windows
}

fn mean_time(operations: &[Operation]) -> f64 {
    let sum: u64 = operations.iter().map(|operation| operation.end - operation.begin).sum();
    sum as f64 / operations.len() as f64
}

/// Checks the times within `near` ticks, and the values within a percent.
fn check(found: &[(u64, f64)], wanted: &[(u64, f64)], near: u64) {
    assert_eq!(found.len(), wanted.len(), "{found:?} instead of {wanted:?}");
    for ((time, value), (wanted_time, wanted_value)) in found.iter().zip(wanted) {
        assert!(time.abs_diff(*wanted_time) <= near, "at {time} instead of {wanted_time}");
        assert!((value / wanted_value - 1.0).abs() < 0.01, "{value} instead of {wanted_value} at {time}");
    }
}

#[test]
fn each_communicator_has_its_windows_values_at_their_ends() {
    let tokens = "nccl_window_collective_time#1,nccl_window_effective_busbw#1,nccl_window_collective_time#other,nccl_window_effective_busbw#0";
    let job = with_series(tokens).run();
    assert_eq!(job.said(), Vec::<&str>::new());
    let process = job.only();
    let found = series(process);
    let windows = windows(process, "0000000000002b3c", time_of(process, "closed", "0000000000002b3c"));
    assert!(windows.len() >= 6, "{windows:?}");
    let times: Vec<_> = windows.iter().map(|(end, operations)| (*end, mean_time(operations))).collect();
    check(&found["nccl_window_collective_time#1"], &times, 0);
    // 1 MB with two ranks: the bus bandwidth equals the bandwidth of the operation
    let bandwidths: Vec<_> = times.iter().map(|&(end, time)| (end, 1e6 / time * 1e9)).collect();
    check(&found["nccl_window_effective_busbw#1"], &bandwidths, 0);
    // communicator 0 has only sends, which have no bus bandwidth; the communicator of one rank has no number
    assert!(!found.contains_key("nccl_window_effective_busbw#0"));
    let mut stretches: BTreeMap<u64, Vec<Operation>> = BTreeMap::new();
    for operation in ["0000000000003c4d", "0000000000004d5e"].iter().flat_map(|comm| operations(process, comm)) {
        stretches.entry((operation.begin - QUEUED) / SECOND).or_default().push(operation);
    }
    let end: u64 = process.lines("end").next().unwrap()[0].parse().unwrap();
    let others: Vec<_> = stretches
        .iter()
        .map(|(stretch, operations)| (((stretch + 1) * SECOND).min(end), mean_time(operations)))
        .collect();
    check(&found["nccl_window_collective_time#other"], &others, 1_000_000);
}

/// The rate is bytes over active time, with or without a fit; the latency comes from the fit.
#[test]
fn each_rank_of_a_communicator_has_a_rate_of_its_own() {
    let rate = "nccl_window_transfer_rate";
    let job = with_series(&format!("{rate}#0,{rate}#0@1,{rate}#0@2,{rate}#1@1,nccl_window_transfer_latency#0")).run();
    assert_eq!(job.said(), Vec::<&str>::new());
    let process = job.only();
    let found = series(process);
    let end: u64 = process.lines("end").next().unwrap()[0].parse().unwrap();
    let windows = windows(process, "0000000000001a2b", end);
    let [first, last] = [&windows[0], windows.last().unwrap()].map(|(_, operations)| operations[0].begin);
    let times = |operation: &Operation| {
        let slower = if operation.begin - first < 30 * 103_000_000 - 50_000_000 { 1.0 } else { 2.0 };
        slower * (5.0 + operation.bytes as f64 / 1e4)
    };
    assert!(last - first > 31 * 103_000_000, "no window is of the slower ones alone");
    let rates = |wanted: &dyn Fn(&Operation) -> bool| {
        let rate = |(end, operations): &(u64, Vec<Operation>)| {
            let of = operations.iter().filter(|operation| wanted(operation));
            let [bytes, time_us] =
                of.fold([0.0, 0.0], |[bytes, time_us], of| [bytes + of.bytes as f64, time_us + times(of)]);
            (time_us > 0.0).then(|| (*end, bytes / time_us * 1e6))
        };
        windows.iter().filter_map(rate).collect::<Vec<_>>()
    };
    check(&found["nccl_window_transfer_rate#0"], &rates(&|_| true), 0);
    for peer in [1, 2] {
        check(&found[&format!("{rate}#0@{peer}")], &rates(&|operation| operation.peer == peer), 0);
    }
    assert!(!found.contains_key("nccl_window_transfer_rate#1@1"));
    let latencies = &found["nccl_window_transfer_latency#0"];
    let (begin, end) = (latencies[0].1, latencies.last().unwrap().1);
    assert!((begin - 5000.0).abs() < 100.0 && (end - 10_000.0).abs() < 100.0, "{latencies:?}");
}

#[test]
fn a_former_name_gives_the_new_one() {
    let job = with_series("nccl_busbw,nccl_transfer_latency@1").run();
    let said = job.said();
    assert!(
        said.len() == 2
            && said[0].contains("nccl_window_effective_busbw#N")
            && said[1].contains("nccl_window_transfer_latency#N@P"),
        "{said:?}"
    );
    let found = series(job.only());
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        ["nccl_window_effective_busbw#1", "nccl_window_effective_busbw#2", "nccl_window_effective_busbw#3"]
    );
}

/// Each communicator's series take a location, where there is memory behind the lanes.
#[test]
fn series_that_there_is_no_memory_for_are_left_out() {
    let job = with_series("default").with("SCOREP_TOTAL_MEMORY", "9M").run();
    let said = job.said();
    let is_told = |line: &&&str| line.contains(" locations of series ") && line.contains("SCOREP_TOTAL_MEMORY");
    assert_eq!(said.iter().filter(is_told).count(), 1, "{said:?}");
    let job = with_series("default").run();
    assert_eq!(job.said(), Vec::<&str>::new());
    assert!(series(job.only()).contains_key("nccl_window_collective_time#3"));
}
