//! Memory and threads that the library takes: for idle and for ended communicators (tests/c/nccl/memory_host.c), and for
//! every capture at full speed (tests/c/programs/speed_host.c).

use crate::support::tool;

use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Most memory of an idle communicator, KiB.
const OF_A_COMMUNICATOR: u64 = 64;
/// Most growth by 800 communicators that come and go after the first 1000, KiB. Ended communicators wait for late events
/// for a while and keep their context of 256 bytes and their place in the collector's tables; meanwhile new ones come.
/// 60 to 300 KiB were measured, some beside busy loops. A leaked block of slots per communicator would give 3200.
const SLACK: u64 = 384;
/// Most memory that the library may take in a process, KiB.
const OF_A_PROCESS: u64 = 40 << 10;

/// Plays a scenario of the host; returns the numbers that it prints, by name.
fn play(library: &Path, scenario: &str, milliseconds: u32, settings: &[(&str, &str)]) -> HashMap<String, u64> {
    let mut command = tool::host(env!("HOST_MEMORY_HOST"));
    command.arg(library).args(["7", scenario, &milliseconds.to_string()]).envs(settings.iter().copied());
    // so that kernel events are asked for, and no line is printed about transfers that never end
    command.env("NCCL_ALLGATHERV_ENABLE", "0").env("NCCL_SCOREP_LOG", "off");
    numbers(&mut command)
}

/// Returns the numbers that a host prints, by name.
fn numbers(host: &mut Command) -> HashMap<String, u64> {
    let printed = tool::succeed(host);
    let numbers = printed.lines().filter_map(|line| line.split_once(' '));
    numbers.map(|(name, number)| (name.to_owned(), number.parse().unwrap())).collect()
}

/// Returns the library of the tests' build, and the shipped library where it exists.
fn libraries() -> Vec<PathBuf> {
    let shipped = tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing));
    [tool::library()].into_iter().chain(shipped.ok()).collect()
}

/// Returns the growth of memory during a scenario, KiB.
fn growth(library: &Path, scenario: &str, milliseconds: u32, settings: &[(&str, &str)]) -> u64 {
    let found = play(library, scenario, milliseconds, settings);
    found["after"].saturating_sub(found["before"])
}

#[test]
fn an_idle_communicator_costs_little() {
    for library in libraries() {
        let each = growth(&library, "idle", 500, &[]) / 100;
        // a communicator that takes no memory was not created
        assert!((1..=OF_A_COMMUNICATOR).contains(&each), "{}: {each} KiB a communicator", library.display());
    }
}

/// With a job's default settings, and with communicators that end at once.
#[test]
fn communicators_that_come_and_go_cost_nothing() {
    for library in libraries() {
        for (milliseconds, settings) in [(1000, &[][..]), (200, &[("NCCL_SCOREP_SETTLE_SECONDS", "0.001")])] {
            let grown = growth(&library, "destroyed", milliseconds, settings);
            assert!(grown <= SLACK, "{}, {settings:?}: {grown} KiB more", library.display());
        }
    }
}

/// Communicators that end during a transfer are kept for 120 settling times: half a minute by default.
#[test]
fn communicators_that_wait_for_late_events_cost_as_much_as_idle_ones() {
    let library = tool::library();
    let each = growth(&library, "destroyed_amidst_transfers", 50, &[]) / 800;
    assert!((1..=OF_A_COMMUNICATOR).contains(&each), "{each} KiB a communicator");
    let grown = growth(&library, "destroyed_amidst_transfers", 200, &[("NCCL_SCOREP_SETTLE_SECONDS", "0.001")]);
    assert!(grown <= SLACK, "{grown} KiB more");
}

/// A library that is loaded, asked for its metrics and initialized has started no thread. The thread that reads the links'
/// rates, which is over at once, is left out.
#[test]
fn no_thread_is_started_before_there_is_something_to_record() {
    for (scenario, quiet) in
        [("threads_with_nccl", &["loaded"][..]), ("threads_with_score_p", &["loaded", "initialized"])]
    {
        let found = play(&tool::library(), scenario, 0, &[("NCCL_SCOREP_LINKS", "off")]);
        quiet.iter().for_each(|moment| assert_eq!(found[*moment], 1, "{scenario}, {moment}"));
        assert_eq!(found["communicator"], 3, "{scenario}: the collector's thread, and the one for the end");
    }
}

/// Each capture is played twenty times at full speed, while the collector processes the events.
#[test]
fn no_capture_at_full_speed_costs_much_or_loses_an_event() {
    let Ok(library) = tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing)) else { return };
    let mut wrong = Vec::new();
    for (_, run) in tool::runs() {
        for capture in tool::captures(&run) {
            // a collector that got no processor for a while loses events: once is the machine's fault
            let is_wrong = too_much(&library, &capture).is_some();
            wrong.extend(is_wrong.then(|| too_much(&library, &capture)).flatten());
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Returns what is wrong with the memory or the events of a capture.
fn too_much(library: &Path, capture: &Path) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let summary = directory.path().join("summary.json");
    let mut command = tool::host(env!("HOST_SPEED_HOST"));
    command.arg(library).arg(capture).arg("10");
    command.env("NCCL_SCOREP_PRESET", "full").env("NCCL_SCOREP_TRUST_NCCL", "on");
    let found = numbers(command.env("NCCL_SCOREP_LOG", "off").env("NCCL_SCOREP_SUMMARY", &summary));
    let summary: Value = serde_json::from_slice(&std::fs::read(summary).unwrap()).unwrap();
    let [events, dropped] = ["events", "dropped"].map(|name| summary["processes"][0][name].as_u64().unwrap());
    // the host makes all calls twice as often as it measures, once with each call timed
    assert!(found["memory"] > 0 && events == 2 * found["starts"], "{}: {found:?}, {events}", capture.display());
    let what = format!("{}: {} KiB, {dropped} of {events} events dropped", capture.display(), found["memory"]);
    (found["memory"] > OF_A_PROCESS || dropped > 0).then_some(what)
}
