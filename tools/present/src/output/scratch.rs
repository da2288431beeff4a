//! A directory for files that this program needs for a while. Its files are reached through its descriptor alone: in a
//! directory that other users may write to, they can exchange what has its name, and not what is in it.

use super::leftovers;
use common::files::{self, Directory};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Group or others may do something.
const OTHERS: u32 = 0o077;

/// A private directory. Dropping it, or a signal that ends this program, removes it with all that is in it.
#[derive(Debug)]
pub struct Scratch {
    /// Holds the descriptor that `path` goes through.
    _directory: Directory,
    path: PathBuf,
    name: OsString,
}

impl Scratch {
    /// Makes the directory where the system has temporary files.
    ///
    /// # Errors
    /// As [`Scratch::within`].
    pub fn new() -> io::Result<Self> {
        Self::within(&std::env::temp_dir())
    }

    /// Makes the directory in another one.
    ///
    /// # Errors
    /// When it cannot be made, or somebody exchanges it at once.
    pub fn within(around: &Path) -> io::Result<Self> {
        let around = Directory::open(around)?;
        leftovers::make_directory(|| {
            let mut builder = tempfile::Builder::new();
            builder.prefix(".scorep-nccl-").permissions(Permissions::from_mode(0o700));
            let made = builder.tempdir_in(around.reach())?;
            let directory = Directory::open(made.path())?;
            let found = directory.metadata()?;
            let path = directory.reach();
            let is_ours = files::is_own(made.path(), found.uid())
                && found.permissions().mode() & OTHERS == 0
                && fs::read_dir(&path)?.next().is_none();
            if !is_ours {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user has exchanged a directory"));
            }
            // children reach it by the same descriptor
            directory.inherit()?;
            let name = made.keep().file_name().unwrap_or_default().to_owned();
            let left = leftovers::Left { inside: path.clone(), around, name: name.clone() };
            Ok((Self { _directory: directory, path, name }, left))
        })
    }

    /// Returns the path of the directory, for this process and its children.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the directory in the one that it was made in.
    pub fn name(&self) -> &OsStr {
        &self.name
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        leftovers::remove_directory(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_has_its_name_later_is_neither_used_nor_removed() {
        let around = tempfile::tempdir().unwrap();
        fs::create_dir(around.path().join("private")).unwrap();
        fs::write(around.path().join("private/file"), "mine").unwrap();
        let scratch = Scratch::within(around.path()).unwrap();
        let made = fs::read_dir(around.path()).unwrap().map(|entry| entry.unwrap().path());
        let made: Vec<PathBuf> = made.filter(|path| !path.ends_with("private")).collect();
        fs::rename(&made[0], around.path().join("moved")).unwrap();
        symlink("private", &made[0]).unwrap();
        fs::create_dir(scratch.path().join("inner")).unwrap();
        fs::write(scratch.path().join("inner/file"), "scratch").unwrap();
        assert!(around.path().join("moved/inner/file").exists());
        drop(scratch);
        assert_eq!(fs::read_dir(around.path().join("moved")).unwrap().count(), 0);
        assert_eq!(fs::read(around.path().join("private/file")).unwrap(), b"mine");
    }

    #[test]
    fn nothing_is_left() {
        let around = tempfile::tempdir().unwrap();
        let scratch = Scratch::within(around.path()).unwrap();
        fs::write(scratch.path().join("file"), "").unwrap();
        assert_eq!(fs::metadata(scratch.path()).unwrap().permissions().mode() & 0o777, 0o700);
        drop(scratch);
        assert_eq!(fs::read_dir(around.path()).unwrap().count(), 0);
    }
}
