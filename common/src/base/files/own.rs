//! Files in which processes of one user meet, where others may have put something else.

use super::NewFile;
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
    if found.is_file() && is_own(path, found.uid()) {
        return Ok(file);
    }
    let wrong = if found.is_file() { "it belongs to another user" } else { "it is no regular file" };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, wrong))
}

/// Whether a file or directory at that place with that owner is the calling user's. A file system of another machine
/// may show its users under other numbers: then a new file there shows the same one.
pub(super) fn is_own(place: &Path, owner: u32) -> bool {
    is_own_user(owner) || NewFile::beside(place).and_then(|file| file.owner()).is_ok_and(|own| own == owner)
}

/// Whether that is the calling user's number.
pub(super) fn is_own_user(user: u32) -> bool {
    // SAFETY: geteuid has no preconditions.
    user == unsafe { libc::geteuid() }
}
