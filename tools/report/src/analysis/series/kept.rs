//! Values of some steps of a long job: which ones, a hash of the step's number says, so that all lists keep the same
//! steps and no pattern of the job decides.

use crate::analysis::robust::{NORMAL, middle};

/// Most steps of a list.
pub(super) const MAX_STEPS: usize = 512;

/// Returns whether a step, or a block of steps, is among those that are kept after thinning out this many times.
pub(crate) fn is_kept(number: u64, thinned: u32) -> bool {
    hash(number).leading_zeros() >= thinned
}

/// Returns a number that looks random (SplitMix64's finalizer).
pub(crate) fn hash(of: u64) -> u64 {
    let mut hash = of.wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// A value for each of at most 512 steps. When there are more, every second one is given up.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThinnedSeries {
    thinned: u32,
    values: Vec<(u64, f32)>,
}

impl ThinnedSeries {
    /// Adds the value of a step that has none yet.
    pub(crate) fn add(&mut self, step: u64, value: f32) {
        if !is_kept(step, self.thinned) {
            return;
        }
        self.values.push((step, value));
        while self.values.len() > MAX_STEPS {
            self.thinned += 1;
            self.values.retain(|&(step, _)| is_kept(step, self.thinned));
        }
    }

    /// Returns the values in the order in which they came.
    pub(crate) fn values(&self) -> Vec<f32> {
        self.values.iter().map(|&(_, value)| value).collect()
    }

    /// Returns their median and its standard error, that of normally distributed values with their median absolute
    /// deviation; `None` without a value.
    pub(crate) fn median(&self) -> Option<[f32; 2]> {
        let mut values = self.values();
        let middle = median(&mut values)?;
        let count = values.len() as f32;
        values.iter_mut().for_each(|value| *value = (*value - middle).abs());
        let deviation = NORMAL as f32 * median(&mut values)?;
        Some([middle, (std::f32::consts::FRAC_PI_2 / count).sqrt() * deviation])
    }
}

/// Returns the median of some numbers.
pub(crate) fn median(values: &mut [f32]) -> Option<f32> {
    middle(values, f32::total_cmp).map(|[lower, upper]| (lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_one_job_keep_the_same_steps() {
        let kept = |steps: u64, scale: f32| {
            let mut kept = ThinnedSeries::default();
            (0..steps).for_each(|step| kept.add(step, step as f32 * scale));
            kept
        };
        assert_eq!(kept(512, 1.0).values(), (0..512).map(|step| step as f32).collect::<Vec<_>>());
        let (one, other) = (kept(100_000, 1.0), kept(100_000, 2.0));
        assert!((150..=MAX_STEPS).contains(&one.values().len()), "{}", one.values().len());
        assert_eq!(other.values(), one.values().iter().map(|value| value * 2.0).collect::<Vec<_>>());
        // they are spread over the job
        assert!((40_000.0..60_000.0).contains(&one.median().unwrap()[0]), "{:?}", one.median());
        assert_eq!(ThinnedSeries::default().median(), None);
    }

    #[test]
    fn a_median_is_as_uncertain_as_its_values_scatter() {
        let mut kept = ThinnedSeries::default();
        [10.0, 12.0, 8.0, 11.0, 9.0].iter().zip(0..).for_each(|(value, step)| kept.add(step, *value));
        // the distances are 0, 1, 1, 2, 2; sqrt(pi / 2 / 5) is 0.560
        let [middle, error] = kept.median().unwrap();
        assert!(middle == 10.0 && (error - 0.831).abs() < 1e-3, "{middle} {error}");
    }
}
