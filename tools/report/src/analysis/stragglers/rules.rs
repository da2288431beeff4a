//! Thresholds by which somebody stands out, for a report and for whoever watches a job: both say the same of the same.

/// Robust z from which on somebody stands out.
pub const Z: f64 = 5.0;
/// Share of a step by which own time is longer at least.
pub const SHARE: f64 = 0.01;
/// Nanoseconds a step by which own time is longer at least: begins of operations are off by some microseconds.
pub const RESOLVED: f64 = 10_000.0;
/// Ranks from which on their deviation from each other is known.
pub const RANKS: usize = 5;
/// Share of the own time that stands for an unknown deviation: of two ranks.
pub const UNKNOWN: f64 = 0.02;
/// Share of the own time that is the least deviation of two or three peers from each other.
pub const OF_FEW: f64 = 0.01;
/// Share of a node's ranks that stand out, from which on it is the node.
pub const OF_NODE: f64 = 0.75;

/// Most groups that stand out, and are played again.
pub(super) const MOST: usize = 16;
/// Share of a step that is gained at least where somebody who stands out is as the others.
pub const GAIN: f64 = 0.0025;

/// Returns how much is gained at least, in steps of this length, nanoseconds.
#[must_use]
pub fn least_gain(step: f64) -> f64 {
    (GAIN * step).max(RESOLVED)
}

/// Returns by how much own time is longer at least, in steps of this length, nanoseconds.
#[must_use]
pub fn least(step: f64) -> f64 {
    (SHARE * step).max(RESOLVED)
}
