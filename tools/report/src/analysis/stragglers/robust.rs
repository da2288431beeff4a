//! Figures that a few wild values do not move.

/// Factor that makes the median absolute deviation of normally distributed values their standard deviation.
pub const NORMAL: f64 = 1.4826;
/// Standard error of a median over that of the mean of normally distributed values: sqrt(pi / 2).
const OF_MEDIAN: f64 = 1.2533;

/// Returns the median, and puts the values in another order; 0 of an empty list.
#[must_use]
pub fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    let is_odd = values.len() % 2 == 1;
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    match below.iter().copied().max_by(f64::total_cmp) {
        Some(lower) if !is_odd => (lower + upper) / 2.0,
        _ => upper,
    }
}

/// Returns the median of some values, and their standard deviation by the median distance from it.
#[must_use]
pub fn spread(values: &[f64]) -> [f64; 2] {
    let mut values = values.to_vec();
    let middle = median(&mut values);
    values.iter_mut().for_each(|value| *value = (*value - middle).abs());
    [middle, NORMAL * median(&mut values)]
}

/// Returns the standard error of the median of values with this standard deviation.
pub(super) fn error(deviation: f64, count: usize) -> f64 {
    OF_MEDIAN * deviation / (count.max(1) as f64).sqrt()
}

/// Returns the value at this share (0 to 1) of the sorted values; 0 of an empty list.
pub(super) fn quantile(values: &mut [f64], share: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let at = (share * (values.len() - 1) as f64).round() as usize;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}
