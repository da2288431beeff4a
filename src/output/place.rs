//! A place that a file is to be written to, looked at before the work that the file is made of.

use common::files;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Why nothing can be written there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    /// A name is needed.
    #[error("{0}: it is a directory: name a file in it")]
    Directory(PathBuf),
    /// Who writes there makes no directory.
    #[error("{0}: there is no such directory, and none is made")]
    Missing(PathBuf),
    /// Neither made nor written to.
    #[error("{place}: nothing can be written into {directory}: {error}", place = .place.display(), directory = .directory.display())]
    Closed {
        /// What was asked for.
        place: PathBuf,
        /// Where it is to lie.
        directory: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// Makes the directory of a file that will be written there, and tries whether one can be.
///
/// # Errors
/// When none can.
pub(crate) fn prepare(place: &Path) -> Result<(), Unfit> {
    if let Some(directory) = needed(place)? {
        let closed = |error| Unfit::Closed { place: place.into(), directory: directory.into(), error };
        files::make(directory).map_err(closed)?;
        tempfile::tempfile_in(directory).map_err(closed)?;
    }
    Ok(())
}

/// The same, and makes no directory: whether one can be made, the nearest above it that is there says.
///
/// # Errors
/// As [`prepare`].
pub(crate) fn check(place: &Path) -> Result<(), Unfit> {
    needed(place)?.map_or(Ok(()), |directory| check_directory(place, directory))
}

/// Whether files can be made in a directory, or it could be made.
///
/// # Errors
/// As [`prepare`].
pub(crate) fn check_directory(place: &Path, directory: &Path) -> Result<(), Unfit> {
    let existing = directory.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
    let Some(existing) = existing.into_iter().find(|path| path.exists()) else { return Ok(()) };
    let closed = |error| Unfit::Closed { place: place.into(), directory: existing.into(), error };
    tempfile::tempfile_in(existing).map(drop).map_err(closed)
}

/// The same of one that nobody makes.
///
/// # Errors
/// As [`prepare`], and where it is missing.
pub(crate) fn check_existing(directory: &Path) -> Result<(), Unfit> {
    if directory.is_dir() { check_directory(directory, directory) } else { Err(Unfit::Missing(directory.into())) }
}

/// The directory that a file there needs; none where a device, a pipe or a descriptor is written into.
fn needed(place: &Path) -> Result<Option<&Path>, Unfit> {
    match std::fs::metadata(place).map(|there| there.file_type()) {
        Ok(there) if there.is_dir() => Err(Unfit::Directory(place.into())),
        Ok(there) if there.is_char_device() || there.is_fifo() || place.starts_with("/dev") => Ok(None),
        _ => Ok(place.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent })),
    }
}
