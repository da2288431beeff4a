//! The figures of every recorded run equal those of the slow and plain reference.

use crate::support::{edited, reference, tool};

use edited::Edited;
use reference::compare::{compare, compare_counters};
use reference::transfers::{self, Regression};
use reference::{api, json};
use serde_json::json;

#[test]
fn every_recorded_run_gives_the_reference_figures() {
    let mut wrong = Vec::new();
    for (name, path) in tool::runs() {
        let summary = tool::summary(tool::tool().arg("replay").arg(&path).args(["--format", "json"]));
        let expected = reference::summarise(&tool::captures(&path)).unwrap();
        let differences = [compare(&summary, &expected), compare_counters(&summary, &expected)].concat();
        wrong.extend(differences.iter().map(|difference| format!("{name}: {difference}")));
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// The median is the default.
#[test]
fn the_fit_goes_through_the_times_that_the_setting_names() {
    let path = tool::run("nodes2x2_collectives");
    let captures = tool::captures(&path).iter().map(|path| json::read(path).unwrap()).collect::<Vec<_>>();
    let mut expected = reference::summarise(&tool::captures(&path)).unwrap();
    for (setting, regression) in [("median", Regression::Median), ("min", Regression::Min), ("avg", Regression::Avg)] {
        let mut command = tool::tool();
        command.arg("replay").arg(&path).args(["--format", "json"]);
        let summary = tool::summary(command.env("NCCL_SCOREP_REGRESSION", setting));
        expected.transfers = transfers::rows(&captures.iter().collect::<Vec<_>>(), regression).unwrap();
        assert_eq!(compare(&summary, &expected), Vec::<String>::new(), "{setting}");
    }
}

/// Windows decide when figures are computed, and never change them.
#[test]
fn the_figures_do_not_depend_on_the_windows() {
    let path = tool::run("nodes2x2_collectives");
    let expected = reference::summarise(&tool::captures(&path)).unwrap();
    for (seconds, events) in [("1000", "100000000"), ("0.001", "50000"), ("1000", "64")] {
        let mut command = tool::tool();
        command.arg("replay").arg(&path).args(["--format", "json", "--window", seconds]);
        let summary = tool::summary(command.env("NCCL_SCOREP_WINDOW_EVENTS", events));
        assert_eq!(compare(&summary, &expected), Vec::<String>::new(), "{seconds} s, {events} events");
    }
}

/// The time does not depend on whether launches are timed. Each span may be a nanosecond shorter than the reference's.
#[test]
fn the_time_inside_the_api_is_that_of_calls_and_of_what_launches_them() {
    let mut nested = 0;
    for (name, path) in tool::runs() {
        let recordings: Vec<_> = tool::captures(&path).iter().map(|capture| json::read(capture).unwrap()).collect();
        let expected: Vec<_> = recordings.iter().map(|recording| api::time(recording).unwrap()).collect();
        for source in ["auto", "off"] {
            let mut command = tool::tool();
            command.arg("replay").arg(&path).args(["--format", "json"]).env("NCCL_SCOREP_GPU_TIME", source);
            let summary = tool::summary(&mut command);
            for (process, (recording, expected)) in recordings.iter().zip(&expected).enumerate() {
                let counted = summary["processes"][process]["counters"]["nccl_api_time"].as_i64().unwrap();
                let spans = recording.events.len() as i64;
                assert!(
                    (expected - spans..=*expected).contains(&counted),
                    "{name} {process} {source}: {counted}, not {expected}"
                );
            }
        }
        // PyTorch's batch_isend_irecv: its API calls take microseconds, its launches milliseconds
        nested += usize::from(name.ends_with("_ring") && expected.iter().all(|&time| time > 4_000_000));
    }
    assert!(nested >= 2, "no recorded run has nested groups");
}

/// The sends are too small to be recorded: their kernels count with the receives, and nothing else is missing.
#[test]
fn operations_that_are_not_recorded_take_neither_kernels_nor_children_with_them() {
    let ring = tool::captures(&tool::run("truth_ring"))[0].clone();
    let small = Edited::of(&ring, |line| {
        if line["type"] == "P2p" && line["func"] == "Send" {
            line["count"] = json!(1);
        }
    });
    let replay = |path, bytes| {
        let mut command = tool::tool();
        command.arg("replay").arg(path).args(["--format", "json"]).env("NCCL_SCOREP_MIN_BYTES", bytes);
        tool::summary(&mut command)
    };
    let (whole, small) = (replay(&ring, "0"), replay(&small.path(), "100"));
    let counter =
        |name: &str| [&whole, &small].map(|summary| summary["processes"][0]["counters"][name].as_u64().unwrap());
    let [time, _] = counter("nccl_busy_time");
    for name in ["nccl_busy_time", "nccl_p2p_time", "nccl_recv_time"] {
        assert_eq!(counter(name), [time; 2], "{name}");
    }
    assert_eq!(counter("nccl_send_time"), [time, 0]);
    let rows = small["operations"].as_array().unwrap();
    assert!(rows.len() == 1 && rows[0]["kernel_time_us"] == rows[0]["kernel_once_us"], "{rows:?}");
    assert!((rows[0]["kernel_once_us"].as_f64().unwrap() * 1e3 - time as f64).abs() < 1.0, "{rows:?}");
    let [of_whole, of_small] = [&whole, &small].map(|summary| &summary["processes"][0]);
    let of = |name: &str| [of_whole, of_small].map(|process| process[name].as_u64().unwrap());
    assert_eq!((of("skipped"), of("incomplete"), of("orphans")), ([0, 16], [0, 16], [0, 0]));
    assert_eq!(of("skipped_children"), [0, 164]);
}

/// They count as callbacks for which there was no room, and a note says so.
#[test]
fn callbacks_that_the_recording_lacks_are_dropped() {
    let whole = tool::captures(&tool::run("truth_ring"))[0].clone();
    let lacking = Edited::of(&whole, |line| {
        if line["cb"] == "meta" {
            line["dropped"] = json!(77);
        }
    });
    let replay = |path: &std::path::Path| {
        let output = tool::tool().arg("replay").arg(path).args(["--format", "json"]).output().unwrap();
        assert!(output.status.success());
        let said = String::from_utf8(output.stderr).unwrap();
        (serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap(), said)
    };
    let (summary, said) = replay(&lacking.path());
    let last =
        format!("1 of 1 recordings lack callbacks, so the figures are too small: {} (77).", lacking.path().display());
    assert!(said.contains(&last), "{said}");
    assert_eq!(compare(&summary, &reference::summarise(&[lacking.path()]).unwrap()), Vec::<String>::new());
    let process = &summary["processes"][0];
    for counted in [&process["dropped"], &process["incomplete"], &process["counters"]["nccl_dropped"]] {
        assert_eq!(counted, 77);
    }
    let notes = [
        "events are missing, and nobody knows which: this process has no lateness and no bandwidth",
        "the recording lacks 77 callbacks: the figures are too small",
    ];
    assert_eq!(process["notes"], json!(notes));
    let (summary, said) = replay(&whole);
    let process = &summary["processes"][0];
    assert_eq!(said, "");
    assert_eq!((&process["incomplete"], &process["notes"]), (&json!(0), &json!([])));
}
