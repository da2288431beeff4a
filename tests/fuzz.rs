//! Arbitrary callbacks (tests/c/fuzz_host.c) through every version of the interface, by a fixed seed: no crash, no hang, memory within
//! its bounds, and counts that add up. `SCOREP_NCCL_FUZZ_SECONDS` is how long in all (60), `SCOREP_NCCL_FUZZ_SEED` another seed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

mod tool;

use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

const VERSIONS: [u32; 7] = [1, 2, 3, 4, 5, 6, 7];
/// Settings that each make something else happen often, and the memory they leave for recording, in MiB.
const SETTINGS: [(&[(&str, &str)], u64); 3] = [
    (&[("NCCL_SCOREP_WINDOW_EVENTS", "64"), ("NCCL_SCOREP_MEMORY_MB", "8"), ("NCCL_SCOREP_DEADLINE_SECONDS", "0.05")], 8),
    (&[("NCCL_SCOREP_WINDOW_EVENTS", "1000"), ("NCCL_SCOREP_MEMORY_MB", "1"), ("NCCL_SCOREP_DEADLINE_SECONDS", "0.5")], 1),
    (&[("NCCL_SCOREP_WINDOW_SECONDS", "0.01"), ("NCCL_SCOREP_PRESET", "full")], 32),
];
/// What the process may need besides: the program, its threads, and what the collector keeps of operations, most on a machine so busy
/// that thousands of communicators end before it comes to them.
const BESIDES: u64 = 400;
/// How long the process may take to end after its time.
const PATIENCE: Duration = Duration::from_secs(60);

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Waits for a process that may hang.
fn wait(command: &mut Command, patience: Duration, what: &str) -> ExitStatus {
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > patience {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{what} hangs");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The numbers that the host prints, by name.
fn printed(text: &str) -> HashMap<&str, u64> {
    let lines = text.lines().map(|line| line.strip_prefix("expect ").unwrap_or(line));
    lines.filter_map(|line| line.split_once(' ')).map(|(name, value)| (name, value.parse().unwrap())).collect()
}

fn fuzz(version: u32, seed: u64, settings: &[(&str, &str)], megabytes: u64, time: Duration) {
    let what = format!("v{version}, seed {seed}, {settings:?}");
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let mut command = Command::new(env!("HOST_FUZZ_HOST"));
    command.arg(tool::library()).args([version.to_string(), seed.to_string(), time.as_millis().to_string()]);
    std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("NCCL_")).for_each(|(name, _)| {
        command.env_remove(name);
    });
    // what is told would be told many times; communicators that have ended are soon free again
    command.env("NCCL_SCOREP_LOG", "off").env("NCCL_SCOREP_SETTLE_SECONDS", "0.01").env("NCCL_ALLGATHERV_ENABLE", "0");
    command.env("NCCL_SCOREP_SUMMARY", path("summary")).envs(settings.iter().copied());
    command.stdout(File::create(path("stdout")).unwrap()).stderr(File::create(path("stderr")).unwrap());
    let status = wait(&mut command, time + PATIENCE, &what);
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap_or_default();
    assert!(status.success(), "{what}: {status}\n{}", read("stderr"));
    let (text, summary) = (read("stdout"), read("summary"));
    assert!(!summary.is_empty(), "{what}: no summary\n{}", read("stderr"));
    check(&what, &printed(&text), &serde_json::from_str(&summary).unwrap(), megabytes);
}

fn check(what: &str, wanted: &HashMap<&str, u64>, summary: &Value, megabytes: u64) {
    let process = &summary["processes"][0];
    let found = |field: &str| process[field].as_u64().unwrap();
    let sum = |rows: &Value, field: &str| rows.as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).sum::<u64>();
    let operations = &summary["operations"];
    let count = sum(operations, "count");
    for field in ["callbacks", "events"] {
        assert_eq!(found(field), wanted[field], "{what}: {field}");
    }
    // started = finished and unfinished + dropped, or refused for their context
    assert_eq!(count, wanted["operations"], "{what}: operations that got a handle");
    assert!(found("dropped") + found("ignored_handles") >= wanted["refused"], "{what}: {process:#}");
    assert!(found("unfinished") <= count, "{what}: {process:#}");
    let timed = ["gpu_timed", "proxy_timed", "enqueue_timed"].map(|field| sum(operations, field));
    assert_eq!(timed.iter().sum::<u64>(), count, "{what}: {timed:?}");
    assert!(sum(&summary["transfers"], "transfers") <= wanted["steps"], "{what}");
    assert_eq!(sum(&summary["transfers"], "transfers"), sum(&summary["channels"], "transfers"), "{what}");
    let peak = found("peak_memory_bytes") >> 20;
    assert!(peak <= megabytes + BESIDES, "{what}: {peak} MiB");
}

#[test]
fn arbitrary_callbacks_do_no_harm() {
    let seconds = number("SCOREP_NCCL_FUZZ_SECONDS", 60);
    let seed = number("SCOREP_NCCL_FUZZ_SEED", 20_231);
    let runs: Vec<_> = SETTINGS.iter().flat_map(|setting| VERSIONS.map(|version| (version, setting))).collect();
    let time = Duration::from_secs(seconds) / runs.len() as u32;
    for (place, (version, (settings, megabytes))) in (0..).zip(runs) {
        fuzz(version, seed + place, settings, *megabytes, time);
    }
}
