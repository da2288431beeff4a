//! The progress threads as exporters show them: with times that never fall.

use super::progress_threads::{ProgressCounts, STATES};

/// Times and counts of the progress threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ProgressSums {
    /// Nanoseconds in each state. They never fall.
    pub nanoseconds: [u64; STATES],
    /// The counts.
    pub counts: ProgressCounts,
}

impl ProgressSums {
    /// Takes the counts so far. Ticks become nanoseconds as they come: the length of a tick becomes more exact, and a sum
    /// must not fall.
    pub(crate) fn take(&mut self, counts: ProgressCounts, nanoseconds_per_tick: f64) {
        for (state, nanoseconds) in self.nanoseconds.iter_mut().enumerate() {
            let new = counts.ticks[state].saturating_sub(self.counts.ticks[state]);
            *nanoseconds = nanoseconds.saturating_add((new as f64 * nanoseconds_per_tick) as u64);
        }
        self.counts = counts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_do_not_fall_when_ticks_become_shorter() {
        let mut sums = ProgressSums::default();
        let counts = |ticks| ProgressCounts { threads: 1, ticks: [ticks, 0, 0, 0], ..ProgressCounts::default() };
        sums.take(counts(1000), 2.0);
        sums.take(counts(1010), 1.0);
        assert_eq!((sums.nanoseconds, sums.counts), ([2010, 0, 0, 0], counts(1010)));
    }
}
