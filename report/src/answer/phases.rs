//! Windows between phases of communication.

use serde::{Deserialize, Serialize};

/// Phase windows by the two dimensions. A phase is consecutive operations of one dimension on a GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// The windows.
    pub windows: Vec<PhaseWindow>,
}

/// Windows from phases of one dimension to the next phases, of another. A window is the second phase's begin minus the
/// first one's end: negative when they overlap.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseWindow {
    /// Dimension before.
    pub from: String,
    /// Dimension behind.
    pub to: String,
    /// Number of windows.
    pub count: u64,
    /// Mean, microseconds.
    pub mean_us: f64,
    /// Median.
    pub median_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// Share of the windows that are negative, 0 to 1.
    pub negative: f64,
    /// Distribution: lower bound in microseconds and number of windows of each bin.
    pub bins: Vec<(f64, u64)>,
}
