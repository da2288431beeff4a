//! What a callback of profiler plugins costs: `make bench PLUGIN="FILE..."`. The first row of each recording is of a
//! plugin that does nothing, and the second of a minimal recorder; the host has both (`tests/c/programs/speed_host.c`).
//!
//! Each measurement is a process of its own. Rounds go through all plugins in turn, so that other load of the machine
//! hits all plugins alike.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on should stop")]

use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// A training, a pipeline over the network, and the GPUs of one node.
const CAPTURES: [&str; 3] = ["nodes2x2_train/train.r0", "nodes4x1_pipeline/pipeline.r1", "nvlink4_single/single.r0"];
const YARDSTICKS: [&str; 2] = ["empty", "recorder"];
/// Measurements of each plugin. Of times the least is shown, of memory and dropped events the most.
const ROUNDS: usize = 5;
/// How often a measurement makes all calls.
const TIMES: &str = "400";

type Figures = HashMap<String, f64>;

fn main() {
    // cargo gives an option of its own, too
    let named = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let plugins: Vec<String> = YARDSTICKS.map(str::to_owned).into_iter().chain(named).collect();
    for capture in CAPTURES {
        let mut rounds = vec![Vec::new(); plugins.len()];
        for _ in 0..ROUNDS {
            plugins.iter().zip(&mut rounds).for_each(|(plugin, rounds)| rounds.push(measured(plugin, capture)));
        }
        println!(
            "\n{capture:32} {:>9} {:>8} {:>8} {:>10} {:>8} {:>8} {:>8} {:>20} {:>8}",
            "interface", "ns/call", "+ empty", "x recorder", "p99", "p99.99", "MiB", "own threads ns/event", "dropped"
        );
        let interface = rounds[0][0]["interface"];
        let [empty, recorder] = [0, 1].map(|yardstick: usize| least(&rounds[yardstick], "took", "calls"));
        for (plugin, rounds) in plugins.iter().zip(&rounds) {
            let name = Path::new(plugin).file_stem().unwrap().to_string_lossy();
            let each = least(rounds, "took", "calls");
            // another version's calls are others
            let comparable = rounds[0]["interface"] == interface;
            let compared = |value: f64, digits: usize| match comparable {
                true => format!("{value:.digits$}"),
                false => String::new(),
            };
            let [above, times] = [compared(each - empty, 1), compared(each / recorder, 2)];
            let [p99, p9999] = ["p99", "p9999"].map(|name| least(rounds, name, ""));
            let (memory, own) = (most(rounds, "memory") / 1024.0, least(rounds, "others", "starts"));
            println!(
                "{name:32} {:>9} {each:8.1} {above:>8} {times:>10} {p99:8.0} {p9999:8.0} {memory:8.1} {own:20.1} {:>8}",
                format!("v{}", rounds[0]["interface"]),
                rounds[0].get("dropped").map_or_else(String::new, |_| most(rounds, "dropped").to_string()),
            );
        }
    }
}

/// Returns the least of the rounds' figures, each divided by another one where that has a name.
fn least(rounds: &[Figures], name: &str, divisor: &str) -> f64 {
    let of = |round: &Figures| round[name] / round.get(divisor).copied().unwrap_or(1.0);
    rounds.iter().map(of).fold(f64::INFINITY, f64::min)
}

fn most(rounds: &[Figures], name: &str) -> f64 {
    rounds.iter().map(|round| round[name]).fold(0.0, f64::max)
}

/// Plays a recording in a process of its own. `dropped` is from the library's summary; other plugins write none.
fn measured(plugin: &str, capture: &str) -> Figures {
    let directory = tempfile::tempdir().unwrap();
    let summary = directory.path().join("summary.json");
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/captures/{capture}.jsonl.gz"));
    let mut command = Command::new(env!("HOST_SPEED_HOST"));
    command.arg(plugin).arg(&capture).arg(TIMES);
    // the calls come whatever the plugin asks NCCL for, and no job can hang
    command.env("NCCL_SCOREP_TRUST_NCCL", "on").env("NCCL_SCOREP_SUMMARY", &summary).env("NCCL_SCOREP_SETTINGS", "off");
    if std::env::var_os("NCCL_SCOREP_PRESET").is_none() {
        command.env("NCCL_SCOREP_PRESET", "full");
    }
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{plugin} with {}: {}", capture.display(), output.status);
    // a plugin may print lines of its own, too
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers = text.lines().filter_map(|line| line.split_once(' '));
    let mut figures: Figures =
        numbers.filter_map(|(name, number)| Some((name.to_owned(), number.parse().ok()?))).collect();
    if let Ok(summary) = std::fs::read(summary) {
        let summary: Value = serde_json::from_slice(&summary).unwrap();
        figures.insert("dropped".into(), summary["processes"][0]["dropped"].as_f64().unwrap());
    }
    figures
}
