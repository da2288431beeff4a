//! The directory in which a finished archive appears.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::archive::ANCHOR;
use super::error::Otf2Error;
use crate::output::leftovers;

/// A temporary place to write an archive to, and the place where the complete archive will be. An archive that is not
/// completed is removed.
pub(super) struct Target {
    directory: PathBuf,
    /// On the same file system as `directory`: inside it if it exists, otherwise beside it.
    staging: TempDir,
    exists: bool,
}

impl Target {
    /// Creates the temporary place. `directory` must be empty, or missing in a writable parent directory.
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
        // The usual mode of a new directory; the mode of a temporary directory would keep others from reading the
        // archive.
        let mut builder = tempfile::Builder::new();
        builder.prefix(".traces-").permissions(Permissions::from_mode(0o777));
        let staging = leftovers::make(|| builder.tempdir_in(place)).map_err(failed)?;
        Ok(Self { directory: directory.to_owned(), staging, exists })
    }

    /// Returns the directory to write the archive to.
    pub(super) fn staging(&self) -> &Path {
        self.staging.path()
    }

    /// Moves the archive to its target; returns the anchor file.
    pub(super) fn publish(self) -> Result<PathBuf, Otf2Error> {
        let moved = leftovers::undisturbed(|| match self.exists {
            true => self.move_into(),
            false => fs::rename(self.staging.path(), &self.directory),
        });
        moved.map_err(|source| Otf2Error::Directory { directory: self.directory.clone(), source })?;
        let anchor = self.directory.join(ANCHOR);
        if !self.exists {
            // The staging directory has become the target, so it is not removed.
            let _ = self.staging.keep();
        }
        Ok(anchor)
    }

    /// Moves the archive into an existing directory, which keeps its owner and mode. The anchor file comes last,
    /// because readers open it.
    fn move_into(&self) -> io::Result<()> {
        let entries = fs::read_dir(self.staging.path())?.map(|entry| Ok(entry?.file_name()));
        let mut names = entries.collect::<io::Result<Vec<_>>>()?;
        names.sort_by_key(|name| name == OsStr::new(ANCHOR));
        names.iter().try_for_each(|name| fs::rename(self.staging.path().join(name), self.directory.join(name)))
    }
}
