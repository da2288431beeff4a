//! A replay as it is asked for.

use std::path::PathBuf;

/// Length of a window: the runs last a second or two.
pub(crate) const WINDOW_SECONDS: f64 = 0.1;

/// What is to be replayed, and what is wanted of it.
#[derive(Debug, Default)]
pub(crate) struct Request {
    /// Captures, or directories of them.
    pub(crate) sources: Vec<PathBuf>,
    /// File for the summary.
    pub(crate) summary: Option<PathBuf>,
    /// Directory for the trace.
    pub(crate) otf2: Option<PathBuf>,
    /// OTLP endpoint for the figures.
    pub(crate) otlp: Option<String>,
    /// The shipped library, where it is not beside this program.
    pub(crate) library: Option<PathBuf>,
    /// Whether the summary has how late ranks arrive at their collectives.
    pub(crate) lateness: bool,
    /// Length of a window in the capture's time, seconds.
    pub(crate) window_seconds: f64,
    /// The version of NCCL's interface to speak, where it is given.
    pub(crate) interface: Option<u32>,
}

impl Request {
    /// Whether the operations' times are needed: for the trace's lanes, for its clock, and for the lateness.
    pub(super) fn needs_timeline(&self) -> bool {
        self.lateness || self.otf2.is_some()
    }
}
