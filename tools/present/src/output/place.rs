//! Checks the place of an output file before the work that produces the file.

use common::files;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Why nothing can be written to a place.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// The place is a directory, and a file is needed.
    #[error("{0}: it is a directory: name a file in it")]
    Directory(PathBuf),
    /// The directory is missing, and nothing creates it.
    #[error("{0}: there is no such directory, and none is made")]
    Missing(PathBuf),
    /// The directory cannot be created or written to.
    #[error("{place}: nothing can be written into {directory}: {error}", place = .place.display(), directory = .directory.display())]
    Closed {
        /// The requested place.
        place: PathBuf,
        /// Directory that cannot be written to.
        directory: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// Checks that no two outputs have one place: the second would take the place of the first, or fail after the work. Each
/// has the name of its option.
///
/// # Errors
/// In words.
pub fn check_apart(outputs: &[(&str, Option<&Path>)]) -> Result<(), String> {
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (option, place) in outputs.iter().filter_map(|&(option, place)| Some((option, place?))) {
        // several may go to one terminal, or nowhere
        if matches!(needed(place), Ok(None)) {
            continue;
        }
        let real = real(place);
        if let Some((other, _)) = seen.iter().find(|(_, place)| *place == real) {
            return Err(format!("{}: {other} and {option} have one place: name two", place.display()));
        }
        seen.push((option, real));
    }
    Ok(())
}

/// Returns a place without links, as far as it is there.
fn real(place: &Path) -> PathBuf {
    let absolute = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    let there = absolute.ancestors().find_map(|path| Some((path, path.canonicalize().ok()?)));
    let Some((path, real)) = there else { return absolute };
    // missing parts below it have no links
    absolute.strip_prefix(path).map_or_else(|_| absolute.clone(), |rest| real.join(rest).components().collect())
}

/// Creates the directory of an output file, and checks that files can be created in it.
///
/// # Errors
/// When no file can be created there.
pub fn prepare(place: &Path) -> Result<(), Unfit> {
    needed(place)?.map_or(Ok(()), |directory| made(place, directory))
}

/// Creates a directory for files, and checks that they can be created in it.
///
/// # Errors
/// When they cannot.
pub fn prepare_directory(directory: &Path) -> Result<(), Unfit> {
    made(directory, directory)
}

fn made(place: &Path, directory: &Path) -> Result<(), Unfit> {
    let closed = |error| Unfit::Closed { place: place.into(), directory: directory.into(), error };
    files::make(directory).map_err(closed)?;
    tempfile::tempfile_in(directory).map(drop).map_err(closed)
}

/// Checks a place as [`prepare`] does, but creates no directory. If the directory is missing, its nearest existing
/// ancestor is checked instead.
///
/// # Errors
/// As [`prepare`].
pub fn check(place: &Path) -> Result<(), Unfit> {
    needed(place)?.map_or(Ok(()), |directory| check_directory(place, directory))
}

/// Checks that files can be created in a directory, or that it can be created.
///
/// # Errors
/// As [`prepare`].
pub fn check_directory(place: &Path, directory: &Path) -> Result<(), Unfit> {
    let existing = directory.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
    let Some(existing) = existing.into_iter().find(|path| path.exists()) else { return Ok(()) };
    let closed = |error| Unfit::Closed { place: place.into(), directory: existing.into(), error };
    tempfile::tempfile_in(existing).map(drop).map_err(closed)
}

/// Checks a directory that nothing will create.
///
/// # Errors
/// As [`prepare`], and when the directory is missing.
pub fn check_existing(directory: &Path) -> Result<(), Unfit> {
    if directory.is_dir() { check_directory(directory, directory) } else { Err(Unfit::Missing(directory.into())) }
}

/// Returns the directory that a file at this place needs; `None` for a device, a pipe or a descriptor.
fn needed(place: &Path) -> Result<Option<&Path>, Unfit> {
    match std::fs::metadata(place).map(|there| there.file_type()) {
        Ok(there) if there.is_dir() => Err(Unfit::Directory(place.into())),
        Ok(there) if there.is_char_device() || there.is_fifo() || place.starts_with("/dev") => Ok(None),
        _ => Ok(files::parent(place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_with_one_place_are_named() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", directory.path().join("link")).unwrap();
        let check = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|name| directory.path().join(name));
            check_apart(&[("--summary", Some(&one)), ("--html", None), ("--otf2", Some(&other))])
        };
        for (one, other) in [("x", "x"), ("x", "./x/"), ("real/x", "link/x"), ("real", "link"), ("new/x", "new/./x")] {
            let said = check(one, other).unwrap_err();
            assert!(said.ends_with("--summary and --otf2 have one place: name two"), "{one} {other}: {said}");
        }
        assert_eq!((check("x", "y"), check("real/x", "x")), (Ok(()), Ok(())));
        assert_eq!(check("/dev/null", "/dev/null"), Ok(()));
    }
}
