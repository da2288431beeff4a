//! The change of a median or a mean, and its interval by the bootstrap.
//!
//! Each of the resamples draws as many steps as there are, with replacement, from either report. The interval is from
//! the 2.5th to the 97.5th percentile of the resamples' changes (B. Efron, R. Tibshirani, An Introduction to the
//! Bootstrap, chapter 13).

use crate::analysis::series;

/// Number of resamples.
const RESAMPLES: usize = 2000;
/// Resamples outside of the interval, on either side.
const OUTSIDE: usize = RESAMPLES / 40;
/// Fewest steps of a report that have an interval.
const FEWEST: usize = 5;
/// A fixed seed: the same reports have the same interval.
const SEED: u64 = 0x6e63_636c;

/// A change of medians or of means, microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MiddleChange {
    pub(super) middles: [f64; 2],
    pub(super) change: Option<f64>,
    pub(super) interval: Option<[f64; 2]>,
}

/// What stands for all steps.
pub(super) type Middle = fn(&mut [f32]) -> f64;

/// The median.
pub(super) fn median(steps: &mut [f32]) -> f64 {
    series::median(steps).map_or(0.0, f64::from)
}

/// The mean.
pub(super) fn mean(steps: &mut [f32]) -> f64 {
    steps.iter().map(|&step| f64::from(step)).sum::<f64>() / steps.len().max(1) as f64
}

/// Returns the change from the first to the second one's middles of steps.
pub(super) fn of(steps: [&[f32]; 2], middle: Middle) -> MiddleChange {
    let middles = steps.map(|steps| middle(&mut steps.to_vec()));
    let interval = steps.iter().all(|steps| steps.len() >= FEWEST).then(|| interval(steps, middle)).flatten();
    MiddleChange { middles, change: change(middles), interval }
}

fn change([before, after]: [f64; 2]) -> Option<f64> {
    (before > 0.0).then(|| after / before - 1.0)
}

fn interval(steps: [&[f32]; 2], middle: Middle) -> Option<[f64; 2]> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut drawn: Vec<f32> = vec![];
    let mut changes: Vec<f64> = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let middles = steps.map(|steps| {
            drawn.clear();
            drawn.extend((0..steps.len()).filter_map(|_| steps.get(random.usize(..steps.len()))));
            middle(&mut drawn)
        });
        changes.push(change(middles)?);
    }
    changes.sort_by(f64::total_cmp);
    Some([*changes.get(OUTSIDE)?, *changes.get(RESAMPLES - 1 - OUTSIDE)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_steps_have_an_interval_without_width() {
        let change = of([&[10.0; 20], &[15.0; 30]], median);
        assert_eq!(change, MiddleChange { middles: [10.0, 15.0], change: Some(0.5), interval: Some([0.5, 0.5]) });
        assert_eq!(of([&[10.0; 4], &[15.0; 30]], median).interval, None);
        assert_eq!(
            of([&[0.0; 9], &[1.0; 9]], median),
            MiddleChange { middles: [0.0, 1.0], change: None, interval: None }
        );
    }

    /// A stall in a fifth of the steps moves the mean alone.
    #[test]
    fn a_mean_has_what_recurs() {
        let stalling: Vec<f32> = (0..100).map(|step| if step % 5 == 0 { 110.0 } else { 10.0 }).collect();
        let change = of([&[10.0; 100], &stalling], mean);
        let [low, _] = change.interval.unwrap();
        assert!(change.middles == [10.0, 30.0] && low > 1.0, "{change:?}");
        assert_eq!(of([&[10.0; 100], &stalling], median).change, Some(0.0));
    }

    /// The median of 101 numbers from 0 to 1 has a standard deviation of 0.05: 95 % lie within 0.1.
    #[test]
    fn the_interval_is_as_wide_as_the_median_is_uncertain() {
        let even: Vec<f32> = (0..101).map(|step| 10.0 + step as f32 / 100.0).collect();
        let [low, high] = of([&[10.5; 101], &even], median).interval.unwrap();
        // 10 % of 1 us, over 10.5 us
        assert!((-0.011..-0.008).contains(&low) && (0.008..0.011).contains(&high), "{low} to {high}");
        assert_eq!(of([&[10.5; 101], &even], median), of([&[10.5; 101], &even], median));
    }
}
