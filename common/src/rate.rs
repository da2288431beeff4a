//! Transfer rate and latency of a pair of ranks: what is published, and when.
//!
//! Time over size is a line only where sizes have a spread and the line explains the times. Otherwise the rate is bytes over the
//! time that at least one transfer was under way, and there is no latency.

use crate::config::Regression;
use crate::fastest::Fastest;
use crate::fit::{Fit, Line};
use crate::totals::PairSum;
use serde::{Deserialize, Serialize};

/// Sizes that a published fit needs.
pub const FEWEST_SIZES: u64 = 3;
/// R² that a published fit needs.
pub const LEAST_R2: f64 = 0.8;

/// A fitted line in a person's units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FittedLine {
    /// Time of a transfer of no bytes, microseconds.
    pub latency_us: f64,
    /// Bytes per microsecond, which is 10^6 bytes per second; `None` for a line without slope.
    pub rate_mb_s: Option<f64>,
    /// Coefficient of determination; `None` where all times are equal.
    pub r2: Option<f64>,
    /// Points.
    pub n: u64,
}

impl FittedLine {
    /// From a line in bytes and ticks.
    pub fn new(line: Line, nanoseconds_per_tick: f64) -> Self {
        let microseconds = nanoseconds_per_tick / 1e3;
        Self {
            latency_us: line.intercept * microseconds,
            rate_mb_s: (line.slope != 0.0).then(|| 1.0 / (line.slope * microseconds)),
            r2: line.r2,
            n: line.n,
        }
    }

    /// Whether it is published, through so many sizes.
    fn is_good(&self, sizes: u64) -> bool {
        sizes >= FEWEST_SIZES && self.r2.is_some_and(|r2| r2 >= LEAST_R2) && self.rate_mb_s.is_some_and(|rate| rate > 0.0)
    }
}

/// What a regression goes through: all transfers, and the fastest of each size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Points {
    /// All.
    pub all: Fit,
    /// The fastest of each size.
    pub fastest: Fastest,
}

impl Points {
    /// Takes a transfer in.
    pub fn add(&mut self, bytes: u64, ticks: u64) {
        self.all.add(bytes, ticks);
        self.fastest.add(bytes, ticks);
    }

    /// Takes in all of another.
    pub fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all);
        self.fastest.merge(&other.fastest);
    }

    /// The latency, where the line through them is good enough to be published.
    pub fn latency_us(&self, regression: Regression, nanoseconds_per_tick: f64) -> Option<f64> {
        let line = match regression {
            Regression::Min => self.fastest.fit().line(),
            Regression::Avg => self.all.line(),
        };
        let line = FittedLine::new(line?, nanoseconds_per_tick);
        line.is_good(self.fastest.sizes()).then_some(line.latency_us)
    }
}

/// Rate and latency of a pair, and what they rest on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Different sizes.
    pub sizes: u64,
    /// Time with at least one transfer under way, microseconds.
    pub active_us: f64,
    /// Bytes over that time.
    pub active_rate_mb_s: Option<f64>,
    /// Fit over all transfers.
    pub avg: Option<FittedLine>,
    /// Fit over the fastest of each size.
    pub min: Option<FittedLine>,
    /// What is published as the rate.
    pub rate_mb_s: Option<f64>,
    /// What is published as the latency.
    pub latency_us: Option<f64>,
    /// Coefficient of determination of the line that both are of, where they are.
    pub r2: Option<f64>,
}

impl Rate {
    /// Of all transfers of a pair.
    pub fn of(pair: &PairSum, regression: Regression, nanoseconds_per_tick: f64) -> Self {
        let fitted = |line: Line| FittedLine::new(line, nanoseconds_per_tick);
        let avg = pair.all.line().map(fitted);
        let min = pair.fastest.fit().line().map(fitted);
        let sizes = pair.fastest.sizes();
        let active_us = pair.active.total() as f64 * nanoseconds_per_tick / 1e3;
        let active_rate_mb_s = (active_us > 0.0).then(|| pair.bytes as f64 / active_us);
        let chosen = match regression {
            Regression::Min => min,
            Regression::Avg => avg,
        };
        let published = chosen.filter(|line| line.is_good(sizes));
        Self {
            sizes,
            active_us,
            active_rate_mb_s,
            avg,
            min,
            rate_mb_s: published.map_or(active_rate_mb_s, |line| line.rate_mb_s),
            latency_us: published.map(|line| line.latency_us),
            r2: published.and_then(|line| line.r2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::totals::Transfer;

    fn pair(points: &[(u64, u64)]) -> PairSum {
        let mut pair = PairSum::default();
        let mut start = 0;
        for &(bytes, time) in points {
            pair.add(&Transfer { start, stop: start + time, bytes, peer: 0, channel: 0 });
            start += 1_000_000;
        }
        pair
    }

    #[test]
    fn a_good_fit_is_published() {
        // 5 us + 1 ns per 10 bytes, in ticks of half a nanosecond; one transfer queued behind another
        let pair = pair(&[(1000, 10_200), (10_000, 12_000), (100_000, 30_000), (100_000, 90_000)]);
        let rate = Rate::of(&pair, Regression::Min, 0.5);
        assert_eq!((rate.sizes, rate.min.unwrap().n, rate.avg.unwrap().n), (3, 3, 4));
        assert!((rate.rate_mb_s.unwrap() - 10_000.0).abs() < 1e-6);
        assert!((rate.latency_us.unwrap() - 5.0).abs() < 1e-9);
        assert!((rate.active_us - 71.1).abs() < 1e-9);
    }

    #[test]
    fn a_bad_fit_gives_bytes_over_active_time_and_no_latency() {
        for points in [
            &[(131_072, 1000), (131_072, 1200)][..],
            &[(8, 1000), (16, 1200)],
            &[(8, 1000), (16, 100), (32, 5000), (64, 20)],
            &[(8, 3000), (16, 2000), (24, 1000)],
            &[(8, 7), (16, 7), (24, 7)],
        ] {
            let rate = Rate::of(&pair(points), Regression::Min, 1.0);
            assert_eq!(rate.latency_us, None, "{points:?}");
            assert_eq!(rate.rate_mb_s, rate.active_rate_mb_s);
        }
    }

    #[test]
    fn of_points_alone_the_latency_is_the_pairs() {
        for (sizes, latency) in [(&[1000, 10_000, 100_000][..], Some(5.0)), (&[1000, 10_000], None), (&[1000; 9], None)] {
            // in two parts
            let mut parts = [Points::default(), Points::default()];
            sizes.iter().zip([0, 1].iter().cycle()).for_each(|(&size, &part)| parts[part].add(size, 10_000 + size / 5));
            let [mut points, other] = parts;
            points.merge(&other);
            let pair = pair(&sizes.iter().map(|&size| (size, 10_000 + size / 5)).collect::<Vec<_>>());
            for regression in [Regression::Min, Regression::Avg] {
                let found = points.latency_us(regression, 0.5);
                assert_eq!(found, Rate::of(&pair, regression, 0.5).latency_us);
                assert_eq!(found.map(f64::round), latency);
            }
        }
    }

    #[test]
    fn nothing_gives_nothing() {
        let rate = Rate::of(&PairSum::default(), Regression::Min, 1.0);
        assert_eq!((rate.rate_mb_s, rate.latency_us, rate.avg, rate.min), (None, None, None, None));
    }
}
