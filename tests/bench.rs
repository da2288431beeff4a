//! `scorep-nccl bench` makes every call of a capture, on the given number of threads and for the given number of
//! communicators. These tests do not look at the times.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/tool/mod.rs"]
mod tool;

use serde_json::Value;
use std::path::{Path, PathBuf};
use tool::{run, tool};

fn capture(run_name: &str, file: &str) -> PathBuf {
    run(run_name).join(file)
}

/// Returns the number of calls without those that create and destroy communicators, and the number of starts of events.
fn calls_of(capture: &Path) -> (u64, u64) {
    let mut text = String::new();
    let file = std::fs::File::open(capture).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count =
        |wanted: &[&str]| lines.iter().filter(|line| wanted.contains(&line["cb"].as_str().unwrap())).count() as u64;
    (count(&["start", "state", "stop"]), count(&["start"]))
}

fn rows(arguments: &[&str], capture: &Path) -> Vec<Value> {
    let output =
        tool().args(["bench", "--rounds", "1", "--format", "json"]).args(arguments).arg(capture).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Value>(&output.stdout).unwrap().as_array().unwrap().clone()
}

#[test]
fn all_calls_are_made_by_all_threads_for_all_communicators() {
    let capture = capture("nvlink4_ring", "ring.r0.jsonl.gz");
    let (calls, starts) = calls_of(&capture);
    let rows = rows(&["--threads", "2", "--communicators", "3", "--repeat", "2"], &capture);
    assert_eq!(rows.len(), 3);
    assert_eq!([0, 1].map(|row: usize| rows[row]["plugin"].as_str().unwrap()), ["empty", "limit"]);
    for row in &rows {
        for measured in row["rounds"].as_array().unwrap().iter().chain([&row["timed"]]) {
            assert_eq!(measured["calls"].as_u64(), Some(12 * calls));
            assert_eq!(measured["starts"].as_u64(), Some(12 * starts));
        }
        assert!(row["timed"]["latency"]["p50"].as_f64().unwrap() > 0.0);
        assert!(row["rounds"][0]["latency"].is_null());
    }
    let ours = &rows[2]["rounds"][0];
    // each communicator is created and destroyed, and each thread makes one call before the measurement
    assert_eq!(ours["recorded"]["callbacks"].as_u64(), Some(12 * calls + 2 * 3 + 2));
    assert_eq!(ours["recorded"]["events"].as_u64(), Some(12 * starts));
    assert_eq!(ours["recorded"]["dropped"].as_u64(), Some(0));
    assert!(rows[0]["rounds"][0]["recorded"].is_null());
}

#[test]
fn another_plugin_is_measured_through_the_newest_version_that_it_has() {
    let capture = capture("nvlink4_ring", "ring.r0.jsonl.gz");
    for (library, version) in [(env!("SECOND_PLUGIN_V4"), 4), (env!("SECOND_PLUGIN_V6"), 6)] {
        let rows = rows(&["--repeat", "1", "--plugin", library], &capture);
        assert_eq!(rows[3]["plugin"].as_str(), Some(library));
        assert_eq!(rows[3]["rounds"][0]["interface"].as_u64(), Some(version));
        assert_eq!(rows[2]["rounds"][0]["interface"].as_u64(), Some(7));
        // the calls differ from the limit's, so the figures are not compared
        assert!(
            rows[3]["times_limit"].is_null()
                && rows[3]["above_empty_ns"].is_null()
                && rows[2]["times_limit"].is_number()
        );
    }
    let rows = rows(&["--repeat", "1", "--interface", "3"], &capture);
    assert_eq!(rows[2]["rounds"][0]["interface"].as_u64(), Some(3));
}

#[test]
fn a_table_names_every_plugin() {
    let capture = capture("nvlink4_ring", "ring.r0.jsonl.gz");
    let output = tool().args(["bench", "--rounds", "1", "--repeat", "1"]).arg(capture).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for name in ["ns/call", "x limit", "p99.99", "dropped", " empty ", " limit ", " libscorep_substrate_nccl "] {
        assert!(text.contains(name), "{name}\n{text}");
    }
}

/// As if it were not set.
#[test]
fn a_setting_that_means_nothing_is_told_once() {
    let capture = capture("nvlink4_ring", "ring.r0.jsonl.gz");
    let run = |preset: &str| {
        let mut bench = tool();
        bench.args(["bench", "--rounds", "1", "--repeat", "1", "--format", "json"]).arg(&capture);
        let output = bench.env("NCCL_SCOREP_PRESET", preset).output().unwrap();
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
        let events = rows[2]["rounds"][0]["recorded"]["events"].as_u64().unwrap();
        (events, String::from_utf8(output.stderr).unwrap())
    };
    let ((full, silent), (none, _)) = (run(" "), run("full"));
    assert_eq!((full, silent.as_str()), (none, ""));
    let (events, said) = run("bogus");
    assert!(events == full && said.lines().count() == 1 && said.contains("PRESET=bogus is not understood"), "{said}");
}

#[test]
fn what_is_wrong_is_named() {
    let capture = capture("nvlink4_ring", "ring.r0.jsonl.gz");
    let capture = capture.to_str().unwrap();
    let second = env!("SECOND_PLUGIN_V4");
    for (arguments, said) in [
        (
            vec![],
            "tests/captures/nodes2x2_train/train.r0.jsonl.gz: no such file; run in the repository's root, or name a capture",
        ),
        (vec!["/nowhere.jsonl.gz"], "/nowhere.jsonl.gz: "),
        (vec![capture, "--plugin", "/nowhere.so"], "/nowhere.so: the library cannot be loaded: "),
        (vec![capture, "--plugin", "/etc/hostname"], "/etc/hostname: the library cannot be loaded: "),
        (vec![capture, "--plugin", second, "--interface", "6"], ": none of ncclProfiler_v6 to _v6 is exported"),
        (vec![capture, "--repeat", "0"], "invalid value '0' for '--repeat <N>'"),
        (vec![capture, "--interface", "8"], "invalid value '8' for '--interface <N>'"),
    ] {
        let output = tool().args(["bench", "--rounds", "1"]).args(&arguments).current_dir("/").output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(said), "{arguments:?}: {text}");
    }
}
