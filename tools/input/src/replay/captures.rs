//! The captures that the command line names: files, and the captures in directories.

use super::error::ReplayError;
use crate::natural::natural;
use recording::ENDING;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the captures in the order of their names, with numbers compared as numbers: r2 before r10. The second list
/// has the errors of sources without captures.
pub(crate) fn of(sources: &[PathBuf]) -> (Vec<PathBuf>, Vec<ReplayError>) {
    let (mut captures, mut missing) = (Vec::new(), Vec::new());
    for source in sources {
        match of_one(source) {
            Ok(mut found) => captures.append(&mut found),
            Err(error) => missing.push(error),
        }
    }
    (captures, missing)
}

/// Returns the captures of one source, a file or a directory.
fn of_one(source: &Path) -> Result<Vec<PathBuf>, ReplayError> {
    if !source.is_dir() {
        return Ok(vec![source.to_path_buf()]);
    }
    let entries = source.read_dir().and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| ReplayError::io(source, error))?;
    let has_ending = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ENDING));
    // nobody has named the entries: a FIFO among them may have no writer
    let is_capture = |path: &PathBuf| has_ending(path) && !path.metadata().is_ok_and(|found| !found.is_file());
    let mut found: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).filter(is_capture).collect();
    if found.is_empty() {
        return Err(ReplayError::NoCapture(source.to_path_buf()));
    }
    found.sort_by_cached_key(|path| natural(&path.to_string_lossy()));
    Ok(found)
}
