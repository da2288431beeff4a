//! A file that appears under its name when it is whole.

use common::files::Directory;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", file.display())]
pub struct Unwritten {
    /// The file.
    pub file: PathBuf,
    /// The cause.
    pub cause: io::Error,
}

/// Name and place of a file that is being written under another name beside it.
#[derive(Debug)]
pub struct PartFilePlace {
    directory: Directory,
    name: String,
    /// For people.
    path: PathBuf,
}

impl PartFilePlace {
    /// Makes the directory where it is missing, and begins a file in it. Dropping the part removes it, while the place
    /// is there.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn begin(directory: &Path, name: String) -> Result<(Self, NamedTempFile), Unwritten> {
        let path = directory.join(&name);
        let begun = Directory::made(directory).and_then(|directory| {
            let (prefix, mode) = (format!(".{name}."), Permissions::from_mode(0o666));
            let mut part = Builder::new();
            let part = part.prefix(&prefix).suffix(".part").permissions(mode).tempfile_in(directory.reach())?;
            Ok((directory, part))
        });
        match begun {
            Ok((directory, part)) => Ok((Self { directory, name, path }, part)),
            Err(cause) => Err(Unwritten { file: path, cause }),
        }
    }

    /// Gives the whole file its name. A file of that name is replaced.
    ///
    /// # Errors
    /// The file cannot be written to its end, or cannot have the name.
    pub fn appear(&self, part: NamedTempFile) -> Result<(), Unwritten> {
        // a rename that comes before the contents would leave an empty file after a crash
        let synced = part.as_file().sync_data();
        let place = self.directory.reach().join(&self.name);
        let named = synced.and_then(|()| part.persist(place).map(drop).map_err(|error| error.error));
        named.map_err(|cause| self.unwritten(cause))
    }

    /// Returns the error of this file with a cause.
    pub fn unwritten(&self, cause: impl Into<io::Error>) -> Unwritten {
        Unwritten { file: self.path.clone(), cause: cause.into() }
    }

    /// Returns the path for people.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
