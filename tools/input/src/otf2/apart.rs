//! The reading of a foreign archive in a child process.

use crate::offspring::apart;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

/// Memory that a child may have on any machine, bytes. On a machine with more than twice as much, it may have half.
const MEMORY: u64 = 8 << 30;

/// Has a child read an archive: this program's hidden subcommand with these arguments. `progress` gets the child's
/// numbers.
///
/// # Errors
/// The child's words, or how it has ended; both name the archive.
pub fn read<T: DeserializeOwned>(
    archive: &Path,
    command: &str,
    arguments: impl IntoIterator<Item = OsString>,
    progress: &mut dyn FnMut(u64),
) -> Result<T, String> {
    let read = apart::run(command, arguments, most_memory(), Stdio::inherit(), progress);
    read.unwrap_or_else(|how| Err(format!("{}: {how}", archive.display())))
}

fn most_memory() -> u64 {
    // SAFETY: sysconf accepts any names.
    let [pages, size] = [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    let all = u64::try_from(pages).unwrap_or_default().saturating_mul(u64::try_from(size).unwrap_or_default());
    MEMORY.max(all / 2)
}
