//! How many operations must be timed for their figure to stand for all operations.

/// Least percentage of operations that must be timed for their figure to stand for all operations.
pub(crate) const ENOUGH_TIMED: u64 = 90;

/// Returns whether the timed operations may stand for all. The first operations of a run take longer than others, and
/// may be the only timed ones.
pub(crate) fn speaks_for_all(timed: u64, count: u64) -> bool {
    timed > 0 && u128::from(timed) * 100 >= u128::from(count) * u128::from(ENOUGH_TIMED)
}
