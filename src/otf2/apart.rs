//! The reading of a foreign archive in a child process: whatever a damaged file makes of the OTF2 library, this process
//! goes on and names the archive.
//!
//! The child prints a number for each piece of its work, and at its end its result as JSON, each in a line.

use crate::offspring;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ExitCode, ExitStatus, Stdio};

/// Memory that a child may have on any machine, bytes. On a machine with more than twice as much, it may have half.
const MEMORY: u64 = 8 << 30;

/// Has a child read an archive: this program's hidden subcommand with these arguments. `progress` gets the child's
/// numbers.
///
/// # Errors
/// The child's words, or how it has ended; both name the archive.
pub(crate) fn read<T: DeserializeOwned>(
    archive: &Path,
    command: &str,
    arguments: impl IntoIterator<Item = OsString>,
    progress: &mut dyn FnMut(u64),
) -> Result<T, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", archive.display());
    let mut child = offspring::of_own(command).map_err(|error| failed(&error))?;
    // a path may begin with a dash
    child.arg("--").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    let memory = most_memory();
    let bound = move || {
        bound(libc::RLIMIT_AS, memory)?;
        bound(libc::RLIMIT_CORE, 0)
    };
    // SAFETY: the closure runs between fork and exec; it makes system calls alone and allocates nothing.
    unsafe { child.pre_exec(bound) };
    let mut child = child.spawn().map_err(|error| failed(&error))?;
    let mut result = None;
    for line in child.stdout.take().into_iter().flat_map(|said| BufReader::new(said).lines().map_while(Result::ok)) {
        match line.parse() {
            Ok(number) => progress(number),
            Err(_) => result = serde_json::from_str::<Result<T, String>>(&line).ok(),
        }
    }
    let status = child.wait().map_err(|error| failed(&error))?;
    match result {
        Some(result) if status.success() => result,
        _ => Err(failed(&ended(status, memory))),
    }
}

/// Says how a child has ended that has given no result.
fn ended(status: ExitStatus, memory: u64) -> String {
    let how = match status.signal() {
        Some(signal) => format!("by signal {signal}"),
        None => format!("with {status}"),
    };
    format!(
        "the process that reads it with the OTF2 library has ended {how}: a file of the archive is damaged, or it takes \
         more than {} GiB of memory",
        memory >> 30
    )
}

fn most_memory() -> u64 {
    // SAFETY: sysconf accepts any names.
    let [pages, size] = [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    let all = u64::try_from(pages).unwrap_or_default().saturating_mul(u64::try_from(size).unwrap_or_default());
    MEMORY.max(all / 2)
}

/// Lowers a limit of this process for good.
fn bound(limit: libc::__rlimit_resource_t, most: u64) -> std::io::Result<()> {
    let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the system fills in the structure, and then reads another one.
    let done = unsafe {
        libc::getrlimit(limit, &raw mut old) == 0 && {
            let most = most.min(old.rlim_cur);
            libc::setrlimit(limit, &libc::rlimit { rlim_cur: most, rlim_max: most }) == 0
        }
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Does the work of a child, and gives its parent the result.
pub(crate) fn answer<T: Serialize>(work: impl FnOnce(&mut dyn FnMut(u64)) -> Result<T, String>) -> ExitCode {
    offspring::leave_signals_to_parent();
    // the parent may have stopped reading
    let mut say = |number: u64| _ = writeln!(std::io::stdout(), "{number}");
    let result = work(&mut say);
    let said = serde_json::to_string(&result).is_ok_and(|text| writeln!(std::io::stdout(), "{text}").is_ok());
    if said { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
