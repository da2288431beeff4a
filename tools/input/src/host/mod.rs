//! Plays a recording to the library's crates, in NCCL's place and in Score-P's. Settings and figures are the process'
//! own, so a process plays one recording.

pub(crate) mod clock;
mod descriptor;
mod kernels;
mod measurement;
mod nccl;
pub(crate) mod play;
mod stage;
mod visits;

pub(crate) use stage::Played;

use recording::RecordingError;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a recording is not played to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    /// The capture is wrong now, though it was right when it was checked.
    #[error(transparent)]
    Capture(#[from] RecordingError),
    /// The system refused to start a thread.
    #[error(
        "a thread of the recorded process could not be started ({0}): raise the limit of processes or of address space"
    )]
    Thread(io::Error),
    /// The capture has a call of a thread that it did not have when it was checked.
    #[error("the capture has changed while it was played: it has calls of another thread, {tid}")]
    Changed { tid: u32 },
    /// A file could not be written.
    #[error("{path}: {source}")]
    Unwritten { path: PathBuf, source: io::Error },
}

/// Longest wait for the collector to catch up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until the library's collector has processed all callbacks so far.
fn flush() {
    common::control::flush(PATIENCE);
}
