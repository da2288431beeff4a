//! A job of several processes that do as their test says (tests/c/nccl/status_host.c), with one directory for all
//! status files.

use crate::support::tool;
use common::status::{ENDING, Status};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A process that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The processes, by rank.
pub(crate) struct Ranks {
    directory: TempDir,
    processes: Vec<(Child, BufReader<ChildStdout>)>,
}

impl Ranks {
    pub(crate) fn begin(ranks: usize) -> Self {
        Self::begin_with(ranks, "full")
    }

    /// Starts so many processes with a preset.
    pub(crate) fn begin_with(ranks: usize, preset: &str) -> Self {
        Self::begin_of(7, ranks, preset)
    }

    /// Starts so many processes with an interface version and a preset.
    pub(crate) fn begin_of(version: u32, ranks: usize, preset: &str) -> Self {
        Self::begin_by(ranks, |directory| {
            let mut command = tool::host(env!("HOST_STATUS_HOST"));
            command.arg(tool::library()).arg(version.to_string());
            command.env("NCCL_SCOREP_PRESET", preset).env("NCCL_SCOREP_STATUS", directory);
            command
        })
    }

    /// Starts so many processes by this command, given the directory of the status files.
    pub(crate) fn begin_by(ranks: usize, command: impl Fn(&Path) -> Command) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let process = |rank: usize| {
            let mut command = command(directory.path());
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            command.env("NCCL_SCOREP_TRUST_NCCL", "on").env("NCCL_ALLGATHERV_ENABLE", "0");
            command.env("RANK", rank.to_string()).env("WORLD_SIZE", ranks.to_string());
            let mut process = command.spawn().unwrap();
            let answers = BufReader::new(process.stdout.take().unwrap());
            (process, answers)
        };
        let processes = (0..ranks).map(process).collect();
        Self { directory, processes }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Gives each rank its orders, one a line, and waits until all statuses were written after that.
    pub(crate) fn each(&mut self, orders: impl Fn(usize) -> String) {
        for rank in 0..self.processes.len() {
            self.order(rank, &orders(rank));
        }
        let begun = Instant::now();
        let beats = self.beats();
        // the next one may have been asked for before
        while self.beats().len() < self.processes.len()
            || self
                .beats()
                .iter()
                .any(|(name, beat)| beats.iter().any(|(other, before)| name == other && *beat < before + 2))
            // an old state, of a library that had no time to answer
            || self.statuses().iter().any(|(_, status)| status.silent_since.is_some() && status.over.is_none())
        {
            assert!(begun.elapsed() < PATIENCE, "no status is written");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn beats(&self) -> Vec<(String, u64)> {
        self.statuses().into_iter().map(|(name, status)| (name, status.beat)).collect()
    }

    fn statuses(&self) -> Vec<(String, Status)> {
        let files = self.directory().read_dir().unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.to_string_lossy().ends_with(ENDING));
        let status = |path: std::path::PathBuf| {
            let status: Status = serde_json::from_slice(&fs::read(&path).ok()?).unwrap();
            Some((path.to_string_lossy().into_owned(), status))
        };
        files.filter_map(status).collect()
    }

    /// The status of a rank's process as last written.
    pub(crate) fn status(&self, rank: usize) -> Option<Status> {
        self.statuses().into_iter().map(|(_, status)| status).find(|status| status.pid == self.pid(rank))
    }

    /// Waits for a status of a rank like this, and has the rank call NCCL in between if it `calls`.
    pub(crate) fn await_status(&mut self, rank: usize, calls: &str, wanted: impl Fn(&Status) -> bool) -> Status {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.status(rank).filter(|status| wanted(status)) {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "rank {rank}: {:#?}", self.status(rank));
            if !calls.is_empty() {
                self.order(rank, calls);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Gives a rank its orders, one a line.
    pub(crate) fn order(&mut self, rank: usize, orders: &str) {
        let (process, answers) = &mut self.processes[rank];
        for order in orders.lines().map(str::trim).filter(|order| !order.is_empty()) {
            writeln!(process.stdin.as_mut().unwrap(), "{order}").unwrap();
            let mut answer = String::new();
            answers.read_line(&mut answer).unwrap();
            assert!(!answer.is_empty(), "rank {rank} has ended at {order}");
        }
    }

    /// The tool with a command for the job's directory.
    pub(crate) fn command(&self, command: &str) -> Command {
        let mut tool = tool::tool();
        tool.arg(command).arg(self.directory());
        tool
    }

    /// The answer of `hang` as JSON. Waits count from a tenth of a second on.
    pub(crate) fn hang(&self, status: i32) -> Value {
        serde_json::from_str(&self.said(status, &["--json"])).unwrap()
    }

    /// The answer of `hang` with these options and this exit status.
    pub(crate) fn said(&self, status: i32, options: &[&str]) -> String {
        // where nothing is expected to hang, the default
        let after: &[&str] = if status == 1 { &["--after", "0.1"] } else { &["--after", "60"] };
        let output = self.command("hang").args(after).args(options).output().unwrap();
        let (said, errors) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.code() == Some(status) && errors.is_empty(), "{}: {said}\n{errors}", output.status);
        said
    }

    pub(crate) fn pid(&self, rank: usize) -> u32 {
        self.processes[rank].0.id()
    }

    pub(crate) fn signal(&self, rank: usize, signal: i32) {
        // SAFETY: the process is this test's own, and has not been waited for.
        assert_eq!(unsafe { libc::kill(self.pid(rank).cast_signed(), signal) }, 0);
    }

    pub(crate) fn kill(&mut self, rank: usize) {
        self.processes[rank].0.kill().unwrap();
        self.processes[rank].0.wait().unwrap();
    }

    /// Lets a process end in order.
    pub(crate) fn end_one(&mut self, rank: usize) {
        let process = &mut self.processes[rank].0;
        drop(process.stdin.take());
        assert!(process.wait().unwrap().success());
    }

    /// Closes the standard input of all, which end by themselves.
    pub(crate) fn close(&mut self) {
        self.processes.iter_mut().for_each(|(process, _)| drop(process.stdin.take()));
    }

    pub(crate) fn end(&mut self) {
        (0..self.processes.len()).for_each(|rank| self.end_one(rank));
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        for (process, _) in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
