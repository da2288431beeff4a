//! Counts of the stream.

/// Counts of a pass over the operations of a job. Of operations, each rank's counts; of matched, unmatched and compared
/// ones, each occurrence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StreamCounts {
    /// Operations in the tables, of all ranks.
    pub operations: u64,
    /// Operations without a GPU time, of all ranks.
    pub untimed: u64,
    /// Operations of communicators that the job does not know. They are in no call.
    pub foreign: u64,
    /// Occurrences with the calls of all their ranks.
    pub matched: u64,
    /// Occurrences that lack a rank's call.
    pub unmatched: u64,
    /// Occurrences whose ranks' times were compared.
    pub compared: u64,
    /// Largest guaranteed error of a process' times on the common clock, nanoseconds; `None` where nothing connects a
    /// clock with the others.
    pub clock_error: Option<u64>,
    /// Errors of the waits that 19 of 20 do not exceed, of all calls that waited.
    pub wait_errors: Errors,
    /// Largest number of calls that were in memory at once.
    pub most_held: u64,
}

/// Number of bins of one doubling.
const BINS: u32 = 8;

/// A histogram of errors in nanoseconds, with bins 1/8 as wide as their begin.
#[derive(Debug, Clone, PartialEq)]
pub struct Errors {
    count: u64,
    bins: Vec<u64>,
}

impl Default for Errors {
    fn default() -> Self {
        Self { count: 0, bins: vec![0; (BINS * u64::BITS) as usize] }
    }
}

impl Errors {
    /// Adds an error, nanoseconds.
    pub(super) fn add(&mut self, error: u64) {
        let bin = match error.checked_ilog2() {
            Some(power) if power >= 3 => BINS * power + (error >> (power - 3)) as u32 % BINS,
            _ => error as u32,
        };
        if let Some(bin) = self.bins.get_mut(bin as usize) {
            *bin += 1;
            self.count += 1;
        }
    }

    /// Returns the median in nanoseconds, to 1/8; `None` without errors.
    pub fn median(&self) -> Option<u64> {
        let mut left = self.count.div_ceil(2);
        let bin = self.bins.iter().position(|&count| {
            left = left.saturating_sub(count);
            left == 0
        });
        let bin = bin.filter(|_| self.count > 0)? as u64;
        let (power, part) = (bin / u64::from(BINS), bin % u64::from(BINS));
        Some(if power < 3 { bin } else { (u64::from(BINS) + part) << (power - 3) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_known_to_an_eighth() {
        assert_eq!(Errors::default().median(), None);
        for value in [0, 1, 7, 8, 9, 1000, 123_456_789, u64::MAX] {
            let mut errors = Errors::default();
            errors.add(value);
            let median = errors.median().unwrap();
            assert!(median <= value && value - median <= value / 8, "{value}: {median}");
        }
        let mut errors = Errors::default();
        [1, 1, 1, 1 << 20, 1 << 30].into_iter().for_each(|error| errors.add(error));
        assert_eq!(errors.median(), Some(1));
        [1 << 20, 1 << 40].into_iter().for_each(|error| errors.add(error));
        assert_eq!(errors.median(), Some(1 << 20));
    }
}
