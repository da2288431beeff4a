//! Figures that a few wild values do not move.

use std::cmp::Ordering;

/// Factor that makes the median absolute deviation of normally distributed values their standard deviation.
pub const NORMAL: f64 = 1.4826;
/// Standard error of a median over that of the mean of normally distributed values: sqrt(pi / 2).
pub(crate) const ERROR_OF_MEDIAN: f64 = 1.2533;

/// Returns the median, and puts the values in another order; 0 of an empty list.
#[must_use]
pub fn median(values: &mut [f64]) -> f64 {
    middle(values, f64::total_cmp).map_or(0.0, |[lower, upper]| (lower + upper) / 2.0)
}

/// Returns the median of some values; 0 of none.
pub(crate) fn median_of(values: impl IntoIterator<Item = f64>) -> f64 {
    median(&mut values.into_iter().collect::<Vec<f64>>())
}

/// Returns the two values in the middle, which are one and the same where the number of values is odd.
pub(crate) fn middle<T: Copy>(values: &mut [T], order: impl Fn(&T, &T) -> Ordering + Copy) -> Option<[T; 2]> {
    let (half, is_odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, &mut upper, _) = (!values.is_empty()).then(|| values.select_nth_unstable_by(half, order))?;
    let lower = if is_odd { None } else { below.iter().copied().max_by(order) };
    Some([lower.unwrap_or(upper), upper])
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
pub(crate) fn error(deviation: f64, count: usize) -> f64 {
    ERROR_OF_MEDIAN * deviation / (count.max(1) as f64).sqrt()
}

/// Returns the value at this share (0 to 1) of the sorted values; 0 of an empty list.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let at = (share * (values.len() - 1) as f64).round() as usize;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

/// Returns the smallest value that at least this share of the values do not exceed; 0 of an empty list.
pub(crate) fn quantile_reached(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_known_lists() {
        assert_eq!((median_of([]), median_of([3.0, 1.0, 2.0]), median_of([4.0, 1.0, 2.0, 3.0])), (0.0, 2.0, 2.5));
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        let of_hundred = [0.99, 0.95].map(|share| quantile_reached(&hundred, share));
        assert_eq!((of_hundred, quantile_reached(&[7.0], 0.99)), ([99.0, 95.0], 7.0));
    }
}
