//! The request for a replay.

use std::path::PathBuf;

/// Default length of a window, seconds: recorded runs take a second or two.
pub const WINDOW_SECONDS: f64 = 0.1;

/// Captures to replay, and the wanted outputs.
#[derive(Debug, Default)]
pub struct ReplayRequest {
    /// Captures, or directories with captures.
    pub sources: Vec<PathBuf>,
    /// File for the summary.
    pub summary: Option<PathBuf>,
    /// Directory for the trace.
    pub otf2: Option<PathBuf>,
    /// OTLP endpoint for the figures.
    pub otlp: Option<String>,
    /// Whether the summary gets the lateness of ranks at their collectives.
    pub lateness: bool,
    /// Length of a window in the capture's time, seconds.
    pub window_seconds: f64,
    /// Version of NCCL's interface to speak, where it is given.
    pub interface: Option<u32>,
}

impl ReplayRequest {
    /// Returns whether the operations' times are needed: for the trace's lanes and clock, and for the lateness.
    pub(super) fn needs_timeline(&self) -> bool {
        self.lateness || self.otf2.is_some()
    }
}
