//! Summaries of known sums.

use super::*;
use crate::answer::{Conditions, Part, SCHEMA};
use common::conditions::{ConditionRow, GpuRow, HostCondition};
use common::summary::{
    Bandwidth, ClockComparison, Lateness, RankPlace, Summary, SummaryCommunicator, SummaryOperations, Transfers,
};
use std::path::Path;
use tempfile::TempDir;

fn hexadecimal(comm: u64) -> String {
    format!("{comm:016x}")
}

/// Returns the summary of a rank of a communicator of four, two on each host, with 10 all-reduces of 1 MB.
fn of_rank(rank: i32, comm: u64, job: &str) -> Summary {
    let mut process = Summary::of_nothing("").processes.remove(0);
    process.notes.clear();
    process.origin.id = Some(format!("{comm:08x}{rank:08x}"));
    process.origin.host = Some(format!("host{}", rank / 2));
    process.origin.boot = None;
    process.origin.job = Some(job.into());
    (process.origin.rank, process.origin.ranks) = (u32::try_from(rank).ok(), Some(4));
    process.dropped = 2;
    let operations = SummaryOperations {
        comm: hexadecimal(comm),
        rank,
        kind: "Coll".into(),
        func: "AllReduce".into(),
        peer: None,
        count: 10,
        bytes: 10_000_000,
        gpu_timed: 10,
        event_timed: 0,
        // 20 us and 40 us each
        time_us: if rank == 3 { 400.0 } else { 200.0 },
        kernel_time_us: if rank == 3 { 400.0 } else { 200.0 },
        kernel_once_us: 0.0,
        min_us: Some(10.0 + f64::from(rank)),
        max_us: Some(50.0 + f64::from(rank)),
        proxy_timed: 0,
        proxy_time_us: 0.0,
        enqueue_timed: 0,
        enqueue_time_us: 0.0,
    };
    let transfers = Transfers {
        comm: hexadecimal(comm),
        rank,
        peer: (rank + 1) % 4,
        transfers: 7,
        bytes: 700,
        sizes: 1,
        channels: 1,
        active_us: 1.0,
        sustained_rate_mb_s: Some(9_000.0),
        typical_rate_mb_s: Some(10_000.0),
        typical_error_mb_s: None,
        mean_in_flight: None,
        max_in_flight: None,
        fit: None,
        channel_fits: None,
    };
    let ranks = vec![RankPlace { rank, process: 0 }];
    Summary {
        processes: vec![process],
        communicators: vec![SummaryCommunicator {
            comm: hexadecimal(comm),
            nranks: 4,
            nnodes: 2,
            name: "dp".into(),
            ranks,
        }],
        operations: vec![operations],
        transfers: vec![transfers],
        ..Summary::merge(vec![])
    }
}

fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn file(directory: &TempDir, name: &str, summary: &Summary) -> PathBuf {
    write(directory.path(), name, &serde_json::to_string(summary).unwrap())
}

fn reports(paths: Vec<PathBuf>) -> Vec<JobReport> {
    report(paths.into_iter(), &[], &Links { others: Some(8_000.0), ..Links::default() }).0
}

#[test]
fn sums_of_four_processes_make_a_report() {
    let directory = TempDir::new().unwrap();
    // the order of files does not matter
    let paths = [2, 0, 3, 1].map(|rank| file(&directory, &format!("all.{rank}.json"), &of_rank(rank, 0xab, "j")));
    let [JobReport { name, report }] = &reports(paths.into())[..] else { panic!("one job") };
    assert_eq!((name.as_deref(), report.schema.as_str()), (Some("j"), SCHEMA));
    assert_eq!(report.gpus, ["rank 0", "rank 1", "rank 2", "rank 3"]);
    let complete = &report.complete;
    assert_eq!((complete.ranks_here, complete.ranks, complete.inputs.len()), (4, Some(4), 4));
    assert_eq!((complete.operations, complete.untimed, complete.dropped, complete.matched), (40, 0, 8, 0));
    let [row] = report.speed.known().unwrap().rows.as_slice() else { panic!("one row") };
    assert_eq!((row.function.as_str(), row.from_bytes, row.count, row.compared), ("AllReduce", 1_000_000, 40, 40));
    assert_eq!((row.min_us, row.max_us, row.mean_us), (Some(10.0), Some(53.0), Some(25.0)));
    // 40 MB x 1.5 in 1,000 us
    assert_eq!((row.busbw, row.busbw_mean, row.median_us, row.p95_us), (None, Some(60.0), None, None));
    let pairs = &report.pairs.known().unwrap().rows;
    let found: Vec<_> = pairs.iter().map(|pair| (pair.rank, pair.peer, pair.class.as_str())).collect();
    assert_eq!(found, [(0, 1, "same node"), (1, 2, "between nodes"), (2, 3, "same node"), (3, 0, "between nodes")]);
    assert_eq!((pairs[0].sustained, pairs[0].typical, pairs[0].bytes), (Some(9.0), Some(10.0), 700));
    let [made] = report.communicators.known().unwrap().rows.as_slice() else { panic!("one communicator") };
    assert_eq!((made.members.as_str(), made.operations, made.bytes), ("0-3", 40, 40_000_000));
    assert_eq!((made.name.as_str(), made.made_us, made.init_us), ("dp", None, None));
    assert!(report.steps.absent().is_some_and(|reason| reason.contains("summaries of processes hold sums")));
    assert!(report.late.absent().is_some() && report.swim.absent().is_some() && report.unfinished.absent().is_some());
}

#[test]
fn bad_files_are_named_and_left_out() {
    let directory = TempDir::new().unwrap();
    let good = file(&directory, "all.0.json", &of_rank(0, 0xab, "j"));
    let again = file(&directory, "copy.json", &of_rank(0, 0xab, "j"));
    let cut = write(directory.path(), "cut.json", "{\n \"schema\": \"scorep-nccl-summary-1\",\n \"proc");
    let foreign = Summary { schema: "other-7".into(), ..of_rank(1, 0xab, "j") };
    let foreign = file(&directory, "foreign.json", &foreign);
    let nowhere = directory.path().join("nowhere.json");
    let paths = vec![good, again, cut, foreign, nowhere, directory.path().into()];
    let [JobReport { report, .. }] = &reports(paths.clone())[..] else { panic!("one job") };
    let problems: Vec<Option<String>> = report.complete.inputs.iter().map(|input| input.problem.clone()).collect();
    let [None, Some(twice), Some(cut), Some(foreign), Some(nowhere), Some(folder)] = problems.as_slice() else {
        panic!("five of six are bad: {problems:?}")
    };
    assert!(twice.contains("copy.json: its process 0 (rank 0) is already in") && twice.ends_with("all.0.json"));
    assert!(cut.contains("cut.json, line 3, column 6: it is no summary: EOF"), "{cut}");
    assert!(foreign.contains("foreign.json, schema: its schema is \"other-7\""), "{foreign}");
    assert!(nowhere.contains("nowhere.json: No such file"), "{nowhere}");
    assert!(folder.ends_with("it is a directory; give the files in it"), "{folder}");
    let complete = &report.complete;
    assert_eq!((complete.ranks_here, complete.ranks, complete.operations), (1, Some(4), 10));
    assert_eq!((complete.communicators[0].missing.as_str(), complete.communicators[0].here), ("1-3", 1));
    let (none, unreadable) = super::report(paths[2..].iter().cloned(), &[], &Links::default());
    let unreadable: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
    assert_eq!((none, unreadable.as_slice()), (vec![], [cut, foreign, nowhere, folder].map(Clone::clone).as_slice()));
}

#[test]
fn two_jobs_have_a_report_each() {
    let directory = TempDir::new().unwrap();
    let mut paths: Vec<PathBuf> =
        (0..4).map(|rank| file(&directory, &format!("a{rank}.json"), &of_rank(rank, 0xab, "a"))).collect();
    paths.extend((0..2).map(|rank| file(&directory, &format!("b{rank}.json"), &of_rank(rank, 0xcd, "b"))));
    let both = reports(paths);
    let found: Vec<_> = both.iter().map(|it| (it.name.as_deref(), it.report.complete.operations)).collect();
    assert_eq!(found, [(Some("a"), 40), (Some("b"), 20)]);
    for (of_job, pairs) in both.iter().zip([4, 2]) {
        assert_eq!(of_job.report.pairs.known().unwrap().rows.len(), pairs);
        assert_eq!(of_job.report.communicators.known().unwrap().rows.len(), 1);
        assert!(of_job.report.complete.notes.iter().any(|note| note.contains("several jobs")));
    }
    assert_eq!(both[1].report.complete.ranks, Some(4));
}

/// A rank that two processes claim, and a process that was killed.
#[test]
fn repeated_ranks_and_cut_processes_are_said() {
    let directory = TempDir::new().unwrap();
    let mut other = of_rank(1, 0xab, "j");
    other.processes[0].origin.id = Some("another".into());
    other.complete = false;
    let paths = vec![
        file(&directory, "0.json", &of_rank(0, 0xab, "j")),
        file(&directory, "1.json", &of_rank(1, 0xab, "j")),
        file(&directory, "2.json", &other),
    ];
    let report = &reports(paths)[0].report;
    let row = &report.complete.communicators[0];
    assert_eq!((row.repeated.as_str(), row.missing.as_str(), row.here), ("1", "2-3", 2));
    assert!(report.complete.notes.iter().any(|note| note.starts_with("1 process' data end before the process")));
}

#[test]
fn a_job_summary_has_lateness_clocks_and_bandwidth() {
    let directory = TempDir::new().unwrap();
    let mut summary = Summary::merge((0..4).map(|rank| of_rank(rank, 0xab, "j")).collect());
    summary.clocks = Some(ClockComparison { nodes: 2, error_us: 1.5 });
    summary.lateness = vec![Lateness {
        comm: hexadecimal(0xab),
        rank: 3,
        count: 10,
        timed: 10,
        operations: 9,
        resolved: 8,
        one_in: 1,
        error_us: 2.0,
        estimated_error_us: 1.0,
        mean_us: Some(30.0),
        p99_us: Some(31.0),
        last: 7,
    }];
    summary.bandwidth = vec![Bandwidth {
        comm: hexadecimal(0xab),
        func: "AllReduce".into(),
        from_bytes: 1 << 19,
        count: 10,
        timed: 10,
        operations: 10,
        one_in: 1,
        bytes: 10_000_000,
        least_us: 100.0,
        busbw_gb_s: Some(150.0),
    }];
    let report = &reports(vec![file(&directory, "summary.json", &summary)])[0].report;
    assert_eq!((report.complete.nodes, report.complete.clock_error_us), (2, Some(1.5)));
    assert_eq!((report.complete.inputs[0].processes, report.complete.operations), (4, 40));
    let Part::Known(late) = &report.late else { panic!("lateness") };
    assert_eq!((late.compared, late.resolved, late.ranks.len()), (9, 8, 0));
    let row = &late.lateness[0];
    assert_eq!((row.gpu, row.mean_us, row.p99_us, row.last, row.error_us), (Some(3), Some(30.0), Some(31.0), 7, 1.0));
    let rows = &report.speed.known().unwrap().rows;
    let found: Vec<_> = rows.iter().map(|row| (row.from_bytes, row.to_bytes, row.busbw, row.utilisation)).collect();
    assert_eq!(found, [(1 << 19, (1 << 20) - 1, Some(150.0), Some(0.15)), (1_000_000, 1_000_000, None, None)]);
}

/// A process with two ranks has two GPUs; rows of communicators that are summed up have no ranks.
#[test]
fn a_process_may_have_several_ranks() {
    let directory = TempDir::new().unwrap();
    let mut summary = of_rank(0, 0xab, "j");
    summary.communicators[0].ranks.push(RankPlace { rank: 1, process: 0 });
    summary.operations.push(SummaryOperations { comm: hexadecimal(0), gpu_timed: 5, ..summary.operations[0].clone() });
    let report = &reports(vec![file(&directory, "0.json", &summary)])[0].report;
    assert_eq!(report.gpus, ["rank 0 GPU 0", "rank 0 GPU 1"]);
    assert_eq!(report.communicators.known().unwrap().rows[0].members, "0-1");
    assert_eq!((report.complete.operations, report.complete.untimed), (20, 5));
    let others = &report.speed.known().unwrap().rows[0];
    // half of them have a time: no mean
    assert_eq!((others.nranks, others.count, others.mean_us, others.busbw_mean), (0, 10, None, None));
}

/// Conditions of a rank in two rows, a second of one launching thread that waits and three of two that do not.
#[test]
fn conditions_are_over_all_the_time_of_each_process() {
    let directory = TempDir::new().unwrap();
    let row = |seconds: u64, waiting: u64, threads: f64, sm_mhz: f64| ConditionRow {
        // of different hosts, whose clocks nobody has compared
        until: 1 << 40,
        length_us: seconds * 1_000_000,
        host: HostCondition { waiting_us: Some(waiting), threads: Some(threads), ..HostCondition::default() },
        gpus: vec![GpuRow { bus: "a".into(), sm_mhz: Some(sm_mhz), ..GpuRow::default() }],
    };
    let with = |rank: i32, rows: Vec<ConditionRow>| {
        let mut summary = of_rank(rank, 0xab, "j");
        summary.processes[0].conditions = rows;
        file(&directory, &format!("{rank}.json"), &summary)
    };
    let rows = vec![row(1, 400_000, 1.0, 1000.0), row(3, 0, 2.0, 2000.0)];
    let paths = vec![with(1, rows), with(2, vec![]), with(0, vec![row(1, 20_000, 2.0, 1500.0)])];
    let [JobReport { report, .. }] = &reports(paths)[..] else { panic!("one job") };
    let found = report.conditions.known().unwrap();
    assert_eq!((found.of_steps, found.processes, found.map.waiting.len()), (false, 2, 0));
    let rows: Vec<_> = found.rows.iter().map(|row| (row.length_us, row.waiting, row.sm_mhz)).collect();
    let expected = [
        (Some(1e6), Some(0.01), Some(1500.0)),
        (Some(4e6), Some(0.1), Some(1750.0)),
        // nothing is known of it
        (None, None, None),
    ];
    assert_eq!(rows, expected);
    let none = reports(vec![file(&directory, "none.json", &of_rank(0, 0xcd, "k"))]).remove(0).report;
    assert_eq!(none.conditions.absent(), Some(Conditions::NOT_IN_INPUTS));
}
