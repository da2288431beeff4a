//! Verdicts on changes.
//!
//! The change of a median or a mean, and its interval by the bootstrap.
//!
//! Each of the resamples draws as many steps as there are, with replacement, from either report. The interval is from
//! the 2.5th to the 97.5th percentile of the resamples' changes (B. Efron, R. Tibshirani, An Introduction to the
//! Bootstrap, chapter 13).

use crate::analysis::series;
use serde::{Deserialize, Serialize};

/// A change below this share is none, unless the threshold is smaller still.
pub const MIN_CHANGE: f64 = 0.01;

/// The verdict on a change. Its interval is the bootstrapped one of 95 %.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeVerdict {
    /// Longer by more than the threshold, and the interval leaves out 0.
    Worse,
    /// Longer by 1 % and up to the threshold, and the interval leaves out 0.
    Slower,
    /// Nobody knows: the interval has 0 in it and reaches beyond the threshold, or there are too few steps.
    #[default]
    Uncertain,
    /// The runs are not of one size, or their steps not of one work: a change is no fault.
    NotJudged,
    /// The interval has 0 in it, or the change is below 1 %.
    Equal,
    /// Shorter by 1 % and up to the threshold, and the interval leaves out 0.
    Faster,
    /// Shorter by more than the threshold, and the interval leaves out 0.
    Better,
}

impl ChangeVerdict {
    /// Returns its word for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Slower => "slower",
            Self::Uncertain => "uncertain",
            Self::NotJudged => "not judged",
            Self::Equal => "equal",
            Self::Faster => "faster",
            Self::Better => "better",
        }
    }

    /// Judges a share of change that is known not to be by chance.
    pub(super) fn sure(change: f64, threshold: f64) -> Self {
        let least = MIN_CHANGE.min(threshold);
        match change {
            change if change > threshold => Self::Worse,
            change if change < -threshold => Self::Better,
            change if change >= least => Self::Slower,
            change if change <= -least => Self::Faster,
            _ => Self::Equal,
        }
    }

    /// Judges a change of medians or means.
    fn judged(change: &Changed, threshold: f64) -> Self {
        let (Some(share), Some([low, high])) = (change.change, change.interval) else { return Self::Uncertain };
        let verdict = Self::sure(share, threshold);
        if (low > 0.0 || high < 0.0) && verdict != Self::Equal {
            return verdict;
        }
        if low < -threshold || high > threshold { Self::Uncertain } else { Self::Equal }
    }
}

/// A median over steps, or a mean, before and after.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// The medians, microseconds; of a mean, the means.
    pub medians_us: [f64; 2],
    /// Number of steps, or of slices of time, in each report.
    pub samples: [u64; 2],
    /// The second one over the first, less 1; `None` where the first is 0.
    pub change: Option<f64>,
    /// Bootstrapped 95 % interval of the change; `None` for fewer than five steps.
    pub interval: Option<[f64; 2]>,
    /// The verdict.
    pub verdict: ChangeVerdict,
}

impl Changed {
    /// Compares the medians of steps. Runs that are not alike have no verdict.
    pub(super) fn medians(steps: [&[f32]; 2], threshold: f64, are_alike: bool) -> Self {
        Self::of_middle(steps, median, threshold, are_alike)
    }

    /// Compares the means of steps.
    pub(super) fn means(steps: [&[f32]; 2], threshold: f64, are_alike: bool) -> Self {
        Self::of_middle(steps, mean, threshold, are_alike)
    }

    fn of_middle(steps: [&[f32]; 2], middle: Middle, threshold: f64, are_alike: bool) -> Self {
        let medians_us = steps.map(|steps| middle(&mut steps.to_vec()));
        let interval = steps.iter().all(|steps| steps.len() >= MIN_STEPS).then(|| interval(steps, middle)).flatten();
        let samples = steps.map(|steps| steps.len() as u64);
        let verdict = ChangeVerdict::NotJudged;
        let changed = Self { medians_us, samples, change: change(medians_us), interval, verdict };
        Self { verdict: if are_alike { ChangeVerdict::judged(&changed, threshold) } else { verdict }, ..changed }
    }

    /// Returns the change in microseconds.
    pub fn difference_us(&self) -> f64 {
        let [before, after] = self.medians_us;
        after - before
    }

    /// Returns whether it is known to be longer or shorter.
    pub fn is_judged(&self) -> bool {
        use ChangeVerdict::{Better, Faster, Slower, Worse};
        matches!(self.verdict, Worse | Slower | Faster | Better)
    }

    /// Returns whether the change is 1 % or more and the interval leaves out 0, whatever the verdict.
    pub fn is_beyond_chance(&self) -> bool {
        let leaves_out = self.interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0);
        leaves_out && self.change.is_some_and(|change| change.abs() >= MIN_CHANGE)
    }
}

const RESAMPLES: usize = 2000;
/// Resamples outside of the interval, on either side.
const RESAMPLES_OUTSIDE: usize = RESAMPLES / 40;
/// Fewest steps of a report that have an interval.
const MIN_STEPS: usize = 5;
/// A fixed seed: the same reports have the same interval.
const SEED: u64 = 0x6e63_636c;

/// What stands for all steps.
type Middle = fn(&mut [f32]) -> f64;

fn median(steps: &mut [f32]) -> f64 {
    series::median(steps).map_or(0.0, f64::from)
}

fn mean(steps: &mut [f32]) -> f64 {
    steps.iter().map(|&step| f64::from(step)).sum::<f64>() / steps.len().max(1) as f64
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
    Some([*changes.get(RESAMPLES_OUTSIDE)?, *changes.get(RESAMPLES - 1 - RESAMPLES_OUTSIDE)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn middle_change(steps: [&[f32]; 2], middle: Middle) -> Changed {
        Changed::of_middle(steps, middle, 0.1, true)
    }

    #[test]
    fn a_change_is_told_where_it_is_beyond_chance_and_one_percent() {
        let of = |change: f64, interval| {
            let changed = Changed { change: Some(change), interval, ..Changed::default() };
            ChangeVerdict::judged(&changed, 0.1)
        };
        let cases = [
            (0.2, [0.15, 0.25], ChangeVerdict::Worse),
            (0.05, [0.03, 0.12], ChangeVerdict::Slower),
            (0.009, [0.008, 0.01], ChangeVerdict::Equal),
            (0.03, [-0.01, 0.07], ChangeVerdict::Equal),
            (0.05, [-0.01, 0.11], ChangeVerdict::Uncertain),
            (0.0, [-0.3, 0.02], ChangeVerdict::Uncertain),
            (-0.05, [-0.08, -0.01], ChangeVerdict::Faster),
            (-0.2, [-0.3, -0.1], ChangeVerdict::Better),
        ];
        for (change, interval, verdict) in cases {
            assert_eq!(of(change, Some(interval)), verdict, "{change} {interval:?}");
        }
        assert_eq!(of(0.0, None), ChangeVerdict::Uncertain);
        // a threshold below 1 % counts
        let small = Changed { change: Some(0.006), interval: Some([0.005, 0.007]), ..Changed::default() };
        assert_eq!(ChangeVerdict::judged(&small, 0.005), ChangeVerdict::Worse);
    }

    #[test]
    fn equal_steps_have_an_interval_without_width() {
        let change = middle_change([&[10.0; 20], &[15.0; 30]], median);
        assert_eq!((change.medians_us, change.change, change.interval), ([10.0, 15.0], Some(0.5), Some([0.5, 0.5])));
        assert_eq!(middle_change([&[10.0; 4], &[15.0; 30]], median).interval, None);
        let from_nothing = middle_change([&[0.0; 9], &[1.0; 9]], median);
        assert_eq!((from_nothing.medians_us, from_nothing.change, from_nothing.interval), ([0.0, 1.0], None, None));
    }

    /// A stall in a fifth of the steps moves the mean alone.
    #[test]
    fn a_mean_has_what_recurs() {
        let stalling: Vec<f32> = (0..100).map(|step| if step % 5 == 0 { 110.0 } else { 10.0 }).collect();
        let change = middle_change([&[10.0; 100], &stalling], mean);
        let [low, _] = change.interval.unwrap();
        assert!(change.medians_us == [10.0, 30.0] && low > 1.0, "{change:?}");
        assert_eq!(middle_change([&[10.0; 100], &stalling], median).change, Some(0.0));
    }

    /// The median of 101 numbers from 0 to 1 has a standard deviation of 0.05: 95 % lie within 0.1.
    #[test]
    fn the_interval_is_as_wide_as_the_median_is_uncertain() {
        let even: Vec<f32> = (0..101).map(|step| 10.0 + step as f32 / 100.0).collect();
        let [low, high] = middle_change([&[10.5; 101], &even], median).interval.unwrap();
        // 10 % of 1 us, over 10.5 us
        assert!((-0.011..-0.008).contains(&low) && (0.008..0.011).contains(&high), "{low} to {high}");
        assert_eq!(middle_change([&[10.5; 101], &even], median), middle_change([&[10.5; 101], &even], median));
    }
}
