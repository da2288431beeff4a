//! Additions to sums.

/// Returns the nanoseconds of these ticks, by the present length of a tick.
pub(super) fn scaled(ticks: u64, nanoseconds_per_tick: f64) -> u64 {
    (ticks as f64 * nanoseconds_per_tick).round() as u64
}

/// Adds to a sum, which saturates: clocks of recordings may show anything.
pub(super) fn grow(sum: &mut u64, by: u64) {
    *sum = sum.saturating_add(by);
}
