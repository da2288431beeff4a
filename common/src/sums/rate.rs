//! Transfer rate and latency of a pair of ranks: the sustained rate, the typical rate, and the fit if there is one.
//!
//! The sustained rate is bytes over the time with at least one transfer under way. It is always there, and depends on
//! what the program sent. A transfer that stalls lowers it for the whole run.
//!
//! The typical rate is one connection's rate if each transfer takes its size's median service time. A few stalls do not
//! change it.
//!
//! The fit is of service times over sizes: the time that one connection of the link needs for a transfer of a size.

use crate::config::Regression;
use crate::sums::fit::LineFit;
use crate::sums::run_sums::PairSum;
use crate::sums::services::Services;
use serde::{Deserialize, Serialize};

/// Least number of different sizes for a fit.
pub const FEWEST_SIZES: usize = 4;
/// Least ratio of the largest size to the smallest size above 0.
pub const LEAST_SPAN: u64 = 8;
/// Least ratio of the slope to its standard error. Pure noise exceeds it in 4 % of fits with four sizes, and in 1 %
/// with seven.
pub const LEAST_ERRORS: f64 = 3.0;

/// A fitted line in units for people.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FittedLine {
    /// Service time of a transfer of no bytes, microseconds; `None` if the line gives less than 0, so that the latency
    /// is lost in its error.
    pub latency_us: Option<f64>,
    /// Standard error of the latency.
    pub latency_error_us: f64,
    /// Bytes per microsecond, which is 10^6 bytes per second.
    pub rate_mb_s: f64,
    /// Standard error of the rate.
    pub rate_error_mb_s: f64,
    /// Coefficient of determination.
    pub r2: f64,
    /// Number of points, one for each size.
    pub n: u64,
}

impl FittedLine {
    /// Fits a line through the service times. `None` if they do not determine a link's rate.
    pub fn of(services: &Services, regression: Regression, nanoseconds_per_tick: f64) -> Option<Self> {
        Self::through(&services.points(regression), nanoseconds_per_tick)
    }

    fn through(points: &[(u64, f64)], nanoseconds_per_tick: f64) -> Option<Self> {
        let sizes: Vec<u64> = points.iter().map(|&(size, _)| size).collect();
        Self::of_line(LineFit::through(points)?, &sizes, nanoseconds_per_tick)
    }

    /// Returns a line in units for people. `sizes` are those of its points, in ascending order; some may be equal.
    /// `None` if they do not determine a link's rate.
    pub(crate) fn of_line(line: LineFit, sizes: &[u64], nanoseconds_per_tick: f64) -> Option<Self> {
        let smallest = *sizes.iter().find(|&&size| size > 0)?;
        let largest = *sizes.last()?;
        let different = sizes.chunk_by(|one, other| one == other).count();
        if different < FEWEST_SIZES || largest / LEAST_SPAN < smallest {
            return None;
        }
        let has_slope = line.slope > 0.0 && line.slope >= LEAST_ERRORS * line.slope_error;
        // no transfer ends before it begins: a line that certainly has a negative latency does not fit these times
        let is_possible = line.intercept >= -LEAST_ERRORS * line.intercept_error;
        if !(has_slope && is_possible) {
            return None;
        }
        let microseconds = nanoseconds_per_tick / 1e3;
        let rate_mb_s = 1.0 / (line.slope * microseconds);
        Some(Self {
            latency_us: (line.intercept >= 0.0).then_some(line.intercept * microseconds),
            latency_error_us: line.intercept_error * microseconds,
            rate_mb_s,
            rate_error_mb_s: rate_mb_s * (line.slope_error / line.slope),
            r2: line.r2,
            n: line.n,
        })
    }
}

/// Rate and latency of a pair of ranks, and the figures they rest on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Number of different sizes.
    pub sizes: u64,
    /// Time with at least one transfer under way, microseconds.
    pub active_us: f64,
    /// Bytes over `active_us`.
    pub sustained_mb_s: Option<f64>,
    /// Bytes over the time of one connection if each transfer took its size's median service time.
    pub typical_mb_s: Option<f64>,
    /// Standard error of `typical_mb_s`.
    pub typical_error_mb_s: Option<f64>,
    /// Mean and largest number of a connection's transfers under way when a transfer started, itself included.
    pub in_flight: Option<(f64, u64)>,
    /// The fit, if there is one.
    pub fit: Option<FittedLine>,
}

impl Rate {
    /// Works out the rate of all transfers of a pair.
    pub fn of(pair: &PairSum, regression: Regression, nanoseconds_per_tick: f64) -> Self {
        let active_us = pair.active.total() as f64 * nanoseconds_per_tick / 1e3;
        let points = pair.services.points(regression);
        let typical = pair.services.typical();
        let typical_mb_s = typical.map(|it| it.bytes / (it.ticks * nanoseconds_per_tick / 1e3));
        Self {
            sizes: points.len() as u64,
            active_us,
            sustained_mb_s: (active_us > 0.0).then(|| pair.bytes as f64 / active_us),
            typical_mb_s,
            typical_error_mb_s: typical.zip(typical_mb_s).map(|(it, rate)| rate * it.error / it.ticks),
            in_flight: pair.services.in_flight(),
            fit: FittedLine::through(&points, nanoseconds_per_tick),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::services::Service;

    fn pair(points: &[(u64, u64)]) -> PairSum {
        let mut pair = PairSum::default();
        for (number, &(bytes, ticks)) in (0..).zip(points) {
            pair.bytes += bytes;
            pair.active.add(number * 1_000_000, number * 1_000_000 + ticks);
            pair.services.add(Service { bytes, ticks, in_flight: 1 + number % 2 });
        }
        pair
    }

    #[test]
    fn a_good_fit_stands_beside_the_sustained_rate() {
        // 5 us + 1 ns per 10 bytes, in ticks of half a nanosecond; one transfer was interrupted
        let points =
            [(1000, 10_200), (10_000, 12_000), (100_000, 30_000), (100_000, 30_000), (100_000, 90_000), (2000, 10_400)];
        let rate = Rate::of(&pair(&points), Regression::Median, 0.5);
        let fit = rate.fit.unwrap();
        assert_eq!((rate.sizes, fit.n, rate.in_flight), (4, 4, Some((1.5, 2))));
        for (found, expected) in [
            (fit.rate_mb_s, 10_000.0),
            (fit.latency_us.unwrap(), 5.0),
            (rate.active_us, 91.3),
            (rate.sustained_mb_s.unwrap(), 3428.258),
        ] {
            assert!((found / expected - 1.0).abs() < 1e-6, "{found} instead of {expected}");
        }
        let mean = Rate::of(&pair(&points), Regression::Avg, 0.5).fit.unwrap();
        assert!(mean.rate_mb_s < 7000.0 && mean.rate_error_mb_s > 1.0 && mean.latency_error_us > 0.0, "{mean:?}");
    }

    #[test]
    fn what_says_little_of_a_link_gives_no_fit() {
        let of = |sizes: &[u64], time: fn(u64) -> u64| {
            pair(&sizes.iter().map(|&size| (size, time(size))).collect::<Vec<_>>())
        };
        let line = |size| 5000 + size;
        let found = |pair: &PairSum| {
            [Regression::Median, Regression::Min, Regression::Avg].map(|by| Rate::of(pair, by, 1.0).fit.is_some())
        };
        assert_eq!(found(&of(&[0, 100, 200, 800], line)), [true; 3]);
        // three sizes, a span below 8, the same above 0, falling times, equal times, and times that differ for other
        // reasons
        for pair in [
            of(&[100, 200, 800], line),
            of(&[100, 200, 400, 799], line),
            of(&[0, 200, 400, 1599], line),
            of(&[100, 200, 400, 800], |size| 5000 - size),
            of(&[100, 200, 400, 800], |_| 5000),
            of(&[100, 200, 400, 800], |size| if size % 300 == 100 { 5000 } else { 9000 + size }),
        ] {
            assert_eq!(found(&pair), [false; 3], "{pair:?}");
            assert!(Rate::of(&pair, Regression::Median, 1.0).sustained_mb_s.is_some());
        }
    }

    #[test]
    fn no_latency_is_below_0() {
        let fit = |points: &[(u64, u64)]| Rate::of(&pair(points), Regression::Median, 1.0).fit;
        // off by some percent: the fitted line starts below 0, within its error
        let scattered = [(1000, 970), (2000, 2060), (4000, 3900), (8000, 8300), (16_000, 16_000)];
        let found = fit(&scattered).unwrap();
        assert!(found.latency_us.is_none() && found.latency_error_us > 0.0 && found.rate_mb_s > 900.0, "{found:?}");
        // a straight line that begins at -500 ns
        assert_eq!(fit(&[1000, 2000, 4000, 8000, 16_000].map(|size| (size, size - 500))), None);
    }

    /// 16 of 1,536 transfers, of two sizes, stall for 100 ms.
    #[test]
    fn few_stalls_do_not_change_the_typical_rate() {
        let stalls = |number| if number < 16 { 100_000_000 } else { 0 };
        let sizes = [1 << 16, 1 << 20];
        let transfers: Vec<_> = (0..1536).map(|number| sizes[number % 2]).collect();
        let mut stalled = PairSum::default();
        let mut time = 0;
        for (number, bytes) in transfers.into_iter().enumerate() {
            let ticks = 10_000 + bytes / 4 + stalls(number);
            stalled.bytes += bytes;
            stalled.active.add(time, time + ticks);
            stalled.services.add(Service { bytes, ticks, in_flight: 1 });
            time += ticks;
        }
        let rate = Rate::of(&stalled, Regression::Median, 1.0);
        let exact = sizes.map(|size| size as f64).iter().sum::<f64>()
            / sizes.map(|size| 10.0 + size as f64 / 4e3).iter().sum::<f64>();
        assert!((rate.typical_mb_s.unwrap() / exact - 1.0).abs() < 1e-9, "{rate:?} instead of {exact}");
        assert!(rate.sustained_mb_s.unwrap() < 0.2 * exact, "{rate:?}");
    }

    #[test]
    fn noise_seldom_gives_a_fit() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut noise = |sizes: u64| {
            let points = (0..sizes).map(|power| (4 << (2 * power), random.u64(5000..50_000))).collect::<Vec<_>>();
            Rate::of(&pair(&points), Regression::Median, 1.0).fit.is_some()
        };
        for (sizes, most) in [(4, 60), (7, 20)] {
            let found = (0..1000).filter(|_| noise(sizes)).count();
            assert!(found < most, "{found} of 1000 with {sizes} sizes");
        }
    }

    #[test]
    fn nothing_gives_nothing() {
        let rate = Rate::of(&PairSum::default(), Regression::Min, 1.0);
        assert_eq!((rate.sustained_mb_s, rate.typical_mb_s, rate.in_flight, rate.fit), (None, None, None, None));
    }
}
