//! Changes in words: which ones count, and how they are written.

/// Most ranks, groups of ranks or operations that are named.
pub(super) const NAMED: usize = 3;
/// Returns a change as a percentage with its sign, without the unit.
pub(crate) fn percent(change: f64) -> String {
    format!("{:+.1}", change * 100.0)
}

/// Returns an interval as percentages.
pub(crate) fn range([low, high]: [f64; 2]) -> String {
    format!("{}..{} %", percent(low), percent(high))
}
