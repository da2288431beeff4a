//! Checks that the library can send what `--otlp` asks for. A variable that asks all jobs to send is not checked: the
//! library itself reports that it cannot.

use super::error::ReplayError;
use crate::installed::loader::{self, Loaded};
use std::path::Path;

/// Loads the library and checks its features.
///
/// # Errors
/// When the library cannot send.
pub(super) fn check(library: &Path) -> Result<(), ReplayError> {
    match loader::load(library) {
        Loaded::Ours { features, path, .. } if !features.otel() => Err(ReplayError::CannotSend(path)),
        _ => Ok(()),
    }
}
