//! Files in which processes of one user meet, in a directory where other users may have put something else.

use super::directory::is_own;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file of the calling user for reading, and for writing too if `writes`. Follows no link and never
/// waits.
///
/// # Errors
/// Fails where there is no file, or something else than a regular file of the user.
pub fn open(path: &Path, writes: bool) -> io::Result<File> {
    let (file, found) = opened(path, writes)?;
    check(path, &found).map(|()| file)
}

/// Checks that what was opened at a path is a regular file of the calling user.
pub(super) fn check(path: &Path, found: &Metadata) -> io::Result<()> {
    let wrong = match found.is_file() {
        true if is_own(path, found.uid()) => return Ok(()),
        true => "it belongs to another user",
        false => "it is no regular file",
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, wrong))
}

/// Opens a name for reading, whatever has it, and returns its metadata, too: the caller looks at the owner and the kind.
/// Follows no link and never waits.
///
/// # Errors
/// Fails where there is nothing, or a link, or where the system refuses.
pub fn open_any(path: &Path) -> io::Result<(File, Metadata)> {
    opened(path, false)
}

fn opened(path: &Path, writes: bool) -> io::Result<(File, Metadata)> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).write(writes).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    Ok((file, found))
}
