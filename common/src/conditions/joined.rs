//! Figures of two intervals, one behind the other, as those of both.

/// Returns a sum: both parts must be known.
pub(super) fn sum([one, next]: [Option<u64>; 2]) -> Option<u64> {
    Some(one?.saturating_add(next?))
}

/// Returns a mean by the lengths of the intervals. Where one value is not known, the other one stands for both.
pub(super) fn mean([one, next]: [Option<f64>; 2], [own, other]: [f64; 2]) -> Option<f64> {
    match (one, next) {
        (Some(a), Some(b)) if own + other > 0.0 => Some((a * own + b * other) / (own + other)),
        (a, b) => a.or(b),
    }
}
