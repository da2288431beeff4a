//! The figures of every recorded run are those of the slow and plain reference.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod reference;
mod tool;

use reference::compare::{compare, compare_counters};
use reference::transfers::{self, Regression};
use reference::{api, json};

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

/// Windows decide when figures are worked out, never what they are.
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

/// Whether anybody times launches or not. A nanosecond is left out of each span at most.
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
        // PyTorch's batch_isend_irecv: its calls take microseconds, its launches milliseconds
        nested += usize::from(name.ends_with("_ring") && expected.iter().all(|&time| time > 4_000_000));
    }
    assert!(nested >= 2, "no recorded run has nested groups");
}
