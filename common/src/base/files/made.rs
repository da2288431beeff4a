//! Directories that are made where they are missing.

use super::Directory;
use super::directory::{is_own, parent};
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Group or others may write.
const OTHERS_WRITE: u32 = 0o022;
/// Mode of a directory that only its owner may write to.
const OWN: u32 = 0o755;

/// Makes a directory and its missing parents, which only the calling user may write to, whatever the umask. None is open
/// to more users than its parent.
///
/// # Errors
/// Fails when the directory can be neither made nor found.
pub fn make(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = parent(path).ok_or(io::ErrorKind::NotFound)?;
    make(parent)?;
    let around = fs::metadata(parent)?.mode();
    // the owner's bits of the parent do not apply, because its owner may be another user
    make_one(path, (around & OWN) | 0o700)
}

impl Directory {
    /// Makes a directory where it is missing ([`make`]), and opens it.
    ///
    /// # Errors
    /// As [`make`] and [`Directory::open`].
    pub fn made(path: &Path) -> io::Result<Self> {
        make(path)?;
        Self::open(path)
    }
}

/// Makes a directory that only the calling user may write to, in an existing directory. If the directory is there
/// already, takes the write permission of other users away.
///
/// # Errors
/// Fails when the directory can be neither made nor closed, or belongs to another user.
pub fn make_own(path: &Path) -> io::Result<()> {
    make_one(path, OWN)?;
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let directory = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = directory.metadata()?;
    if !is_own(path, found.uid()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    match found.mode() & 0o7777 {
        mode if mode & OTHERS_WRITE != 0 => directory.set_permissions(Permissions::from_mode(mode & !OTHERS_WRITE)),
        _ => Ok(()),
    }
}

/// Makes one directory. One that is there already is no error: another process may have made it meanwhile.
fn make_one(path: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_their_owners_and_no_wider_than_around_them() {
        let top = std::env::temp_dir().join(format!("scorep-nccl-made-{:016x}", crate::base::files::random()));
        fs::create_dir(&top).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o7777;
        // like the root of a container
        fs::set_permissions(&top, Permissions::from_mode(0o555)).unwrap();
        let made = top.join("a/b");
        // a user who may not write there makes no directory
        if make(&made).is_ok() {
            assert_eq!([mode(&top.join("a")), mode(&made)].map(|mode| mode & 0o722), [0o700; 2]);
        }
        fs::set_permissions(&top, Permissions::from_mode(0o700)).unwrap();
        let own = top.join("own");
        fs::create_dir(&own).unwrap();
        fs::set_permissions(&own, Permissions::from_mode(0o2775)).unwrap();
        make_own(&own).unwrap();
        assert_eq!(mode(&own), 0o2755);
        let link = top.join("link");
        std::os::unix::fs::symlink(&own, &link).unwrap();
        assert!(make_own(&link).is_err());
        fs::remove_dir_all(top).unwrap();
    }
}
