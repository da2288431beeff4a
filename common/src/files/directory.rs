//! Directories that are made where they are missing.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// The bit by which a directory of many users is known: there only a file's owner may remove it.
const STICKY: u32 = 0o1000;
/// Others may write.
const OTHERS_WRITE: u32 = 0o022;
/// Of a directory that nobody else may write to.
const OWN: u32 = 0o755;

/// Makes a directory, and those that it lies in, with the mode of any new one; none is open to more than the one that it lies in, and none
/// in a directory of many users is open to their files.
///
/// # Errors
/// When it can be neither made nor found.
pub fn make(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) => Path::new("."),
        None => return Err(io::ErrorKind::NotFound.into()),
    };
    make(parent)?;
    let around = fs::metadata(parent)?.mode();
    let closed = if around & STICKY != 0 { OTHERS_WRITE } else { 0 };
    make_one(path, around & 0o777 & !closed)
}

/// Makes a directory that only the calling user may write to, in one that is there; closes one that is there already.
///
/// # Errors
/// When it can be neither made nor closed, or is another user's.
pub fn make_own(path: &Path) -> io::Result<()> {
    make_one(path, OWN)?;
    let found = path.symlink_metadata()?;
    // SAFETY: geteuid has no preconditions.
    let own = unsafe { libc::geteuid() };
    if !found.is_dir() || found.uid() != own {
        let wrong = if found.is_dir() { "it belongs to another user" } else { "it is no directory" };
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, wrong));
    }
    match found.mode() & 0o777 {
        mode if mode & OTHERS_WRITE != 0 => fs::set_permissions(path, Permissions::from_mode(mode & OWN)),
        _ => Ok(()),
    }
}

/// Another process may make it meanwhile.
fn make_one(path: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
