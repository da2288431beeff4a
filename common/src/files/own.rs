//! Files in which processes of one user meet, where others may have put something else.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file of the calling user, to read, or to write into as well. Follows no link, and waits for nothing.
///
/// # Errors
/// Where there is none, or something else.
pub fn open(path: &Path, writes: bool) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).write(writes).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    // SAFETY: geteuid has no preconditions.
    let own = unsafe { libc::geteuid() };
    if found.is_file() && found.uid() == own {
        return Ok(file);
    }
    let wrong = if found.is_file() { "it belongs to another user" } else { "it is no regular file" };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, wrong))
}
