//! A file that appears under its name when it is whole.

use super::sheet::Unwritten;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Name and place of a file that is being written under another name beside it. Dropping the part removes it.
#[derive(Debug)]
pub(super) struct Place(PathBuf);

impl Place {
    /// Makes the directory where it is missing, and begins the file of a table in it.
    pub(super) fn begin(directory: &Path, name: &str, ending: &str) -> Result<(Self, NamedTempFile), Unwritten> {
        use std::os::unix::fs::PermissionsExt;
        let place = Self(directory.join(format!("{name}.{ending}")));
        let part = common::files::make(directory).and_then(|()| {
            let mode = std::fs::Permissions::from_mode(0o666);
            let prefix = format!(".{name}.{ending}.");
            tempfile::Builder::new().prefix(&prefix).suffix(".part").permissions(mode).tempfile_in(directory)
        });
        match part {
            Ok(part) => Ok((place, part)),
            Err(cause) => Err(place.unwritten(cause)),
        }
    }

    /// Gives the whole file its name. A file of that name is replaced.
    pub(super) fn appear(&self, part: NamedTempFile) -> Result<(), Unwritten> {
        // a rename that comes before the contents would leave an empty file after a crash
        let synced = part.as_file().sync_data();
        synced
            .and_then(|()| part.persist(&self.0).map_err(|error| error.error))
            .map_err(|cause| self.unwritten(cause))?;
        Ok(())
    }

    pub(super) fn unwritten(&self, cause: impl Into<io::Error>) -> Unwritten {
        Unwritten { file: self.0.clone(), cause: cause.into() }
    }
}

impl AsRef<Path> for Place {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}
