//! The clock of a made machine.

/// A clock that starts at an offset and drifts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct DriftingClock {
    /// Its time at true time 0, nanoseconds.
    pub(crate) at_0: u64,
    /// How much faster than true time it runs, parts per billion.
    pub(crate) drift_ppb: i64,
    /// How far the machine's time of day is ahead of the true one, nanoseconds.
    pub(crate) day_ahead: i64,
}

impl DriftingClock {
    /// Returns its time at a true time, both in nanoseconds.
    pub(crate) fn shows(&self, time: u64) -> u64 {
        let drift = i128::from(time) * i128::from(self.drift_ppb) / 1_000_000_000;
        (i128::from(self.at_0) + i128::from(time) + drift) as u64
    }
}
