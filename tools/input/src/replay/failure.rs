//! Why a recording was not replayed. It travels as fields, never as text: from the child process to its parent as a line
//! of JSON, and from there to the report.

use crate::host::HostError;
use common::visible::visible;
use recording::RecordingError;
use report::Unwritten;
use report::job::Unreadable;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

/// Why a recording was not replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{file}{}: {cause}", .line.map_or_else(String::new, |line| format!(":{line}")))]
pub struct ReplayFailure {
    /// The file with the problem: the recording, or a file that was to be written.
    file: String,
    /// Line of the recording's decompressed text, from 1.
    line: Option<u32>,
    /// The cause, in words.
    cause: String,
}

impl ReplayFailure {
    /// Returns a failure of a file.
    pub(crate) fn at(file: &Path, cause: impl Display) -> Self {
        Self { file: file.display().to_string(), line: None, cause: cause.to_string() }
    }

    /// Returns the failure of a recording that was being played.
    pub(crate) fn of_play(recording: &Path, error: HostError) -> Self {
        match error {
            HostError::Capture(error) => error.into(),
            error => Self::at(recording, error),
        }
    }

    /// Passes it to the parent process.
    pub(crate) fn pass_on(&self) {
        if let Ok(line) = serde_json::to_string(self) {
            // the parent may have stopped reading
            let _ = writeln!(io::stdout(), "{line}");
        }
    }

    /// Reads a line of a child's standard output; `None` for any other line.
    pub(super) fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// Returns the file as one that cannot be read.
    pub(crate) fn unreadable(&self) -> Unreadable {
        let Self { file, line, cause } = self.clone();
        Unreadable { file, place: line.map(|line| format!("line {line}")), cause }
    }
}

impl From<RecordingError> for ReplayFailure {
    fn from(error: RecordingError) -> Self {
        match error {
            RecordingError::Unreadable { path, error } => Self::at(&path, format_args!("cannot be read: {error}")),
            RecordingError::Line { path, line, problem } => {
                Self { line: Some(line), ..Self::at(&path, visible(&problem.to_string())) }
            }
        }
    }
}

impl From<Unwritten> for ReplayFailure {
    fn from(Unwritten { file, cause }: Unwritten) -> Self {
        Self::at(&file, cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn a_failure_stays_in_parts_whatever_its_texts_are() {
        let odd = "a: b:3: {\"c\"}\n\u{1b}";
        let failure = ReplayFailure { line: Some(7), ..ReplayFailure::at(&PathBuf::from(odd), odd) };
        let line = serde_json::to_string(&failure).unwrap();
        assert!(!line.contains('\n'));
        assert_eq!(ReplayFailure::read(&line), Some(failure.clone()));
        let Unreadable { file, place, cause } = failure.unreadable();
        assert_eq!((&*file, place.as_deref(), &*cause), (odd, Some("line 7"), odd));
        assert!(["12", "", "{}", "{\"file\":1}"].map(ReplayFailure::read).iter().all(Option::is_none));
    }

    #[test]
    fn in_words_it_is_as_the_error_of_the_recording() {
        let problem = || recording::Problem::Empty;
        let error = || RecordingError::Line { path: "a.gz".into(), line: 3, problem: problem() };
        assert_eq!(ReplayFailure::from(error()).to_string(), error().to_string());
        let absent = || RecordingError::Unreadable { path: "a.gz".into(), error: std::io::ErrorKind::NotFound.into() };
        assert_eq!(ReplayFailure::from(absent()).to_string(), absent().to_string());
    }
}
