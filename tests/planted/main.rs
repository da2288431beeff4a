//! Does `scorep-nccl report` name who is slow and nobody else, and say how much a step would gain? Does `compare` see
//! what has changed? Jobs with planted faults are simulated by the scripts beside this file, which share no code with
//! the tool: the simulation is the truth.

mod real;
use crate::support::tool;

use std::path::Path;
use std::process::{Command, Output};

/// Kinds of cases, each with a test of its own below.
const KINDS: [&str; 12] = [
    "none",
    "ranks",
    "pipelines",
    "network",
    "senders",
    "pauses",
    "clocks",
    "steps",
    "communicators",
    "incomplete",
    "odd",
    "runs",
];

/// Runs `planted.py` with the tool. Returns whether all is right, and what it prints; `None` where Python is missing,
/// which is said.
fn planted(arguments: &[&str]) -> Option<(bool, String)> {
    if Command::new("python3").arg("--version").output().is_err() {
        tool::skip("no python3");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/planted/planted.py");
    let before = ["-B".as_ref(), script.as_os_str(), "--tool".as_ref()];
    let mut python = tool::within("python3", &before, &tool::tool());
    let Output { status, stdout, stderr } = python.args(arguments).output().unwrap();
    let [printed, said] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Some((status.success(), printed + &said))
}

/// Judges cases in a directory of their own, and fails with the lines about those that are wrong.
fn judged(arguments: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let arguments = [arguments, &["--work", directory.path().to_str().unwrap()]].concat();
    let Some((is_right, printed)) = planted(&arguments) else { return };
    let wrong: Vec<&str> = printed.lines().filter(|line| !line.starts_with("right ")).collect();
    assert!(is_right, "{}", wrong.join("\n"));
}

fn cases_of(kind: &str) {
    judged(&["--check", "--kind", kind]);
}

#[test]
fn each_case_is_of_a_kind_that_is_tested() {
    let Some((_, list)) = planted(&["--list"]) else { return };
    let mut kinds: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(kinds.len() >= 98, "{list}");
    kinds.dedup();
    assert_eq!(kinds, KINDS);
}

macro_rules! tests {
    ($($(#[$attribute:meta])? $test:ident: $kind:literal)*) => {
        $(#[test]
        $(#[$attribute])?
        fn $test() {
            assert!(KINDS.contains(&$kind));
            cases_of($kind);
        })*
    };
}

tests! {
    nobody_is_named_where_nobody_is_slow: "none"
    slow_ranks_and_nodes_are_named: "ranks"
    #[ignore = "more planted faults"]
    slow_ranks_of_pipelines_are_named: "pipelines"
    slow_links_and_adapters_are_named: "network"
    #[ignore = "more planted faults"]
    late_ranks_that_send_more_slowly_are_no_slow_network: "senders"
    pauses_are_no_slowness: "pauses"
    #[ignore = "more planted faults"]
    clocks_that_are_apart_change_nothing: "clocks"
    #[ignore = "more planted faults"]
    steps_are_found_and_counted: "steps"
    communicators_are_recognised: "communicators"
    missing_data_is_named: "incomplete"
    odd_jobs_and_other_inputs_are_judged_alike: "odd"
    #[ignore = "more planted faults"]
    two_runs_differ_where_one_was_changed: "runs"
}

#[test]
#[ignore = "statistics of planted faults"]
fn drawn_faults_cost_what_the_simulation_gains_without_them() {
    let count = std::env::var("SCOREP_NCCL_DRAWN").unwrap_or_else(|_| "10".to_owned());
    judged(&["--check", "--drawn", "1", "--count", &count]);
}

/// Most of its computations are too short to be pauses, each alone.
#[test]
#[ignore = "statistics of planted faults"]
fn a_rank_that_is_now_and_then_slow_in_all_it_does_is_so_in_its_short_computations_too() {
    judged(&["--check", "--drawn", "8", "--count", "30", "--only", "drawn_8_29"]);
}

#[test]
#[ignore = "statistics of planted faults"]
fn chance_alone_makes_no_rank_slow() {
    judged(&["--statistic", "--only", "none", "--jobs", "20"]);
}

/// Hosts that launch ahead of their GPUs, and computations beside transfers: no call says alone who is slow.
#[test]
#[ignore = "statistics of planted faults"]
fn gains_are_true_where_hosts_run_ahead() {
    let count = std::env::var("SCOREP_NCCL_DRAWN").unwrap_or_else(|_| "10".to_owned());
    judged(&["--statistic", "--only", "ahead", "--jobs", &count]);
}
