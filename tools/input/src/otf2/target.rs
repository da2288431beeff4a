//! The directory in which a finished archive appears.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use common::files::Directory;

use super::archive::ANCHOR;
use super::error::Otf2Error;
use present::output::leftovers;
use present::output::scratch::Scratch;

/// A temporary place to write an archive to, and the place where the complete archive will be. An archive that is not
/// completed is removed.
pub(crate) struct Target {
    directory: PathBuf,
    /// On the same file system as `directory`: inside it if it exists, otherwise beside it.
    staging: Scratch,
}

impl Target {
    /// Creates the temporary place. `directory` must be empty, or missing in a writable parent directory.
    pub(crate) fn prepare(directory: &Path) -> Result<Self, Otf2Error> {
        let failed = |source| Otf2Error::Directory { directory: directory.to_owned(), source };
        let exists = match Directory::open(directory) {
            Ok(found) => {
                check_empty(directory, &found, None)?;
                true
            }
            Err(reason) if reason.kind() == io::ErrorKind::NotADirectory => {
                return Err(Otf2Error::NotDirectory(directory.to_owned()));
            }
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => false,
            Err(reason) => return Err(failed(reason)),
        };
        let place = match directory.parent() {
            _ if exists => directory,
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        Ok(Self { directory: directory.to_owned(), staging: Scratch::within(place).map_err(failed)? })
    }

    /// Returns the directory to write the archive to.
    pub(crate) fn staging(&self) -> &Path {
        self.staging.path()
    }

    /// Moves the archive to its target, which keeps its owner and mode if it exists; returns the anchor file.
    pub(crate) fn publish(self) -> Result<PathBuf, Otf2Error> {
        let failed = |source| Otf2Error::Directory { directory: self.directory.clone(), source };
        leftovers::undisturbed(|| {
            let target = Directory::made(&self.directory).map_err(failed)?;
            check_empty(&self.directory, &target, Some(self.staging.name()))?;
            self.move_into(&target).map_err(failed)
        })?;
        Ok(self.directory.join(ANCHOR))
    }

    /// Moves the archive's files. The anchor file comes last, because readers open it.
    fn move_into(&self, target: &Directory) -> io::Result<()> {
        let entries = fs::read_dir(self.staging.path())?.map(|entry| Ok(entry?.file_name()));
        let mut names = entries.collect::<io::Result<Vec<_>>>()?;
        names.sort_by_key(|name| name == OsStr::new(ANCHOR));
        names.iter().try_for_each(|name| fs::rename(self.staging.path().join(name), target.reach().join(name)))
    }
}

/// Checks that a directory has nothing in it, except an entry of one name.
fn check_empty(path: &Path, directory: &Directory, except: Option<&OsStr>) -> Result<(), Otf2Error> {
    let failed = |source| Otf2Error::Directory { directory: path.to_owned(), source };
    for entry in fs::read_dir(directory.reach()).map_err(failed)? {
        if Some(&*entry.map_err(failed)?.file_name()) != except {
            return Err(Otf2Error::NotEmpty(path.to_owned()));
        }
    }
    Ok(())
}
