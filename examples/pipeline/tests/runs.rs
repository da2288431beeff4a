//! The program itself, on processors: a process a stage, over TCP.

#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::process::{Command, Output};

const SMALL: &str = "--device cpu --layers 4 --hidden 16 --tokens 6 --steps 3";

fn run(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pipeline")).args(line.split_whitespace()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// As many results as 4 layers of 4 weights have, a value and a gradient each, the last output, and the distances of 5
/// steps.
const RESULTS: usize = 4 * 4 * 2 + 1 + 5;

#[test]
fn all_stages_compute_what_one_process_computes() {
    for schedule in ["gpipe", "1f1b"] {
        for (stages, microbatches) in [(1, 3), (2, 1), (2, 5), (4, 2), (4, 8)] {
            let line = format!("{SMALL} --schedule {schedule} --stages {stages} --microbatches {microbatches} --check");
            let run = run(&line);
            let out = text(&run.stdout);
            assert_eq!(run.status.code(), Some(0), "{line}: {out} {}", text(&run.stderr));
            let expected =
                format!("check: {RESULTS} results compared with those of one process: {RESULTS} alike bit for bit");
            assert!(out.contains(&expected), "{line}: {out}");
            assert!(out.contains("0 wrong"), "{line}: {out}");
        }
    }
}

fn json(path: &std::path::Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Counts, and a slow stage that computes the same.
#[test]
fn figures_are_those_of_the_run() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("figures.json");
    let line = format!("{SMALL} --stages 4 --microbatches 3 --slow 2:3 --check --json {}", file.display());
    let run = run(&line);
    assert_eq!(run.status.code(), Some(0), "{}{}", text(&run.stdout), text(&run.stderr));
    let figures = json(&file);
    assert_eq!(figures["stages"], 4);
    assert_eq!(figures["slow"]["stage"], 2);
    assert_eq!(figures["formula"], 0.5);
    let [first, last] = [0, 1].map(|place| figures["loss"][place].as_f64().unwrap());
    assert!(last < first && last > 0.0, "the loss falls: {first} {last}");
    for (stage, neighbours) in [(0, 1), (1, 2), (2, 2), (3, 1)] {
        let outcome = &figures["by_stage"][stage]["outcome"];
        assert_eq!(outcome["stage"], stage);
        assert_eq!(outcome["steps"]["count"], 3);
        for kind in ["forward", "backward"] {
            assert_eq!(outcome[kind]["count"], 9);
        }
        // two steps of warm-up and three; activations and gradients
        let messages = 5 * 3 * neighbours;
        assert_eq!(outcome["messages"]["sends"], messages);
        assert_eq!(outcome["messages"]["receives"], messages);
        assert_eq!(outcome["messages"]["bytes"], 4 * 6 * 16);
        assert_eq!(outcome["in_flight"], (4 - stage).min(3));
    }
}

/// Deeper and wider, the model still trains.
#[test]
fn a_larger_model_does_not_diverge() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("figures.json");
    let line = "--device cpu --layers 8 --hidden 32 --tokens 16 --microbatches 2 --steps 8 --json";
    let run = run(&format!("{line} {}", file.display()));
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let figures = json(&file);
    let [first, last] = [0, 1].map(|place| figures["loss"][place].as_f64().unwrap());
    assert!(last < first && first < 64.0, "{first} {last}");
}

/// For --seconds the first stage decides when it is over, for all.
#[test]
fn all_stages_do_as_many_steps() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("figures.json");
    let line = "--device cpu --layers 2 --hidden 8 --tokens 2 --microbatches 2 --seconds 1 --json";
    let run = run(&format!("{line} {}", file.display()));
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let figures = json(&file);
    let [first, second] = [0, 1].map(|stage| figures["by_stage"][stage]["outcome"]["steps"]["count"].as_u64().unwrap());
    assert!(first == second && first > 1, "{first} {second}");
}

/// Stages that are started one by one, as on several machines.
#[test]
fn stages_may_be_started_apart() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let start = |stage: usize| {
        let line = format!("{SMALL} --stages 2 --stage {stage} --address 127.0.0.1:{port}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_pipeline"));
        command.args(line.split_whitespace()).stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let [second, first] = [1, 0].map(start).map(|child| child.wait_with_output().unwrap());
    assert!(first.status.success() && second.status.success());
    assert!(text(&first.stdout).contains("| 1f1b | 2 | 8 |"), "{}", text(&first.stdout));
    assert_eq!(text(&second.stdout), "");
}

/// A stage that fails ends the others, and the run with its status.
#[test]
fn a_stage_that_fails_ends_the_run() {
    let run = run("--device cpu --layers 2 --hidden 16777216 --tokens 16777216");
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stdout));
}

#[test]
fn wrong_options_and_missing_gpus_have_a_status_of_their_own() {
    let wrong = run("--stages 3");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("--layers"), "{}", text(&wrong.stderr));
    // no library of NVIDIA's is found in an empty directory, unless the machine has them
    let there = run("--stages 2 --probe");
    if there.status.code() == Some(0) {
        return;
    }
    let missing = run("--stages 2");
    let said = text(&missing.stderr);
    assert_eq!(missing.status.code(), Some(3), "{said}");
    assert!(said.contains("no GPU can be used") || said.contains("need 2 GPUs"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
