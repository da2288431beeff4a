//! Percentiles of times in bounded memory.
//!
//! A [DDSketch](https://doi.org/10.14778/3352063.3352135) keeps the number of times in bins that grow by 2 %: a
//! percentile is within 1 % of the exact one. Number, sum, least and longest time are exact.

use super::fold::Merge;
use sketches_ddsketch::{Config, DDSketch};
use std::fmt;

/// Relative error of a percentile.
const RELATIVE_ERROR: f64 = 0.01;
/// Most bins of a sketch: enough for 1 ns to ten years, so that no two are put together.
const MAX_BINS: u32 = 2048;
/// Shortest time with a bin of its own, nanoseconds.
const MIN_BINNED_NS: f64 = 1.0;

/// Times in nanoseconds.
#[derive(Clone)]
pub struct TimeSketch {
    sketch: DDSketch,
    /// Number of times.
    pub count: u64,
    /// Sum, nanoseconds.
    pub sum: u64,
    /// The least and the longest time, nanoseconds.
    pub ends: Option<[u64; 2]>,
}

impl Default for TimeSketch {
    fn default() -> Self {
        let sketch = DDSketch::new(Config::new(RELATIVE_ERROR, MAX_BINS, MIN_BINNED_NS));
        Self { sketch, count: 0, sum: 0, ends: None }
    }
}

impl fmt::Debug for TimeSketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, sum, ends, .. } = self;
        f.debug_struct("TimeSketch").field("count", count).field("sum", sum).field("ends", ends).finish_non_exhaustive()
    }
}

impl TimeSketch {
    /// Adds a time.
    pub fn add(&mut self, time: u64) {
        self.sketch.add(time as f64);
        self.count += 1;
        self.sum = self.sum.saturating_add(time);
        self.ends = Some(self.ends.map_or([time; 2], |[least, longest]| [least.min(time), longest.max(time)]));
    }

    /// Returns the time, in nanoseconds, that this share (0 to 1) of the times do not exceed, within 1 %.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let [least, longest] = self.ends?;
        let about = self.sketch.quantile(share).ok().flatten()?;
        Some(about.clamp(least as f64, longest as f64))
    }
}

impl Merge for TimeSketch {
    fn merge(&mut self, other: Self) {
        // sketches differ in their bins alone if they cannot be merged, and all have the same
        let _ = self.sketch.merge(&other.sketch);
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        let ends = self.ends.into_iter().chain(other.ends);
        self.ends = ends.reduce(|[least, longest], [first, last]| [least.min(first), longest.max(last)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_one_percent_and_the_rest_is_exact() {
        let mut times = TimeSketch::default();
        (1..=10_000).for_each(|time| times.add(time * 1000));
        assert_eq!((times.count, times.sum, times.ends), (10_000, 50_005_000_000, Some([1000, 10_000_000])));
        for (share, exact) in [(0.5, 5_000_000.0), (0.95, 9_500_000.0), (0.99, 9_900_000.0)] {
            let about = times.percentile(share).unwrap();
            assert!((about / exact - 1.0).abs() < 0.0102, "{share}: {about} for {exact}");
        }
    }

    #[test]
    fn equal_times_have_exact_percentiles() {
        let mut times = TimeSketch::default();
        (0..9).for_each(|_| times.add(123_457));
        assert_eq!(times.percentile(0.5), Some(123_457.0));
        assert_eq!(TimeSketch::default().percentile(0.5), None);
    }

    #[test]
    fn merged_times_are_those_of_both() {
        let (mut all, mut odd, mut even) = (TimeSketch::default(), TimeSketch::default(), TimeSketch::default());
        for time in 0..1000 {
            all.add(time);
            if time % 2 == 0 { even.add(time) } else { odd.add(time) }
        }
        odd.merge(even);
        assert_eq!((odd.count, odd.sum, odd.ends), (1000, 499_500, Some([0, 999])));
        assert_eq!(odd.percentile(0.95), all.percentile(0.95));
    }

    /// A sketch keeps every time from a nanosecond to years in a bin of its own width.
    #[test]
    fn times_far_apart_do_not_spoil_each_other() {
        let mut times = TimeSketch::default();
        for time in [1, 1_000, 1_000_000, 1_000_000_000_000_000, 200_000_000_000_000_000] {
            times.add(time);
        }
        let about = times.percentile(0.25).unwrap();
        assert!((about / 1000.0 - 1.0).abs() < 0.0102, "{about}");
    }
}
