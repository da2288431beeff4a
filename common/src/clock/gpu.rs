//! The GPU's clock relative to the clock of the events.
//!
//! NCCL's callback reports a stamp some time after the GPU took it, never before. So the pair (callback's time, stamp)
//! with the smallest difference is closest to the true offset of the clocks. The clocks drift apart, 50 ppm being a
//! millisecond in 20 seconds, so only pairs of the last few seconds are compared.

/// Seconds after which the best pair is looked for anew. The best pair of the interval before is used as well.
const SECONDS: f64 = 2.0;

/// Most that the clocks may drift apart: the kernel slews CLOCK_MONOTONIC by up to 500 ppm, and both clocks have errors
/// of their own.
const DRIFT: f64 = 1e-3;

/// A callback's time in ticks, and the stamp that it reported in nanoseconds of the GPU's clock.
#[derive(Debug, Clone, Copy)]
struct CallbackStamp {
    ticks: u64,
    stamp: u64,
}

/// The best pair of an interval, and the interval's begin and end in ticks.
#[derive(Debug, Clone, Copy)]
struct Best {
    since: u64,
    until: u64,
    pair: CallbackStamp,
}

/// The pairs known of one GPU's clock.
#[derive(Debug, Default)]
pub(crate) struct GpuClock {
    current: Option<Best>,
    previous: Option<CallbackStamp>,
}

impl GpuClock {
    /// Takes in a callback at `ticks` that reported `stamp`; a tick is worth `scale` nanoseconds. Returns how many
    /// nanoseconds later than the quickest recent callback it came.
    #[inline]
    pub(crate) fn observe(&mut self, ticks: u64, stamp: u64, scale: f64) -> f64 {
        let pair = CallbackStamp { ticks, stamp };
        match &mut self.current {
            Some(best) if ticks < best.until => {
                let later = nanoseconds_after(best.pair, pair, scale);
                if later < 0.0 {
                    best.pair = pair;
                }
                later.max(0.0)
            }
            _ => {
                let later = self.current.map_or(0.0, |best| nanoseconds_after(best.pair, pair, scale));
                self.begin(pair, scale);
                later.max(0.0)
            }
        }
    }

    /// Begins a new interval and forgets pairs that are too old.
    #[cold]
    fn begin(&mut self, pair: CallbackStamp, scale: f64) {
        let CallbackStamp { ticks, .. } = pair;
        let after = |seconds: f64| (seconds * 1e9 / scale) as u64;
        let recent = self.current.filter(|best| ticks.saturating_sub(best.since) < after(2.0 * SECONDS));
        self.previous = recent.map(|best| best.pair);
        self.current = Some(Best { since: ticks, until: ticks.saturating_add(after(SECONDS)), pair });
    }

    /// Returns by how many nanoseconds, at least, a stamp lies before a time of the events' clock, whatever the drift
    /// of the clocks. Negative if the stamp lies after the time; `None` while no pair is known.
    pub(crate) fn nanoseconds_before(&self, stamp: u64, ticks: u64, scale: f64) -> Option<f64> {
        let pairs = self.current.map(|best| best.pair).into_iter().chain(self.previous);
        // the pair that maps the stamp to the earliest time is closest to the truth
        let before = |pair: CallbackStamp| {
            let drift = DRIFT * scale * ticks.abs_diff(pair.ticks) as f64;
            nanoseconds_after(pair, CallbackStamp { ticks, stamp }, scale) - drift
        };
        pairs.map(before).reduce(f64::max)
    }
}

/// Returns how much longer after its stamp the callback of `second` came than that of `first`, nanoseconds.
fn nanoseconds_after(first: CallbackStamp, second: CallbackStamp, scale: f64) -> f64 {
    let ticks = second.ticks.wrapping_sub(first.ticks) as i64;
    let stamps = second.stamp.wrapping_sub(first.stamp) as i64;
    ticks as f64 * scale - stamps as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stamps 900 us ahead of the events' clock, reported 30 us to 5 ms late. The events' clock has ticks of half a
    /// nanosecond.
    fn clock(seconds: u64, drift: f64) -> GpuClock {
        let mut clock = GpuClock::default();
        for at in (0..seconds * 1000).map(|millisecond| millisecond * 1_000_000) {
            let late = 30_000 + at % 7_000_000 * 5 / 7;
            let stamp = (1_795_151_200_000_900_000 + at).wrapping_add_signed((at as f64 * drift) as i64);
            clock.observe((at + late) * 2, stamp, 0.5);
        }
        clock
    }

    fn before(clock: &GpuClock, stamp_at: u64, time: u64) -> f64 {
        clock.nanoseconds_before(1_795_151_200_000_000_000 + stamp_at + 900_000, time * 2, 0.5).unwrap()
    }

    /// Uncertainty by the drift of four seconds, nanoseconds.
    const UNCERTAIN: f64 = 4e6;

    #[test]
    fn a_stamp_is_never_taken_for_earlier_than_it_is() {
        for drift in [-1e-3, -50e-6, 0.0, 50e-6, 500e-6, 1e-3] {
            let clock = clock(60, drift);
            let stamp_at = |time: u64| time.wrapping_add_signed((time as f64 * drift) as i64);
            for (stamp, time, true_before) in [(59.9, 59.95, 50e6), (59.95, 59.9, -50e6), (59.9, 59.9, 0.0)] {
                let [stamp, time] = [stamp, time].map(|seconds: f64| (seconds * 1e9) as u64);
                let before = before(&clock, stamp_at(stamp), time);
                let uncertain = UNCERTAIN + (drift.abs() * 1e8);
                assert!(
                    before <= true_before + drift.abs() * 1e8 && before > true_before - uncertain,
                    "{drift}: {before}"
                );
            }
        }
    }

    #[test]
    fn nothing_is_known_at_first() {
        assert_eq!(GpuClock::default().nanoseconds_before(1, 1, 1.0), None);
    }
}
