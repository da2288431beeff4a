//! Events in CUDA graphs (`NCCL_SCOREP_GRAPH_EVENTS`), played as in cuda_events: which replays have a time, whose it
//! is, and that no capture and no job is harmed. The driver's stand-in ends the process over a record that would break
//! a capture.

use crate::support::{events, tool};

use events::{Scenario, WITH_EVENTS, of};
use serde_json::Value;
use std::collections::BTreeMap;

/// A scenario in which one captured launch in `one_in` has events.
fn one_in(one_in: u32, name: &'static str, version: u32) -> Scenario {
    of(name, version).setting("NCCL_SCOREP_GRAPH_EVENTS", &one_in.to_string())
}

#[test]
fn replays_are_timed_as_long_as_their_kernels_take() {
    for version in WITH_EVENTS {
        for gpu_time in ["auto", "events"] {
            for scenario in
                ["graph_replays", "graphs_of_communicators", "graph_replay_at_the_end", "graph_of_two_launches"]
            {
                for number in [0, 1] {
                    one_in(1, scenario, version).number(number).gpu_time(gpu_time).play().check();
                }
            }
        }
    }
}

#[test]
fn replays_are_timed_where_nothing_is_launched_outside_of_graphs() {
    for version in WITH_EVENTS {
        for number in [0, 1] {
            one_in(1, "graph_replays_alone", version).number(number).gpu_time("events").play().check();
        }
    }
}

#[test]
fn replays_are_timed_beside_launches_that_are_looked_at_late() {
    for version in WITH_EVENTS {
        one_in(1, "graph_replays_beside_late_looks", version).gpu_time("events").play().check();
    }
}

#[test]
fn one_captured_launch_in_so_many_is_timed_and_without_the_setting_none() {
    for every in [0, 2, 3, 1000] {
        one_in(every, "graph_replays", 7).play().check();
    }
    of("graph_replays", 7).play().check();
    for gpu_time in ["stamps", "off"] {
        one_in(0, "graph_replays", 7).gpu_time(gpu_time).play().check();
    }
}

#[test]
fn of_replays_that_follow_one_another_too_closely_some_have_their_own_time() {
    for version in WITH_EVENTS {
        let played = one_in(1, "graph_replays_unread", version).play();
        played.check();
        // those after which the library has looked, and all launches beside the graph
        assert!(played.gpu_timed() >= 8, "{}: {}", played.what(), played.gpu_timed());
        assert_eq!(played.gpu_timed() + played.untimed(), 2004, "{}", played.what());
    }
}

/// The times of the first event and those of the last one may be of two replays.
#[test]
fn times_of_two_replays_are_no_time() {
    for version in WITH_EVENTS {
        let played = one_in(1, "graph_read_amidst", version).play();
        played.check();
        let operations = played.summary()["operations"].as_array().unwrap();
        let row = operations.iter().find(|row| row["func"] == "AllGather").unwrap();
        let (timed, time) = (row["gpu_timed"].as_f64().unwrap(), row["time_us"].as_f64().unwrap());
        assert!(timed >= 13.0 && (time / timed - 96.8).abs() < 0.1, "{}: {row}", played.what());
    }
}

#[test]
fn events_in_graphs_are_bounded() {
    one_in(1, "graph_with_many_launches", 7).play().check();
}

#[test]
fn a_record_that_fails_ends_events_and_nothing_else() {
    for version in WITH_EVENTS {
        for record in [1, 2] {
            let played = one_in(1, "graph_record_fails", version).number(record).play();
            played.check();
            let lines = played.lines();
            let words = ["cuEventRecordWithFlags", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "900"];
            assert!(lines.len() == 1 && words.iter().all(|word| lines[0].contains(word)), "{lines:?}");
        }
    }
}

#[test]
fn a_driver_without_events_in_graphs_is_left_alone_with_one_line() {
    for version in WITH_EVENTS {
        let played = one_in(1, "graph_and_old_driver", version).with_old_driver().play();
        played.check();
        let lines = played.lines();
        assert!(lines.len() == 1 && lines[0].contains("NCCL_SCOREP_GRAPH_EVENTS times nothing"), "{lines:?}");
    }
}

#[test]
fn graphs_that_go_or_hang_harm_nothing() {
    for version in WITH_EVENTS {
        for scenario in ["graph_and_reset", "graph_never_over", "graph_launch_without_end"] {
            one_in(1, scenario, version).play().check();
        }
    }
}

/// Scenarios that play captures without replays of the events: what is asked for in addition must change nothing.
#[test]
fn captures_are_as_before() {
    for version in WITH_EVENTS {
        for scenario in
            ["graphs", "graph_told_of_once", "capture_elsewhere", "capture_here", "host_callbacks", "reset_amidst"]
        {
            one_in(1, scenario, version).play().check();
        }
    }
}

/// Rows of a summary, with what a replay of the recording must say as well.
fn rows(summary: &Value) -> BTreeMap<String, [Option<f64>; 7]> {
    let fields = ["count", "gpu_timed", "event_timed", "time_us", "min_us", "kernel_time_us", "kernel_once_us"];
    let key = |row: &Value| ["comm", "rank", "kind", "func", "peer"].map(|name| row[name].to_string()).join(" ");
    summary["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (key(row), fields.map(|field| row[field].as_f64())))
        .collect()
}

#[test]
fn a_replay_of_a_recording_has_the_same_times() {
    for (scenario, every) in [("graph_replays", 1), ("graph_replays", 2), ("graph_replays_unread", 1)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        let played = one_in(every, scenario, 7).gpu_time("events").setting("NCCL_SCOREP_RECORD", path).play();
        played.check();
        let mut command = tool::tool();
        command.args(["replay", path, "--format", "json"]);
        // as in a job script that replays what it has recorded
        command.envs([("NCCL_SCOREP_GPU_TIME", "events"), ("NCCL_SCOREP_GRAPH_EVENTS", "1")]);
        let replayed = tool::summary(&mut command);
        let (recorded, replayed) = (rows(played.summary()), rows(&replayed));
        assert_eq!(recorded.keys().collect::<Vec<_>>(), replayed.keys().collect::<Vec<_>>());
        for (key, recorded) in recorded {
            for (recorded, replayed) in recorded.into_iter().zip(replayed[&key]) {
                let differ =
                    recorded.zip(replayed).is_some_and(|(recorded, replayed)| (recorded - replayed).abs() > 0.01);
                assert!(!differ && recorded.is_some() == replayed.is_some(), "{key}: {recorded:?} {replayed:?}");
            }
        }
    }
}
