//! A distribution of times that may be negative, in bounded memory.

use std::collections::BTreeMap;

/// Buckets of a power of two: a value is known to a 32nd.
const BUCKETS_OF_POWER: i32 = 32;
/// Powers of two that are one bin of the answer: times below 1,024 ns.
const FIRST_POWER: i32 = 10;

/// Numbers of values by power of two, each in 32 equal parts. There are at most 4,096 buckets.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    buckets: BTreeMap<i32, u64>,
    pub(super) count: u64,
    negative: u64,
    sum: i128,
    least: i64,
    most: i64,
}

impl Histogram {
    pub(super) fn add(&mut self, value: i64) {
        (self.least, self.most) = match self.count {
            0 => (value, value),
            _ => (self.least.min(value), self.most.max(value)),
        };
        self.count += 1;
        self.negative += u64::from(value < 0);
        self.sum += i128::from(value);
        *self.buckets.entry(bucket(value)).or_default() += 1;
    }

    pub(super) fn mean(&self) -> f64 {
        self.sum as f64 / self.count.max(1) as f64
    }

    /// Returns the share of negative values.
    pub(super) fn negative(&self) -> f64 {
        self.negative as f64 / self.count.max(1) as f64
    }

    /// Returns the middle of the bucket of the value that this share of the values do not exceed, not below the least
    /// and not above the largest value.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        let mut passed = 0;
        for (&bucket, &count) in &self.buckets {
            passed += count;
            if passed >= rank {
                let [from, to] = [lower(bucket), lower(bucket + 1)];
                let (from, to) = (from.max(self.least as f64), to.min(self.most as f64));
                return (from + to) / 2.0;
            }
        }
        0.0
    }

    /// Returns lower bound and number of values of each power of two from the least to the largest value. The two bins
    /// around 0 reach to 1,024.
    pub(super) fn powers(&self) -> Vec<(f64, u64)> {
        let mut powers: BTreeMap<i32, u64> = BTreeMap::new();
        for (&bucket, count) in &self.buckets {
            let power = (bucket.abs() / BUCKETS_OF_POWER - FIRST_POWER).max(0);
            *powers.entry(if bucket < 0 { -1 - power } else { power }).or_default() += count;
        }
        let Some((&first, &last)) = powers.keys().next().zip(powers.keys().next_back()) else { return vec![] };
        let lower = |power: i32| match power {
            0 => 0.0,
            1.. => 2f64.powi(FIRST_POWER + power - 1),
            _ => -2f64.powi(FIRST_POWER - power - 1),
        };
        (first..=last).map(|power| (lower(power), powers.get(&power).copied().unwrap_or(0))).collect()
    }
}

/// Returns the bucket of a value: ascending with it, 0 of 0.
fn bucket(value: i64) -> i32 {
    let size = value.unsigned_abs();
    let Some(power) = size.checked_ilog2() else { return 0 };
    let part = ((u128::from(size) * BUCKETS_OF_POWER as u128) >> power) as i32 - BUCKETS_OF_POWER;
    let bucket = (power as i32 + 1) * BUCKETS_OF_POWER + part;
    if value < 0 { -bucket } else { bucket }
}

/// Returns the bound below the values of a bucket.
fn lower(bucket: i32) -> f64 {
    if bucket < 0 {
        return -lower(1 - bucket);
    }
    let (power, part) = (bucket / BUCKETS_OF_POWER, bucket % BUCKETS_OF_POWER);
    if power == 0 {
        return if part == 0 { 0.0 } else { 1.0 };
    }
    2f64.powi(power - 1) * (1.0 + f64::from(part) / f64::from(BUCKETS_OF_POWER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_ascend_and_hold_their_values() {
        let values =
            [i64::MIN + 1, -1_000_000, -1000, -33, -2, -1, 0, 1, 2, 3, 31, 32, 33, 63, 64, 1000, 1_000_000, i64::MAX];
        assert!(values.windows(2).all(|pair| bucket(pair[0]) < bucket(pair[1])), "{:?}", values.map(bucket));
        for value in values {
            let (from, to) = (lower(bucket(value)), lower(bucket(value) + 1));
            assert!(from <= value as f64 && value as f64 <= to, "{value}: {from} to {to}");
        }
    }

    #[test]
    fn figures_of_a_known_distribution() {
        let mut histogram = Histogram::default();
        (-100..900).for_each(|value| histogram.add(value * 1000));
        assert_eq!((histogram.count, histogram.negative(), histogram.mean()), (1000, 0.1, 399_500.0));
        assert!((histogram.quantile(0.5) / 399_000.0 - 1.0).abs() < 0.02, "{}", histogram.quantile(0.5));
        assert!((histogram.quantile(0.95) / 849_000.0 - 1.0).abs() < 0.02, "{}", histogram.quantile(0.95));
        assert_eq!(histogram.powers().iter().map(|(_, count)| count).sum::<u64>(), 1000);
        assert_eq!(histogram.powers()[0].0, -131_072.0);
    }

    #[test]
    fn one_value_is_exact() {
        let mut histogram = Histogram::default();
        (0..7).for_each(|_| histogram.add(-12_345));
        assert_eq!((histogram.quantile(0.5), histogram.quantile(0.95)), (-12_345.0, -12_345.0));
    }
}
