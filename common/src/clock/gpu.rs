//! The GPU's clock beside the events' clock.
//!
//! A callback tells of a stamp of the GPU some time after the GPU made it: at least no time. So of all pairs
//! (callback's time, stamp) the one with the smallest difference is closest to the truth. Clocks drift, by 50 ppm a
//! millisecond in 20 seconds, so only pairs of the last few seconds are compared.

/// Seconds after which a pair is no longer compared; the best of up to twice as long is used.
const SECONDS: f64 = 2.0;

/// By how much the clocks may drift apart: the kernel slews CLOCK_MONOTONIC by up to 500 ppm, and both have their own
/// error.
const DRIFT: f64 = 1e-3;

/// A callback's time in ticks and the stamp it told of, nanoseconds of the GPU's clock.
#[derive(Debug, Clone, Copy)]
struct Pair {
    ticks: u64,
    stamp: u64,
}

/// The best pair since a time, and until when it is compared, ticks.
#[derive(Debug, Clone, Copy)]
struct Best {
    since: u64,
    until: u64,
    pair: Pair,
}

/// What is known of one GPU's clock.
#[derive(Debug, Default)]
pub(crate) struct GpuClock {
    current: Option<Best>,
    previous: Option<Pair>,
}

impl GpuClock {
    /// A callback at `ticks` told of `stamp`; a tick is worth `scale` nanoseconds. Gives how many nanoseconds later it
    /// came than the quickest one of late.
    #[inline]
    pub(crate) fn observe(&mut self, ticks: u64, stamp: u64, scale: f64) -> f64 {
        let pair = Pair { ticks, stamp };
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

    /// Pairs of long ago say nothing of now.
    #[cold]
    fn begin(&mut self, pair: Pair, scale: f64) {
        let Pair { ticks, .. } = pair;
        let after = |seconds: f64| (seconds * 1e9 / scale) as u64;
        let recent = self.current.filter(|best| ticks.saturating_sub(best.since) < after(2.0 * SECONDS));
        self.previous = recent.map(|best| best.pair);
        self.current = Some(Best { since: ticks, until: ticks.saturating_add(after(SECONDS)), pair });
    }

    /// By how many nanoseconds a stamp lies before a time of the events' clock, at least, however much the clocks
    /// drift; negative when it lies after. `None` while nothing is known.
    pub(crate) fn nanoseconds_before(&self, stamp: u64, ticks: u64, scale: f64) -> Option<f64> {
        let pairs = self.current.map(|best| best.pair).into_iter().chain(self.previous);
        // whichever pair maps the stamp to the earliest time is closest to the truth
        let before = |pair: Pair| {
            let drift = DRIFT * scale * ticks.abs_diff(pair.ticks) as f64;
            nanoseconds_after(pair, Pair { ticks, stamp }, scale) - drift
        };
        pairs.map(before).reduce(f64::max)
    }
}

/// How much longer after its stamp `second`'s callback came than `first`'s.
fn nanoseconds_after(first: Pair, second: Pair, scale: f64) -> f64 {
    let ticks = second.ticks.wrapping_sub(first.ticks) as i64;
    let stamps = second.stamp.wrapping_sub(first.stamp) as i64;
    ticks as f64 * scale - stamps as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stamps 900 us ahead of the events' clock, told of 30 us to 5 ms later; the events' clock has ticks of half a
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

    /// What the drift of four seconds makes uncertain, nanoseconds.
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
