//! Errors of a replay, in words.

use crate::otf2;
use crate::replay::failure::ReplayFailure;
use crate::replay::recordings::RepeatedRecording;
use present::output::place;
use recording::ENDING;
use report::job::Unreadable;
use std::io;
use std::path::{Path, PathBuf};

/// Why a replay failed, or why a capture was left out.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A file that cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A directory without a recording.
    #[error("{0}: there is no capture (*{ENDING}) in this directory")]
    NoCapture(PathBuf),
    /// A recording that cannot be played.
    #[error(transparent)]
    Recording(#[from] ReplayFailure),
    /// An output is an input; with both.
    #[error("{0}")]
    Replaced(String),
    /// No capture could be replayed; the errors of all captures.
    #[error("{}", lines(.0))]
    None(Vec<ReplayError>),
    /// `--otlp` in a build that cannot send.
    #[error("this program was built without OpenTelemetry (cargo's feature otel): leave --otlp out")]
    CannotSend,
    /// An output that has no place.
    #[error(transparent)]
    Place(#[from] place::Unfit),
    /// An archive that cannot be written.
    #[error(transparent)]
    Otf2(#[from] otf2::Otf2Error),
    /// Two recordings of one process.
    #[error(transparent)]
    Repeated(#[from] RepeatedRecording),
}

/// Joins the errors, each on a line of its own.
fn lines(errors: &[ReplayError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl ReplayError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// Returns the recording that it leaves out as one that cannot be read.
    pub fn unreadable(&self) -> Unreadable {
        match self {
            Self::Recording(failure) => failure.unreadable(),
            Self::Io { path, source } => ReplayFailure::at(path, source).unreadable(),
            error => Unreadable { file: String::new(), place: None, cause: error.to_string() },
        }
    }
}
