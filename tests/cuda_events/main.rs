//! Times by CUDA events, without a GPU: a stand-in for NCCL (tests/c/cuda/events_host.c) and a stand-in for CUDA's
//! driver (tests/c/cuda/cuda_driver.c) in one process, against the shipped library. The driver's stand-in ends the
//! process where the library would harm a job. The host prints how each operation is timed, and its begin and end; the
//! tests compare that with the summary.

mod sources;

use crate::support::{events, tool};
use events::{WITH_EVENTS, of};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Plays scenarios through each version that reports launches, with the default source of times and with events only.
macro_rules! scenarios {
    ($($name:ident;)*) => {
        const SCENARIOS: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                for version in WITH_EVENTS {
                    of(stringify!($name), version).play().check();
                    of(stringify!($name), version).gpu_time("events").play().check();
                }
                // anchors are made by the threads that launch
                of(stringify!($name), 7).gpu_time("events").under_score_p().play().check();
            }
        )*
    };
}

scenarios! {
    ring;
    tree;
    alternating;
    sends;
    lone_sends;
    exchange;
    nested_exchange;
    all_to_all;
    idle_and_busy;
    busy_from_the_first;
    slow_first_launch;
    late_return;
    blocking_launch;
    several_gpus;
    no_context;
    no_own_stream;
    nothing;
    mixture;
    graphs;
    graph_told_of_once;
    capture_elsewhere;
    capture_here;
    host_callbacks;
    never_over;
    destroyed_never_over;
    context_goes_at_the_end;
    pool_exhausted;
    few_events;
    launches_without_operations;
    destroyed_amidst;
    made_again;
    reset_at_the_end;
    reset_and_again;
    reset_and_closed;
    exit_amidst;
    exit_starved;
    exit_unanswered;
    exit_unasked;
    exit_in_a_launch;
    exit_under_threads;
    thread_dies;
    forked;
}

/// Scenarios with a test of their own, in this target, in cuda_failures.rs or in graph_events.rs.
const OTHERS: [&str; 42] = [
    "closed_unanswered",
    "context_goes",
    "copy_engine",
    "destroy_fails",
    "drift",
    "driver_goes_at_the_end",
    "fails",
    "fails_once",
    "fails_without_a_name",
    "graph_and_old_driver",
    "graph_and_reset",
    "graph_launch_without_end",
    "graph_replays_beside_late_looks",
    "graph_never_over",
    "graph_of_two_launches",
    "graph_read_amidst",
    "graph_record_fails",
    "graph_replay_at_the_end",
    "graph_replays",
    "graph_replays_alone",
    "graph_replays_unread",
    "graph_with_many_launches",
    "graphs_of_communicators",
    "late_stamps",
    "late_stamps_and_capture",
    "long_job",
    "many_kernels",
    "misuse",
    "no_calls",
    "own_stream_stays",
    "reset_amidst",
    "runs_ahead",
    "silent_broadcast_and_ring",
    "silent_broadcasts",
    "silent_broadcasts_in_long_calls",
    "silent_elsewhere",
    "silent_together",
    "small_ones",
    "stand_in",
    "starved_collector",
    "threads",
    "unknown_error",
];

#[test]
fn every_scenario_of_the_host_is_played() {
    let listed = tool::succeed(&mut Command::new(env!("HOST_EVENTS_HOST")));
    let listed: BTreeSet<&str> = listed.lines().collect();
    let played: BTreeSet<&str> = SCENARIOS.iter().chain(&OTHERS).copied().collect();
    assert_eq!(listed, played);
}

#[test]
fn a_gpu_may_go_though_the_collector_has_not_answered_and_the_next_one_is_timed() {
    for number in [0, 1] {
        for version in WITH_EVENTS {
            of("closed_unanswered", version).number(number).gpu_time("events").play().check();
        }
        of("closed_unanswered", 7).number(number).gpu_time("events").under_score_p().play().check();
    }
}

/// The stand-in answers as CUDA's driver does, and detects harmful calls.
#[test]
fn the_stand_in_is_a_driver_that_sees_what_does_harm() {
    let output = of("stand_in", 7).run();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let misuses = [
        "cuEventRecord: there is no such event",
        "cuEventRecord: there is no such stream",
        "cuEventRecord: the event is another context's than the stream",
        "cuEventRecord: the event is another context's than the stream",
        "cuEventElapsedTime: events of two contexts",
        "cuEventElapsedTime: an event that was never recorded",
        "cuEventCreate: the event would have no time, or wait",
        "cuEventRecord: the stream is captured",
        "cuEventCreate: breaks a capture",
        "cuEventElapsedTime: breaks a capture",
        "cuEventCreate: breaks a capture",
        "cuThreadExchangeStreamCaptureMode: there is no such mode",
        "cuCtxGetCurrent: called within a callback of CUDA's",
        "cuCtxGetCurrent: called in a forked process",
        "cuEventRecord: an event of a context that was reset",
        "cuEventRecord: a stream of a context that was reset",
    ];
    for (number, misuse) in (0..).zip(misuses) {
        let output = of("misuse", 7).number(number).run();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said == format!("libcuda stand-in: {misuse}\n"), "{number}: {said}");
    }
}

/// Returns the lines of the recording in a directory.
fn recorded(directory: &Path) -> String {
    let file = directory.read_dir().unwrap().next().unwrap().unwrap().path();
    std::io::read_to_string(flate2::read::MultiGzDecoder::new(std::fs::File::open(file).unwrap())).unwrap()
}

/// A replay must know which launch a kernel's times belong to.
#[test]
fn a_recording_has_the_kernels_of_nested_groups() {
    let directory = tempfile::tempdir().unwrap();
    of("nested_exchange", 7).setting("NCCL_SCOREP_RECORD", directory.path().to_str().unwrap()).play().check();
    assert_eq!(recorded(directory.path()).lines().filter(|line| line.contains("\"cb\":\"kernel\"")).count(), 20);
}

/// A host that runs ahead has no launch into a free stream: events of the library's own show the two clocks. They change
/// no time that the summary has, and a driver that has them late makes none wrong. Under Score-P the launching thread
/// records them: the library's thread has no location.
#[test]
fn a_host_that_runs_ahead_has_anchors() {
    for (late, least) in [(0, 5), (700, 2), (20_000, 0)] {
        let played = of("runs_ahead", 7).number(late).gpu_time("events");
        for played in [played.clone(), played.under_score_p()] {
            let directory = tempfile::tempdir().unwrap();
            played.setting("NCCL_SCOREP_RECORD", directory.path().to_str().unwrap()).play().check();
            let lines = recorded(directory.path());
            let anchors: Vec<&str> = lines.lines().filter(|line| line.contains("\"cb\":\"anchor\"")).collect();
            // three seconds, in which the first ones are closer together
            assert!((least..=12).contains(&anchors.len()), "{late} ms late: {anchors:?}");
        }
    }
}

/// Releases that do so by default report a broadcast's API call and nothing else of it.
#[test]
fn broadcasts_that_nccl_reports_no_further_are_timed() {
    for version in [6, 7] {
        for gpu_time in ["auto", "events", "stamps", "off"] {
            of("silent_broadcasts", version)
                .gpu_time(gpu_time)
                .without_setting("NCCL_ALLGATHERV_ENABLE")
                .play()
                .check();
        }
        for gpu_time in ["auto", "events"] {
            let of = of("silent_broadcasts_in_long_calls", version).gpu_time(gpu_time);
            of.without_setting("NCCL_ALLGATHERV_ENABLE").play().check();
        }
        of("silent_broadcast_and_ring", version).without_setting("NCCL_ALLGATHERV_ENABLE").play().check();
    }
}

/// The library cannot time them where it does not know the stream's GPU, or which of two kernels belongs to which
/// broadcast.
#[test]
fn broadcasts_that_are_reported_no_further_are_timed_where_it_is_known_what_is_theirs() {
    for version in [6, 7] {
        for gpu_time in ["auto", "events"] {
            for scenario in ["silent_elsewhere", "silent_together"] {
                of(scenario, version).gpu_time(gpu_time).without_setting("NCCL_ALLGATHERV_ENABLE").play().check();
            }
        }
    }
}

#[test]
fn collectives_by_copy_engine_are_timed() {
    for version in [6, 7] {
        for gpu_time in ["auto", "events", "stamps", "off"] {
            of("copy_engine", version).gpu_time(gpu_time).play().check();
        }
    }
}

/// A thread may be held up in a launch for any time. Its operation has no time then; most operations have one.
#[test]
fn threads_that_launch_at_once_do_not_take_times_from_one_another() {
    for version in WITH_EVENTS {
        for gpu_time in ["auto", "events"] {
            let played = of("threads", version).gpu_time(gpu_time).play();
            played.check();
            let (timed, untimed) = (played.gpu_timed(), played.untimed_for("not_believed"));
            assert!(timed + untimed == 2000 && timed > 1000, "{}: {timed}, {untimed}", played.what());
            assert_eq!(played.event_timed(), timed, "{}", played.what());
        }
    }
}

/// Clocks drift by some parts per million. The library relies on a measured clock offset for four seconds. A begin on
/// the host's clock may be wrong by the drift in that time, but by no more than the launch takes.
#[test]
fn a_clock_that_drifts_makes_no_time_wrong() {
    for (ppm, tolerance) in [(0, 0.3), (1, 4.3), (-1, 4.3), (20, 5.3), (-20, 5.3)] {
        of("drift", 7).number(ppm).play().check_within(tolerance);
    }
}

#[test]
fn a_job_may_go_on_for_a_month() {
    for version in WITH_EVENTS {
        of("long_job", version).play().check();
    }
}

/// Events cost the GPU some microseconds per kernel. Where there are many kernels, the library times a part of them.
#[test]
fn a_bounded_share_of_many_kernels_is_timed() {
    for (connections, most) in [("8", 10_000), ("1", 1_500)] {
        let played = of("many_kernels", 7).setting("CUDA_DEVICE_MAX_CONNECTIONS", connections).play();
        played.check();
        let (kernels, timed) = (played.number("kernels"), played.number("timed"));
        // the share is computed from the second before, in which the machine may have been slower
        assert!(timed > 0 && timed <= kernels && timed < 2 * most, "{}: {timed} of {kernels} a second", played.what());
        assert!(kernels < 2 * most || timed < kernels, "{}: all of {kernels} a second", played.what());
    }
    // a setting that asks for events gets an event for every kernel
    let played = of("many_kernels", 7).gpu_time("events").play();
    played.check();
    assert_eq!(played.untimed_for("not_chosen"), 0, "{}", played.what());
}

#[test]
fn launches_that_the_collector_is_too_late_for_are_no_graphs_replays() {
    // where the collector stands in its round when it loses its processor is chance
    for from in [0, 20_000, 25_000, 30_000, 35_000] {
        let played = of("starved_collector", 7).number(from).gpu_time("events").play();
        played.check();
        assert!(played.untimed_for("no_event") > 0, "{}: no report was lost", played.what());
    }
}

/// A host that runs ahead has launched all kernels when the GPU is busy; one that enqueues when the stream has nothing to
/// do has launched none of them, as far as that is known.
#[test]
fn a_summary_has_the_later_of_launch_and_gpu() {
    let launches = |scenario| of(scenario, 7).gpu_time("events").play().summary()["launches"].clone();
    let ahead = &launches("runs_ahead")[0];
    assert_eq!(
        (&ahead["operations"], &ahead["host_later"], &ahead["gpu_later"]),
        (&json!(600), &json!(0), &json!(600))
    );
    // 200 ms of other work, and kernels that take as long as their calls are apart
    let median = ahead["queued_median_us"].as_f64().unwrap();
    assert!((190_000.0..210_000.0).contains(&median), "{median}");
    let behind = launches("no_own_stream");
    assert!(behind.is_null() || behind[0]["gpu_later"] == 0, "{behind}");
}

#[test]
fn operations_that_are_not_recorded_are_not_missed() {
    for version in WITH_EVENTS {
        of("small_ones", version).setting("NCCL_SCOREP_MIN_BYTES", "1000").play().check();
    }
}
