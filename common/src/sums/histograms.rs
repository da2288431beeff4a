//! Histograms of sizes, times and rates. They are kept only if an exporter may ask for them.

use crate::operation::TimeSource;
use std::sync::atomic::{AtomicBool, Ordering};

/// Upper bounds of sizes, bytes: 1 B to 16 GiB.
pub(crate) const SIZES: [u64; 18] = {
    let mut bounds = [1; 18];
    let mut place = 1;
    while place < bounds.len() {
        bounds[place] = 4 * bounds[place - 1];
        place += 1;
    }
    bounds
};
/// Upper bounds of times, nanoseconds: 1 us to 10 s.
pub(crate) const TIMES: [u64; 22] = steps(1_000);
/// Upper bounds of numbers: 1 to 65,536.
pub(crate) const NUMBERS: [u64; 17] = {
    let mut bounds = [1; 17];
    let mut place = 1;
    while place < bounds.len() {
        bounds[place] = 2 * bounds[place - 1];
        place += 1;
    }
    bounds
};
/// Upper bounds of rates, bytes per second: 1 MB/s to 1 TB/s.
pub(crate) const RATES: [u64; 19] = steps(1_000_000);

/// Returns the bounds 1, 2, 5, 10 and so on, times the first.
const fn steps<const N: usize>(first: u64) -> [u64; N] {
    let mut bounds = [first; N];
    let (mut place, mut decade) = (0, first);
    while place < N {
        bounds[place] = decade * [1, 2, 5][place % 3];
        if place % 3 == 2 {
            decade *= 10;
        }
        place += 1;
    }
    bounds
}

/// Largest number of counts of a histogram: one more than it has bounds.
const MOST: usize = TIMES.len() + 1;

static WANTED: AtomicBool = AtomicBool::new(false);

/// Turns histograms on, from this call on.
#[cfg(feature = "otel")]
pub(crate) fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

/// Returns whether histograms are kept. Always false in a library without exporters, so that the compiler leaves out
/// what keeps them.
#[inline]
pub(crate) fn is_wanted() -> bool {
    cfg!(feature = "otel") && WANTED.load(Ordering::Relaxed)
}

/// A value that is kept only if histograms are.
pub(crate) type IfHistograms<T> = Option<Box<T>>;

/// Adds to a kept value, which is made at its first use.
#[inline]
pub(crate) fn keep<T: Default>(kept: &mut IfHistograms<T>, add: impl FnOnce(&mut T)) {
    if is_wanted() {
        add(kept.get_or_insert_default());
    }
}

/// Merges another kept value in.
pub(crate) fn merge<T: Default>(kept: &mut IfHistograms<T>, other: &IfHistograms<T>, merge: impl FnOnce(&mut T, &T)) {
    if is_wanted()
        && let Some(other) = other
    {
        merge(kept.get_or_insert_default(), other);
    }
}

/// A histogram of whole numbers, and their sum. The order of additions does not matter and no value changes later, so
/// no count or sum ever falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    bounds: &'static [u64],
    counts: [u64; MOST],
    sum: u64,
}

impl Buckets {
    /// Makes an empty histogram.
    pub const fn new(bounds: &'static [u64]) -> Self {
        Self { bounds, counts: [0; MOST], sum: 0 }
    }

    /// Counts a value in the first bucket whose bound it does not exceed, or in the last bucket, which has no bound.
    pub fn add(&mut self, value: u64) {
        if let Some(count) = self.counts.get_mut(self.bounds.partition_point(|&bound| bound < value)) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(value);
    }

    /// Adds all values of another histogram with the same bounds.
    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += other);
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// Returns the sum of the values.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Returns the upper bounds.
    pub fn bounds(&self) -> &'static [u64] {
        self.bounds
    }

    /// Returns the counts, one more than there are bounds.
    pub fn counts(&self) -> &[u64] {
        self.counts.get(..=self.bounds.len()).unwrap_or(&self.counts)
    }
}

/// Histograms of operations: sizes, and times by source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfOperations {
    /// Bytes.
    pub sizes: Buckets,
    /// Nanoseconds, by the number of the time's source.
    pub times: [Buckets; TimeSource::ALL.len()],
    /// Transfers of the operations.
    pub sends: OfSends,
}

impl Default for OfOperations {
    fn default() -> Self {
        Self {
            sizes: Buckets::new(&SIZES),
            times: [Buckets::new(&TIMES); TimeSource::ALL.len()],
            sends: OfSends::default(),
        }
    }
}

impl OfOperations {
    /// Adds all values of another.
    pub fn merge(&mut self, other: &Self) {
        self.sizes.merge(&other.sizes);
        self.times.iter_mut().zip(&other.times).for_each(|(times, other)| times.merge(other));
        self.sends.merge(&other.sends);
    }
}

/// Histograms of operations' transfers over the network: number of transfers, mean size and mean time, one value of
/// each per operation. Operations without transfers are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfSends {
    /// Numbers.
    pub numbers: Buckets,
    /// Bytes.
    pub sizes: Buckets,
    /// Nanoseconds.
    pub times: Buckets,
}

impl Default for OfSends {
    fn default() -> Self {
        Self { numbers: Buckets::new(&NUMBERS), sizes: Buckets::new(&SIZES), times: Buckets::new(&TIMES) }
    }
}

impl OfSends {
    /// Adds an operation with this number of transfers, their mean size and their mean time.
    pub fn add(&mut self, number: u64, [size, time]: [u64; 2]) {
        self.numbers.add(number);
        self.sizes.add(size);
        self.times.add(time);
    }

    /// Adds all values of another.
    pub fn merge(&mut self, other: &Self) {
        self.numbers.merge(&other.numbers);
        self.sizes.merge(&other.sizes);
        self.times.merge(&other.times);
    }
}

/// Histograms of transfers by a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfTransfers {
    /// Bytes.
    pub sizes: Buckets,
    /// Nanoseconds of each transfer.
    pub times: Buckets,
    /// Latencies of the windows that have a fit, nanoseconds.
    pub latencies: Buckets,
}

impl Default for OfTransfers {
    fn default() -> Self {
        Self { sizes: Buckets::new(&SIZES), times: Buckets::new(&TIMES), latencies: Buckets::new(&TIMES) }
    }
}

impl OfTransfers {
    /// Adds a window's latency.
    pub fn window(&mut self, latency_us: f64) {
        latency(latency_us).into_iter().for_each(|latency| self.latencies.add(latency));
    }

    /// Adds all values of another.
    pub fn merge(&mut self, other: &Self) {
        self.sizes.merge(&other.sizes);
        self.times.merge(&other.times);
        self.latencies.merge(&other.latencies);
    }
}

/// Returns a fit's latency in nanoseconds. A negative latency, which a fit may have, is left out: it would make the sum
/// fall.
fn latency(latency_us: f64) -> Option<u64> {
    (latency_us.is_finite() && latency_us >= 0.0).then(|| (latency_us * 1e3).round() as u64)
}

/// Histograms of windows of a pair of ranks: the rates, as whole numbers, and the latencies of fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfWindows {
    /// Bytes per second.
    pub rates: Buckets,
    /// Latencies of the windows that have a fit, nanoseconds.
    pub latencies: Buckets,
}

impl Default for OfWindows {
    fn default() -> Self {
        Self { rates: Buckets::new(&RATES), latencies: Buckets::new(&TIMES) }
    }
}

impl OfWindows {
    /// Adds a window.
    pub fn add(&mut self, rate_mb_s: Option<f64>, latency_us: Option<f64>) {
        if let Some(rate) = rate_mb_s.filter(|rate| rate.is_finite()) {
            self.rates.add((rate * 1e6).round() as u64);
        }
        latency_us.and_then(latency).into_iter().for_each(|latency| self.latencies.add(latency));
    }

    /// Adds all values of another.
    pub fn merge(&mut self, other: &Self) {
        self.rates.merge(&other.rates);
        self.latencies.merge(&other.latencies);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_what_they_say() {
        assert_eq!((SIZES[0], SIZES[1], SIZES[17]), (1, 4, 16 << 30));
        assert_eq!((TIMES[..4].to_vec(), TIMES[21]), (vec![1_000, 2_000, 5_000, 10_000], 10_000_000_000));
        assert_eq!((NUMBERS[0], NUMBERS[16]), (1, 65_536));
        assert_eq!((RATES[0], RATES[18]), (1_000_000, 1_000_000_000_000));
    }

    #[test]
    fn a_value_is_counted_where_its_bound_is_not_exceeded() {
        let mut buckets = Buckets::new(&SIZES);
        [0, 1, 2, 4, 5, u64::MAX].into_iter().for_each(|value| buckets.add(value));
        assert_eq!((&buckets.counts()[..3], buckets.counts()[18], buckets.counts().len()), (&[2, 2, 1][..], 1, 19));
    }

    #[test]
    fn windows_are_summed_in_whole_numbers() {
        let (mut one, mut other) = (OfWindows::default(), OfWindows::default());
        one.add(Some(1500.5), Some(-2.0));
        other.add(Some(0.5), None);
        other.add(None, Some(7.5));
        one.merge(&other);
        // a negative latency is left out
        assert_eq!((one.rates.sum(), one.latencies.sum()), (1_501_000_000, 7_500));
        let latencies = one.latencies.counts();
        assert_eq!((one.rates.counts()[0], latencies[3], latencies.iter().sum::<u64>()), (1, 1, 1));
    }
}
