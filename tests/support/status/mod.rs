//! A job that does as its test says (tests/c/nccl/status_host.c), with a directory for status files and requests.

use crate::support::tool;
use common::status::request::{FILE, SCHEMA, StatusRequest, To};
use common::status::{ENDING, Status, StatusCommunicator};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A process that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// One process of a job.
pub(crate) struct Job {
    pub(crate) directory: TempDir,
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl Job {
    /// Starts the process with an interface version and further settings.
    pub(crate) fn begin(version: u32, settings: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = tool::host(env!("HOST_STATUS_HOST"));
        command.arg(tool::library()).arg(version.to_string()).current_dir(&directory);
        // so that kernel events are asked for in every release
        command.env("NCCL_ALLGATHERV_ENABLE", "0").env("NCCL_SCOREP_SUMMARY", directory.path().join("summary.json"));
        command.env("NCCL_SCOREP_STATUS", directory.path().join("status")).envs(settings.iter().copied());
        let said = fs::File::create(directory.path().join("said")).unwrap();
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(said).spawn().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Self { directory, process, answers }
    }

    /// Gives orders, one a line. Returns the answer to the last one.
    pub(crate) fn order(&mut self, orders: &str) -> String {
        let mut last = String::new();
        for order in orders.lines().map(str::trim).filter(|order| !order.is_empty()) {
            self.send(order);
            last = self.answer();
        }
        last
    }

    /// Gives an order without waiting for the answer.
    pub(crate) fn send(&mut self, order: &str) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{order}").unwrap();
    }

    pub(crate) fn answer(&mut self) -> String {
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        assert!(!answer.is_empty(), "the host has ended: {}", self.said());
        answer.trim_end().to_owned()
    }

    pub(crate) fn status_directory(&self) -> PathBuf {
        self.directory.path().join("status")
    }

    /// The status files there are.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = self.status_directory().read_dir() else { return vec![] };
        let files = entries.map(|entry| entry.unwrap().path());
        files.filter(|path| path.to_string_lossy().ends_with(ENDING)).collect()
    }

    /// The process' status as last written.
    pub(crate) fn status(&self) -> Option<Status> {
        let files = self.files();
        assert!(files.len() <= 1, "{files:?}");
        files.first().map(|file| serde_json::from_slice(&fs::read(file).unwrap()).unwrap())
    }

    /// Waits for a status whose state is of after this call.
    pub(crate) fn next_status(&self) -> Status {
        self.next_beat(|status| status.silent_since.is_none())
    }

    /// Waits for a status like this that was written after this call. Its state may be an old one.
    pub(crate) fn next_beat(&self, wanted: impl Fn(&Status) -> bool) -> Status {
        let before = self.status().map_or(0, |status| status.beat);
        // the next one may have been asked for before
        self.await_status(|status| status.beat > before + 1 && wanted(status))
    }

    /// Waits for a status like this.
    pub(crate) fn await_status(&self, wanted: impl Fn(&Status) -> bool) -> Status {
        let begun = Instant::now();
        loop {
            let status = self.status();
            if let Some(status) = status.as_ref().filter(|status| wanted(status)) {
                return status.clone();
            }
            assert!(begun.elapsed() < PATIENCE, "{status:#?}\n{}", self.said());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Makes a request, as `scorep-nccl ask` does. Returns its ticket.
    pub(crate) fn ask(&self, request: StatusRequest) -> String {
        let ticket = format!("{:016x}", common::files::random());
        let request = StatusRequest { schema: SCHEMA.into(), ticket: ticket.clone(), to: Some(To::All), ..request };
        common::files::write_json(&self.status_directory().join(FILE), &request).unwrap();
        ticket
    }

    /// Waits until the process has answered a request. Returns its status.
    pub(crate) fn answered(&self, ticket: &str) -> Status {
        self.await_status(|status| status.answer.as_ref().is_some_and(|answer| answer.ticket == ticket))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Lets the process end, and returns its summary.
    pub(crate) fn end(&mut self) -> serde_json::Value {
        assert!(self.wait().success(), "{}", self.said());
        serde_json::from_slice(&fs::read(self.summary_path()).unwrap()).unwrap()
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        drop(self.process.stdin.take());
        self.process.wait().unwrap()
    }

    pub(crate) fn summary_path(&self) -> PathBuf {
        self.directory.path().join("summary.json")
    }

    /// What the process has written to standard error, but for the line that depends on the machine.
    pub(crate) fn said(&self) -> String {
        let text = fs::read_to_string(self.directory.path().join("said")).unwrap();
        text.lines().filter(|line| !line.contains("/dev/shm")).map(|line| format!("{line}\n")).collect()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The communicator of this id.
pub(crate) fn of<'a>(status: &'a Status, comm: &str) -> &'a StatusCommunicator {
    let found = status.communicators.iter().find(|one| one.comm.trim_start_matches('0') == comm);
    assert!(found.is_some(), "no {comm} in {status:#?}");
    found.unwrap()
}

/// Whether somebody other than the owner can do nothing with a file.
pub(crate) fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
