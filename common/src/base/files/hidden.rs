//! Hidden names, under which files are written until they are whole.

use super::random;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Longest part of a name, bytes: the limit of file systems, less a random number and the dots around it.
pub(super) const LONGEST: usize = 255 - 24;
/// Attempts at a free random name. A collision by chance does not repeat.
pub(super) const TRIES: usize = 16;
/// Ending of the name of an incomplete file.
pub(super) const ENDING: &str = ".part";

/// Returns a random hidden name for a file that is to be called `name`.
pub(super) fn hidden(name: &OsStr) -> OsString {
    let mut unique = OsString::from(".");
    unique.push(OsString::from_vec(name.as_bytes().iter().copied().take(LONGEST).collect()));
    unique.push(format!(".{:016x}{ENDING}", random()));
    unique
}
