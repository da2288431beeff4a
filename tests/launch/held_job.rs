//! A job with a watch beside it that goes on until the test lets it go.

use crate::support::site::Site;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// Returns the watches of a directory that run.
pub(crate) fn watches(directory: &Path) -> Vec<u32> {
    let names = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let is_watch = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|&byte| byte == 0).collect();
        words.contains(&directory.as_os_str().as_encoded_bytes()) && words.contains(&&b"--beside"[..])
    };
    names.filter(is_watch).collect()
}

pub(crate) fn send(pid: u32, signal: i32) {
    // SAFETY: kill has no memory of ours.
    assert_eq!(unsafe { libc::kill(pid.cast_signed(), signal) }, 0, "{pid}");
}

/// Returns the value of a line of /proc/PID/status.
pub(crate) fn of_status<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().trim()
}

/// A job that has begun, and goes on until it is let go.
pub(crate) struct HeldJob {
    pub(crate) directory: PathBuf,
    pub(crate) process: Child,
    output: BufReader<ChildStdout>,
}

impl HeldJob {
    /// With these options of `run` besides `--watch`.
    pub(crate) fn begin(site: &Site, options: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        let directory = site.path("status");
        let mut run = site.tool();
        run.args(["run", "--watch"]).args(options).arg("--status").arg(&directory);
        run.args(["--", "sh", "-c", "echo begun; read line; echo over; exit 7"]);
        run.stdin(Stdio::piped()).stdout(Stdio::piped());
        prepare(&mut run);
        let mut process = run.spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        Self { directory, process, output }
    }

    pub(crate) fn watch(&self) -> u32 {
        let watches = watches(&self.directory);
        assert_eq!(watches.len(), 1, "{watches:?}");
        watches[0]
    }

    pub(crate) fn lines(&self) -> String {
        fs::read_to_string(self.directory.join("watch.log")).unwrap()
    }

    /// Lets the job end. Returns its status, and the rest of its output up to the end of the pipe.
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        let _ = self.process.stdin.take().unwrap().write_all(b"\n");
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (self.process.wait().unwrap(), rest)
    }
}

impl Drop for HeldJob {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        for watch in watches(&self.directory) {
            // SAFETY: kill has no memory of ours.
            unsafe { libc::kill(watch.cast_signed(), libc::SIGKILL) };
        }
    }
}
