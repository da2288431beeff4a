//! How many operations must be timed for a figure of these to be shown for that of all.

/// Percent of the operations that are timed at least where a figure of those is shown for that of all.
pub(crate) const ENOUGH_TIMED: u64 = 90;

/// Whether so many operations that were timed speak for all. The first ones of a run are longer than others, and may be
/// the only ones with a time.
pub(crate) fn speaks_for_all(timed: u64, count: u64) -> bool {
    timed > 0 && u128::from(timed) * 100 >= u128::from(count) * u128::from(ENOUGH_TIMED)
}
