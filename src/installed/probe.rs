//! Questions to another program or to a foreign library. A child process asks them, because the answerer may crash or
//! hang.

use input::offspring;
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for a child: a file system may be slow, but a job waits for the answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// The program cannot be started.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The child took too long and was killed.
    #[error("it takes longer than {} s", PATIENCE.as_secs())]
    Late,
    /// The child ended with an error.
    #[error("it ends with {0}")]
    Failed(std::process::ExitStatus),
}

/// Starts this program with a hidden subcommand and returns its output. The error says in words why there is none.
pub(crate) fn ask(command: &str, argument: impl AsRef<OsStr>) -> Result<String, String> {
    let child = offspring::of_own(command).map_err(NoAnswer::from);
    let printed = child.and_then(|mut child| answer(child.arg(argument)));
    printed.map_err(|error| match error {
        NoAnswer::Io(error) => error.to_string(),
        NoAnswer::Late => format!("loading it takes longer than {} s", PATIENCE.as_secs()),
        NoAnswer::Failed(status) => format!("who loads it ends with {status}"),
    })
}

/// Starts another program and returns its output.
///
/// # Errors
/// When the program is missing, takes too long, or fails.
pub(crate) fn program(program: impl AsRef<OsStr>, arguments: &[&OsStr]) -> Result<String, NoAnswer> {
    let mut child = Command::new(program);
    offspring::end_with_parent(&mut child);
    answer(child.args(arguments))
}

fn answer(child: &mut Command) -> Result<String, NoAnswer> {
    // the output goes to a file: a process that a foreign library has started could hold a pipe open for ever
    let mut answer = unnamed()?;
    let mut child = child.stdin(Stdio::null()).stdout(answer.try_clone()?).stderr(Stdio::null()).spawn()?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(2)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(NoAnswer::Late);
            }
        }
    };
    let mut printed = Vec::new();
    let _ = answer.rewind().and_then(|()| answer.read_to_end(&mut printed));
    let printed = String::from_utf8_lossy(&printed);
    if status.success() { Ok(printed.trim_end_matches('\n').into()) } else { Err(NoAnswer::Failed(status)) }
}

/// Returns a file without a name, in memory where the system supports that.
fn unnamed() -> io::Result<File> {
    match memfd_create("scorep-nccl", MemfdFlags::CLOEXEC) {
        Ok(file) => Ok(file.into()),
        Err(_) => tempfile::tempfile(),
    }
}
