//! Thresholds from which on a rank is an outlier, shared by the report and the watch.

/// Robust z from which on a rank is an outlier.
pub const MIN_Z: f64 = 5.0;
/// Share of a step by which own time is longer at least.
pub const MIN_EXCESS_SHARE: f64 = 0.01;
/// Nanoseconds a step by which own time is longer at least: begins of operations are off by some microseconds.
pub const MIN_EXCESS_NS: f64 = 10_000.0;
/// Ranks from which on their deviation from each other is known.
pub const MIN_RANKS: usize = 5;
/// Share of the own time that stands for an unknown deviation: of two ranks.
pub const UNKNOWN_DEVIATION: f64 = 0.02;
/// Share of the own time that is the least deviation of two or three peers from each other.
pub const MIN_DEVIATION_OF_FEW: f64 = 0.01;
/// Share of a node's ranks that are outliers, from which on the node is the outlier.
pub const MIN_NODE_SHARE: f64 = 0.75;

/// Most groups that are outliers, and are played again.
pub(super) const MAX_GROUPS: usize = 16;
/// Least gain, as a share of a step, if an outlier were like the others.
pub const MIN_GAIN_SHARE: f64 = 0.0025;

/// Returns how much is gained at least, in steps of this length, nanoseconds.
#[must_use]
pub fn least_gain(step: f64) -> f64 {
    (MIN_GAIN_SHARE * step).max(MIN_EXCESS_NS)
}

/// Returns by how much own time is longer at least, in steps of this length, nanoseconds.
#[must_use]
pub fn least(step: f64) -> f64 {
    (MIN_EXCESS_SHARE * step).max(MIN_EXCESS_NS)
}
