//! The directory in which an archive appears.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::archive::ANCHOR;
use super::error::Otf2Error;
use crate::output::leftovers;

/// A place to write an archive to, and where it shall be when it is complete. What was written is removed if that never
/// happens.
pub(super) struct Target {
    directory: PathBuf,
    /// On the same file system as `directory`: inside if that is there, else beside it.
    staging: TempDir,
    exists: bool,
}

impl Target {
    /// `directory` must be empty, or missing in a directory that can be written to.
    pub(super) fn prepare(directory: &Path) -> Result<Self, Otf2Error> {
        let failed = |source| Otf2Error::Directory { directory: directory.to_owned(), source };
        let exists = match fs::metadata(directory) {
            Ok(found) if !found.is_dir() => {
                return Err(Otf2Error::NotDirectory(directory.to_owned()));
            }
            Ok(_) => true,
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => false,
            Err(reason) => return Err(failed(reason)),
        };
        if exists && fs::read_dir(directory).map_err(failed)?.next().is_some() {
            return Err(Otf2Error::NotEmpty(directory.to_owned()));
        }
        let place = match directory.parent() {
            _ if exists => directory,
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        // The mode of any new directory; that of a temporary one would keep others from reading the archive.
        let mut builder = tempfile::Builder::new();
        builder.prefix(".traces-").permissions(Permissions::from_mode(0o777));
        let staging = leftovers::make(|| builder.tempdir_in(place)).map_err(failed)?;
        Ok(Self { directory: directory.to_owned(), staging, exists })
    }

    /// Where to write.
    pub(super) fn staging(&self) -> &Path {
        self.staging.path()
    }

    /// Moves what was written to the target; answers the anchor file.
    pub(super) fn publish(self) -> Result<PathBuf, Otf2Error> {
        let moved = leftovers::undisturbed(|| match self.exists {
            true => self.move_into(),
            false => fs::rename(self.staging.path(), &self.directory),
        });
        moved.map_err(|source| Otf2Error::Directory { directory: self.directory.clone(), source })?;
        let anchor = self.directory.join(ANCHOR);
        if !self.exists {
            // It went to its target; there is nothing to remove.
            let _ = self.staging.keep();
        }
        Ok(anchor)
    }

    /// A directory that is there stays, with its owner and mode; the anchor file comes last, for it is what readers
    /// open.
    fn move_into(&self) -> io::Result<()> {
        let entries = fs::read_dir(self.staging.path())?.map(|entry| Ok(entry?.file_name()));
        let mut names = entries.collect::<io::Result<Vec<_>>>()?;
        names.sort_by_key(|name| name == OsStr::new(ANCHOR));
        names.iter().try_for_each(|name| fs::rename(self.staging.path().join(name), self.directory.join(name)))
    }
}
