//! Times of the events' clock as times of day.

use super::{CLOCK, nanoseconds};

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wall {
    ticks: u64,
    /// Nanoseconds since the Epoch.
    time: u64,
    nanoseconds_per_tick: f64,
}

impl Wall {
    /// Reads both clocks. A tick is worth `nanoseconds_per_tick`.
    pub(crate) fn now(nanoseconds_per_tick: f64) -> Self {
        Self { ticks: CLOCK.now(), time: nanoseconds(libc::CLOCK_REALTIME), nanoseconds_per_tick }
    }

    /// Returns the time of day at `ticks`, nanoseconds since the Epoch by the host's clock as it shows now.
    pub(crate) fn at(self, ticks: u64) -> u64 {
        let before = self.ticks.wrapping_sub(ticks) as i64;
        self.time.saturating_add_signed(-((before as f64 * self.nanoseconds_per_tick) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lie_before_and_behind_the_moment_of_the_reading() {
        let wall = Wall { ticks: 1000, time: 50_000, nanoseconds_per_tick: 2.0 };
        assert_eq!([900, 1000, 1100].map(|ticks| wall.at(ticks)), [49_800, 50_000, 50_200]);
    }
}
