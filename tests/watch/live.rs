//! Jobs that run (tests/c/programs/watched_host.c) and a watcher beside them: is a fault named while the job still runs?
//!
//! The hosts run until the watcher has spoken, so no time is measured.

use crate::support::tool;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

/// A watcher that says nothing for longer says nothing at all.
const PATIENCE: Duration = Duration::from_secs(120);
/// Step from which on there is a fault, of 48 ms each.
const FROM: &str = "50";

/// A job of four ranks, and its watcher.
pub(crate) struct WatchedRun {
    // ends after the processes
    pub(crate) directory: TempDir,
    pub(crate) ranks: Vec<Child>,
    pub(crate) watcher: Child,
    findings: Receiver<Value>,
}

impl WatchedRun {
    /// Starts a job of so many steps with these options of its hosts.
    pub(crate) fn begin(steps: u32, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let status = directory.path().join("status");
        std::fs::create_dir(&status).unwrap();
        let rank = |rank: u32| {
            let mut host = tool::host(env!("HOST_WATCHED_HOST"));
            host.arg(tool::library()).args(["6", "4", &rank.to_string()]).arg(directory.path().join("meeting"));
            host.arg(steps.to_string()).args(options).env("NCCL_SCOREP_STATUS", &status);
            host.env("NCCL_SCOREP_PRESET", "network").env("NCCL_SCOREP_TRUST_NCCL", "on");
            host.env("RANK", rank.to_string()).env("WORLD_SIZE", "4").stdout(Stdio::null());
            host.spawn().unwrap()
        };
        let ranks = (0..4).map(rank).collect();
        let mut watch = tool::tool();
        watch.arg("watch").arg(&status).args(["--json", "--interval", "1.5"]);
        let mut watcher = watch.stdout(Stdio::piped()).spawn().unwrap();
        let findings = read(watcher.stdout.take().unwrap());
        Self { directory, ranks, watcher, findings }
    }

    /// Waits for the first finding, and asserts that no rank has ended that should not.
    fn first(&mut self, gone: Option<usize>) -> Value {
        let finding = self.findings.recv_timeout(PATIENCE).unwrap();
        for (rank, process) in self.ranks.iter_mut().enumerate().filter(|(rank, _)| gone != Some(*rank)) {
            assert!(process.try_wait().unwrap().is_none(), "rank {rank} has ended: {finding:#}");
        }
        finding
    }

    /// Waits for the end of the finding of a kind.
    fn over(&mut self, kind: &str) -> Value {
        loop {
            let finding = self.findings.recv_timeout(PATIENCE).unwrap();
            if (&finding["kind"], &finding["change"]) == (&kind.into(), &"over".into()) {
                return finding;
            }
        }
    }
}

/// Reads the watcher's lines, up to its end.
fn read(output: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let _ = sender.send(serde_json::from_str(&line.unwrap()).unwrap());
        }
    });
    receiver
}

impl Drop for WatchedRun {
    fn drop(&mut self) {
        for process in self.ranks.iter_mut().chain([&mut self.watcher]) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Starts a job without an end, whose rank 2 has a fault.
fn faulty(fault: &str, amount: &str) -> WatchedRun {
    let options = ["--fault", fault, "--of", "2", "--from", FROM, "--amount", amount, "--noise", "1"];
    WatchedRun::begin(u32::MAX >> 1, &options)
}

#[test]
fn a_rank_that_becomes_slower_is_named() {
    let finding = faulty("slow", "10").first(None);
    assert_eq!((&finding["kind"], &finding["rank"]["rank"]), (&"rank".into(), &2.into()), "{finding:#}");
    // a tenth of the own work, of which a step has 40 ms in 48 ms; the step grows with it
    let share = finding["excess"]["share"].as_f64().unwrap();
    assert!((0.06..0.09).contains(&share), "{finding:#}");
    // four collectives a step, and a window at most
    let since = finding["excess"]["since"]["number"].as_u64().unwrap();
    assert!((184..=264).contains(&since), "{finding:#}");
}

#[test]
fn a_rank_that_stops_once_is_named() {
    let finding = faulty("stop", "5000").first(None);
    assert_eq!((&finding["kind"], &finding["ranks"][0]["rank"]), (&"pause".into(), &2.into()), "{finding:#}");
    assert_eq!(finding["ranks"].as_array().unwrap().len(), 1, "{finding:#}");
    assert!((finding["seconds"].as_f64().unwrap() - 5.0).abs() < 0.1, "{finding:#}");
}

#[test]
fn a_process_that_is_killed_is_named() {
    let finding = faulty("kill", "0").first(Some(2));
    assert_eq!(finding["kind"], "process", "{finding:#}");
    assert!(finding["text"].as_str().unwrap().starts_with("process 2 on "), "{finding:#}");
}

#[test]
fn a_rank_that_calls_something_else_is_named() {
    let finding = faulty("call", "0").first(None);
    assert_eq!(finding["kind"], "hang", "{finding:#}");
    assert!(finding["text"].as_str().unwrap().contains("with different counts: "), "{finding:#}");
    assert!(finding["text"].as_str().unwrap().contains(" on rank 2; `scorep-nccl hang DIR`"), "{finding:#}");
}

/// A job that hung and was killed does not go on.
#[test]
fn a_hang_that_a_kill_ends_is_over() {
    let mut run = faulty("call", "0");
    assert_eq!(run.first(None)["kind"], "hang");
    for rank in &mut run.ranks {
        rank.kill().unwrap();
        rank.wait().unwrap();
    }
    let over = run.over("hang");
    let text = over["text"].as_str().unwrap();
    assert!(text.starts_with("over: ") && text.contains("with different counts: "), "{over:#}");
}

/// A wait that ends while the job goes on says that. The others wait for longer than a hang takes to be said.
#[test]
fn a_hang_that_passes_goes_on() {
    let mut run = faulty("stop", "30000");
    let finding = run.first(None);
    assert_eq!((&finding["kind"], &finding["change"]), (&"hang".into(), &"begins".into()), "{finding:#}");
    let over = run.over("hang");
    assert!(over["text"].as_str().unwrap().starts_with("it goes on; over: "), "{over:#}");
}

#[test]
fn nobody_is_named_without_a_fault() {
    let mut run = WatchedRun::begin(150, &["--noise", "2"]);
    let found: Vec<Value> = std::iter::from_fn(|| run.findings.recv_timeout(PATIENCE).ok()).collect();
    assert_eq!(run.watcher.wait().unwrap().code(), Some(0), "{found:#?}");
    assert_eq!(found.iter().map(|finding| &finding["kind"]).collect::<Vec<_>>(), ["job"], "{found:#?}");
    assert!(run.ranks.iter_mut().all(|rank| rank.wait().unwrap().success()));
}
