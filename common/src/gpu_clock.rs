//! The GPU's clock beside the events' clock.
//!
//! A callback tells of a stamp of the GPU some time after the GPU made it: at least no time. So of all pairs (callback's time, stamp)
//! the one with the smallest difference is closest to the truth. Clocks drift, by 50 ppm a millisecond in 20 seconds, so only
//! pairs of the last few seconds are compared.

/// Seconds after which a pair is no longer compared; the best of up to twice as long is used.
const SECONDS: f64 = 2.0;

/// A callback's time in ticks and the stamp it told of, nanoseconds of the GPU's clock.
#[derive(Debug, Clone, Copy)]
struct Pair {
    ticks: u64,
    stamp: u64,
}

/// What is known of one GPU's clock.
#[derive(Debug, Default)]
pub struct GpuClock {
    current: Option<(u64, Pair)>,
    previous: Option<Pair>,
}

impl GpuClock {
    /// A callback at `ticks` told of `stamp`; a tick is worth `scale` nanoseconds.
    pub fn observe(&mut self, ticks: u64, stamp: u64, scale: f64) {
        let pair = Pair { ticks, stamp };
        let length = (SECONDS * 1e9 / scale) as u64;
        match &mut self.current {
            Some((since, best)) if ticks.saturating_sub(*since) < length => {
                if nanoseconds_after(*best, pair, scale) < 0.0 {
                    *best = pair;
                }
            }
            // pairs of long ago say nothing of now
            Some((since, best)) => {
                self.previous = (ticks.saturating_sub(*since) < length.saturating_mul(2)).then_some(*best);
                self.current = Some((ticks, pair));
            }
            None => self.current = Some((ticks, pair)),
        }
    }

    /// By how many nanoseconds a stamp lies before a time of the events' clock, at least; negative when it lies after. `None`
    /// while nothing is known.
    pub fn nanoseconds_before(&self, stamp: u64, ticks: u64, scale: f64) -> Option<f64> {
        let pairs = self.current.map(|(_, pair)| pair).into_iter().chain(self.previous);
        // whichever pair maps the stamp to the earliest time is closest to the truth
        pairs.map(|pair| nanoseconds_after(pair, Pair { ticks, stamp }, scale)).reduce(f64::max)
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

    /// Stamps 900 us ahead of the events' clock, told of 30 us to 5 ms later; the events' clock has ticks of half a nanosecond.
    fn clock(seconds: u64, drift: f64) -> GpuClock {
        let mut clock = GpuClock::default();
        for at in (0..seconds * 1000).map(|millisecond| millisecond * 1_000_000) {
            let late = 30_000 + at % 7_000_000 * 5 / 7;
            let stamp = 1_795_151_200_000_000_000 + at + 900_000 + (at as f64 * drift) as u64;
            clock.observe((at + late) * 2, stamp, 0.5);
        }
        clock
    }

    fn before(clock: &GpuClock, stamp_at: u64, time: u64) -> f64 {
        clock.nanoseconds_before(1_795_151_200_000_000_000 + stamp_at + 900_000, time * 2, 0.5).unwrap()
    }

    #[test]
    fn a_stamp_is_placed_to_within_the_shortest_delay() {
        let clock = clock(3, 0.0);
        assert!((before(&clock, 2_900_000_000, 2_950_000_000) - 50_000_000.0).abs() < 31_000.0);
        assert!((before(&clock, 2_950_000_000, 2_900_000_000) + 50_000_000.0).abs() < 31_000.0);
        assert_eq!(GpuClock::default().nanoseconds_before(1, 1, 1.0), None);
    }

    #[test]
    fn drift_is_followed() {
        let clock = clock(60, 50e-6);
        let drifted = (59_900_000_000.0 * 50e-6) as u64;
        assert!((before(&clock, 59_900_000_000 + drifted, 59_900_000_000)).abs() < 300_000.0);
    }
}
