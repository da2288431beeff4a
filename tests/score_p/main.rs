//! The library in a real Score-P: an application in C (tests/c/programs/replay_app.c), compiled with Score-P when the
//! tests run, plays recorded callbacks at their pace; trace, profile and summary must show what the recordings hold.
//!
//! Score-P is the one whose `scorep-config` is in `SCOREP_PREFIX/bin` or on `PATH`.

mod captured;
mod communicated;
mod documented;
mod experiment;
mod findings;
mod host_regions;
mod lanes;
mod many;
mod profile;
mod replayed;
mod reported;
mod series;
mod snippets;

use crate::support::{document, installation, report, summaries, tool, trace};
use std::path::PathBuf;

use experiment::Experiment;
use findings::Expected;
use installation::Model;
use lanes::Rules;

fn captures(run: &str) -> Vec<PathBuf> {
    tool::captures(&tool::run(run))
}

fn one(run: &str, rank: usize) -> Vec<PathBuf> {
    vec![captures(run).swap_remove(rank)]
}

/// Runs the application, unless there is no Score-P; nothing may be wrong then.
fn check(
    model: Model,
    captures: &[PathBuf],
    arguments: &[&str],
    settings: &[(&str, &str)],
    expected: &Expected,
) -> Option<Experiment> {
    if !installation::is_there(model) {
        return None;
    }
    let experiment = experiment::run(model, captures, arguments, settings);
    let findings = experiment.findings(expected);
    assert!(findings.is_empty(), "{arguments:?} {settings:?}: {findings:#?}");
    Some(experiment)
}

#[test]
fn a_job_of_four_ranks() {
    let Some(job) = check(Model::Mpi, &captures("nodes2x2_train"), &[], &[], &Expected::default()) else { return };
    // all of its operations can be GPU-timed, so that the lanes' lengths were all compared
    let timed: usize = summaries::gpu_timed(&job.summaries()).values().sum();
    assert_eq!(timed, 4 * 240);
    let (lanes, kernels) = (lanes::seconds(&trace::Trace::read(&job.path())), profile::kernels(&job.path()));
    assert!((kernels / lanes - 1.0).abs() < 0.01, "{kernels} s of the GPUs in the profile, {lanes} s of operations");
    documented::run(&job);
    communicated::check(&job.path());
}

/// Four measurements without MPI, as torchrun has them, are one job.
#[test]
fn measurements_without_mpi_are_one_job() {
    if !installation::is_there(Model::Threads) {
        return;
    }
    let captures = captures("nodes2x2_train");
    let profiles = experiment::run_apart(&captures, &[("SCOREP_ENABLE_TRACING", "false")]);
    reported::compare_apart(profiles.path(), captures.len());
    let traces = experiment::run_apart(&captures, &[]);
    reported::read_apart(traces.path(), captures.len(), 960);
}

/// The trace and the recordings of one run make the same report.
#[test]
fn the_trace_and_recordings_say_the_same() {
    if !installation::is_there(Model::Mpi) {
        return;
    }
    undisturbed(|| {
        let scratch = tempfile::tempdir().unwrap();
        let recordings = scratch.path().join("recordings");
        let settings = [("NCCL_SCOREP_RECORD", recordings.to_str().unwrap())];
        let job = check(Model::Mpi, &captures("nodes2x2_train"), &[], &settings, &Expected::default());
        job.map_or(Ok(()), |job| reported::compare(&job, &recordings))
    });
}

/// Has a run with a recording agree once in a few times. A callback's time is read twice, for the recording and for
/// the library. Where few callbacks are prompt, and a thread loses the processor between the two readings of the most
/// prompt one, they place the GPU's clock apart by as long. Whatever the library does wrong, it does each time.
fn undisturbed(run: impl Fn() -> Result<(), String>) {
    const TIMES: usize = 4;
    for time in 1..=TIMES {
        let Err(wrong) = run() else { return };
        assert!(time < TIMES, "{wrong}");
        tool::say(&wrong);
    }
}

#[test]
fn a_job_whose_operations_the_gpu_does_not_time() {
    // that a send to oneself is done shows at the end only: NCCL tells nothing of it but the enqueue
    let expected = Expected { learnt_late: &["nccl_busy_time", "nccl_ops", "nccl_bytes"], ..Expected::default() };
    check(Model::Mpi, &captures("nodes2x2_collectives"), &[], &[], &expected);
}

#[test]
fn a_process_of_four_threads() {
    check(Model::Threads, &captures("nodes4x1_pipeline"), &["threads"], &[], &Expected::default());
}

#[test]
fn every_clock() {
    for (timer, tolerance_us) in [("clock_gettime", 2.0), ("gettimeofday", 3.0)] {
        let expected = Expected { rules: Rules { tolerance_us, complete: true }, ..Expected::default() };
        check(Model::Threads, &one("nodes4x1_pipeline", 1), &[], &[("SCOREP_TIMER", timer)], &expected);
    }
}

#[test]
fn profiling_alone() {
    let expected = Expected { tracing: false, ..Expected::default() };
    check(Model::Threads, &captures("nodes2x2_graph"), &["threads"], &[("SCOREP_ENABLE_TRACING", "false")], &expected);
}

#[test]
fn tracing_alone() {
    let expected = Expected { profiling: false, ..Expected::default() };
    check(
        Model::Threads,
        &captures("nodes2x2_graph"),
        &["threads"],
        &[("SCOREP_ENABLE_PROFILING", "false")],
        &expected,
    );
}

#[test]
fn calls_as_regions() {
    let expected = Expected { host_regions: true, ..Expected::default() };
    for run in ["nodes2x2_train", "nvlink4_ring"] {
        check(Model::Threads, &one(run, 0), &[], &[("NCCL_SCOREP_HOST_REGIONS", "on")], &expected);
    }
}

/// One value a window and series, at its window's end; the summary tells which communicator a number is, called as its
/// lane.
#[test]
fn series_of_each_communicator() {
    let settings = [
        ("SCOREP_ENABLE_PROFILING", "false"),
        ("SCOREP_METRIC_PLUGINS", "nccl_plugin,nccl_series_plugin"),
        ("SCOREP_METRIC_NCCL_SERIES_PLUGIN", "default"),
        ("NCCL_SCOREP_WINDOW_SECONDS", "0.1"),
    ];
    if !installation::is_there(Model::Threads) {
        return;
    }
    let experiment = experiment::run(Model::Threads, &one("nodes4x1_pipeline", 1), &[], &settings);
    assert!(experiment.status.success() && !experiment.said.contains("warning"), "{}", experiment.said);
    let found = series::read(&experiment);
    // a pipeline's sends and receives, and all-reduces of pairs of its ranks
    let [rate, time, busbw] =
        ["nccl_window_transfer_rate#0", "nccl_window_collective_time#1", "nccl_window_effective_busbw#1"]
            .map(|name| found.get(name).unwrap_or_else(|| panic!("no {name} in {found:?}")));
    assert!(!found.contains_key("nccl_window_collective_time#0"), "{found:?}");
    for points in [rate, time, busbw] {
        assert!(points.len() > 1 && points.is_sorted_by_key(|point| point.0), "{points:?}");
        assert!(points.iter().all(|point| point.1 > 0.0), "{points:?}");
    }
    assert!(time.iter().map(|point| point.0).eq(busbw.iter().map(|point| point.0)), "{time:?} {busbw:?}");
    let told = &experiment.summaries()[0]["processes"][0]["series"];
    let trace = trace::Trace::read_definitions(&experiment.path());
    for number in ["#0", "#1"] {
        let lane = told[number].as_str().unwrap();
        assert!(trace.locations.iter().any(|location| location.name == lane), "no location {lane}");
    }
}

/// What happened meanwhile is in Score-P's region for it.
#[test]
fn recording_switched_off_and_on() {
    let expected = Expected { regions: ["forward", "MEASUREMENT OFF", "step"], ..Expected::default() };
    check(Model::Threads, &one("nodes4x1_pipeline", 0), &["switch"], &[], &expected);
}

/// 16 MiB, of which a location takes one.
#[test]
fn score_ps_default_memory() {
    let rules = Rules { complete: false, ..Expected::default().rules };
    let expected = Expected { rules, may_say: &["SCOREP_TOTAL_MEMORY"], ..Expected::default() };
    check(Model::Threads, &captures("nodes4x1_pipeline"), &["threads"], &[("SCOREP_TOTAL_MEMORY", "")], &expected);
}

#[test]
fn ended_by_exit_inside_a_region() {
    let expected = Expected { status: 3, ..Expected::default() };
    let arguments = ["exit=0.4"];
    let Some(ended) = check(Model::Threads, &one("nodes2x2_train", 0), &arguments, &[], &expected) else { return };
    assert!(ended.made().is_some_and(|made| made > 1000), "{}", ended.printed);
}

/// The application alone does what the others rely on: what it plays is what a replay plays, at the GPU's times, and
/// what it says it enqueued is what the library counted.
#[test]
fn the_application_without_score_p() {
    let of_threads = |run: &str| (captures(run), vec!["threads"]);
    let alone = |run: &str| (one(run, 0), Vec::new());
    let runs = [
        of_threads("nodes2x2_graph"),
        alone("v230_nodes2x2_graph"),
        alone("v231_nvlink2_graph"),
        alone("nodes4x1_pipeline"),
    ];
    for (captures, arguments) in runs {
        let played = experiment::run_alone(&captures, &arguments);
        let (own, replayed) = (played.summaries(), summaries::replay(&captures));
        assert_eq!((played.status.code(), played.said.as_str()), (Some(0), ""), "{captures:?}");
        assert_eq!(summaries::differences(&own, &replayed), Vec::<String>::new(), "{captures:?}");
        assert_eq!(summaries::gpu_timed(&own), summaries::gpu_timed(&[replayed]), "{captures:?}");
        let said: u64 = played.enqueued().values().flatten().flatten().sum();
        assert_eq!(own[0]["processes"][0]["counters"]["nccl_enqueued_bytes"].as_u64(), Some(said), "{captures:?}");
    }
}
