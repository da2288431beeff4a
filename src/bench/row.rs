//! A row of the result.

use super::measure::Measured;
use serde::Serialize;

/// All measurements of a plugin with a capture.
#[derive(Debug, Serialize)]
pub(super) struct BenchRow {
    pub(super) capture: String,
    pub(super) plugin: String,
    /// Shortest time of a call, ns, with the driver's own time.
    pub(super) fastest_ns: f64,
    pub(super) median_ns: f64,
    /// Ratio of the shortest time to the limit's. Absent where the plugin speaks another version of the interface than
    /// the limit, since the calls differ then.
    pub(super) times_limit: Option<f64>,
    pub(super) above_empty_ns: Option<f64>,
    pub(super) rounds: Vec<Measured>,
    /// A further round, in which single calls are timed.
    pub(super) timed: Measured,
}
