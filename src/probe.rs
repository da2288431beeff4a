//! Questions to a library that only loading it answers, asked in a child process: a foreign library may end or hold up whoever loads it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::FromRawFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a child may take: a file system may be slow, and a job waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts this program with a hidden command and gives what it prints; `Err` tells how it ended otherwise.
pub(crate) fn ask(command: &str, argument: impl AsRef<OsStr>) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(program);
    // a file: what a foreign library has started may hold a pipe open for as long as it likes
    let mut answer = unnamed().map_err(|error| error.to_string())?;
    let output = answer.try_clone().map_err(|error| error.to_string())?;
    child.arg(command).arg(argument).stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
    let mut child = child.spawn().map_err(|error| error.to_string())?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(2)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("loading it takes longer than {} s", PATIENCE.as_secs()));
            }
        }
    };
    let mut printed = String::new();
    let _ = answer.rewind().and_then(|()| answer.read_to_string(&mut printed));
    if status.success() { Ok(printed.trim_end_matches('\n').into()) } else { Err(format!("who loads it ends with {status}")) }
}

/// A file without a name, in memory where the system has that.
fn unnamed() -> io::Result<File> {
    // SAFETY: the name is a string; the descriptor is new, and owned from here on.
    unsafe {
        let descriptor = libc::memfd_create(c"scorep-nccl".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor >= 0 { Ok(File::from_raw_fd(descriptor)) } else { tempfile::tempfile() }
    }
}
