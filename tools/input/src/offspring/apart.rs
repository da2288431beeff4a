//! The reading of foreign files in a child process: whatever a damaged file makes of the library that reads it, this
//! process goes on and names the file.
//!
//! The child prints a number for each piece of its work, and at its end its result as JSON, each in a line.

use crate::offspring;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ExitCode, ExitStatus, Stdio};

/// Time of a processor that a child may take, seconds: the largest archives and tables take minutes.
const SECONDS: u64 = 3600;

/// Has a child do its work: this program's hidden subcommand with these arguments, and so many bytes of memory.
/// `progress` gets the child's numbers.
///
/// # Errors
/// How the child has ended without a result.
pub fn run<T: DeserializeOwned>(
    command: &str,
    arguments: impl IntoIterator<Item = OsString>,
    memory: u64,
    stderr: Stdio,
    progress: &mut dyn FnMut(u64),
) -> Result<T, String> {
    let mut child = offspring::of_own(command).map_err(|error| error.to_string())?;
    // a path may begin with a dash
    child.arg("--").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
    let bound = move || {
        bound(Resource::As, memory)?;
        bound(Resource::Cpu, SECONDS)?;
        bound(Resource::Core, 0)
    };
    // SAFETY: the closure runs between fork and exec; it makes system calls alone and allocates nothing.
    unsafe { child.pre_exec(bound) };
    let mut child = child.spawn().map_err(|error| error.to_string())?;
    let mut result = None;
    for line in child.stdout.take().into_iter().flat_map(|said| BufReader::new(said).lines().map_while(Result::ok)) {
        match line.parse() {
            Ok(number) => progress(number),
            Err(_) => result = serde_json::from_str(&line).ok(),
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    result.filter(|_| status.success()).ok_or_else(|| ended(status, memory))
}

/// Says how a child has ended that has given no result.
fn ended(status: ExitStatus, memory: u64) -> String {
    let how = match status.signal() {
        Some(signal) => format!("by signal {signal}"),
        None => format!("with {status}"),
    };
    format!(
        "the process that reads it has ended {how}: it is damaged, or takes more than {} GiB of memory or {} minutes of a \
         processor",
        memory >> 30,
        SECONDS / 60
    )
}

/// Lowers a limit of this process for good.
fn bound(limit: Resource, most: u64) -> std::io::Result<()> {
    let most = Some(getrlimit(limit).current.map_or(most, |old| old.min(most)));
    Ok(setrlimit(limit, Rlimit { current: most, maximum: most })?)
}

/// Does the work of a child, and gives its parent the result.
pub fn answer<T: Serialize>(work: impl FnOnce(&mut dyn FnMut(u64)) -> T) -> ExitCode {
    offspring::leave_signals_to_parent();
    // the parent may have stopped reading
    let mut say = |number: u64| _ = writeln!(std::io::stdout(), "{number}");
    let result = work(&mut say);
    let said = serde_json::to_string(&result).is_ok_and(|text| writeln!(std::io::stdout(), "{text}").is_ok());
    if said { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
