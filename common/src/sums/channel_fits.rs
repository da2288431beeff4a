//! Whether the channels of a pair have one line, and the line of all of them together.
//!
//! Each channel is a connection with service times of its own. A channel's points are its sizes and their times, as in
//! the pair's fit. The hypothesis is that all channels have the same latency and the same rate. Chow's
//! test (Econometrica 28, 591, 1960) compares the residuals of one line through all points with those of a line for
//! each channel. With k channels, n points, and sums of squares of relative residuals R of one line and S of all lines:
//!
//! ```text
//! F = ((R - S) / (2k - 2)) / (S / (n - 2k))     F(2k - 2, n - 2k) if the channels are alike
//! ```
//!
//! R needs no second look at the points: the sums of both lines are sums over points, and those of all channels add up.
//! The residuals contain what the sizes' times scatter by, so contention and disturbances weaken the test, and do not
//! make channels differ.

use crate::config::Regression;
use crate::sums::fit::LineFit;
use crate::sums::rate::FittedLine;
use crate::sums::services::Services;
use serde::{Deserialize, Serialize};

/// Fewest points of a channel: a line through two has no residual.
const FEWEST_POINTS: u64 = 3;
/// Channels differ if lines as different as theirs have a smaller chance than this among channels that are alike.
pub const LEAST_CHANCE: f64 = 0.001;
/// Sum of squares of relative residuals of a point that is rounding.
const ROUNDING: f64 = 1e-9;

/// The comparison of the channels of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelFits {
    /// Whether the channels are taken as alike.
    pub alike: bool,
    /// Chance of lines that differ at least as much, if the channels are alike.
    pub chance: f64,
    /// The line through the points of all channels, a point for each size of each channel; `None` if the channels
    /// differ, or if the points determine no line.
    pub merged: Option<FittedLine>,
    /// Bytes of all transfers of all channels over the sum of their service times, MB/s: the average over all transfers,
    /// stalls included; `None` if the channels differ.
    pub mean_rate_mb_s: Option<f64>,
    /// The line of each channel, if they differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<ChannelFit>,
}

/// The line of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChannelFit {
    /// Channel id.
    pub channel: u8,
    /// Its fit; `None` if its points determine no line.
    pub fit: Option<FittedLine>,
}

/// Sums over points (x, y) = (size, time) with the weight w = 1/y².
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct LineSums {
    n: u64,
    w: f64,
    wx: f64,
    wy: f64,
    wxx: f64,
    wxy: f64,
    wyy: f64,
}

impl LineSums {
    fn of(points: &[(u64, f64)]) -> Self {
        points.iter().fold(Self::default(), |sums, &(size, time)| {
            let (x, y) = (size as f64, time.max(1.0));
            let w = y.powi(-2);
            sums.plus(&Self { n: 1, w, wx: w * x, wy: w * y, wxx: w * x * x, wxy: w * x * y, wyy: w * y * y })
        })
    }

    /// Returns the sums over both sets of points.
    fn plus(&self, other: &Self) -> Self {
        Self {
            n: self.n + other.n,
            w: self.w + other.w,
            wx: self.wx + other.wx,
            wy: self.wy + other.wy,
            wxx: self.wxx + other.wxx,
            wxy: self.wxy + other.wxy,
            wyy: self.wyy + other.wyy,
        }
    }

    /// Returns the line, and the sum of the squares of its relative residuals. `None` if all sizes are equal.
    fn line(&self) -> Option<(LineFit, f64)> {
        let (mx, my) = (self.wx / self.w, self.wy / self.w);
        let [sxx, sxy, syy] = [self.wxx - mx * self.wx, self.wxy - mx * self.wy, self.wyy - my * self.wy];
        if self.n < FEWEST_POINTS || sxx <= ROUNDING * self.wxx || syy <= ROUNDING * self.wyy {
            return None;
        }
        let slope = sxy / sxx;
        let residual = (syy - slope * sxy).max(0.0);
        let variance = residual / (self.n - 2) as f64;
        let line = LineFit {
            intercept: my - slope * mx,
            intercept_error: (variance * (1.0 / self.w + mx * mx / sxx)).sqrt(),
            slope,
            slope_error: (variance / sxx).sqrt(),
            r2: (sxy / sxx * (sxy / syy)).clamp(0.0, 1.0),
            n: self.n,
        };
        Some((line, residual))
    }
}

impl ChannelFits {
    /// Compares the channels of a pair. `None` with fewer than two channels, and if a channel's points have no residual:
    /// fewer than three sizes, or equal times.
    pub(crate) fn of<'a>(
        channels: impl Iterator<Item = (u8, &'a Services)>,
        regression: Regression,
        nanoseconds_per_tick: f64,
    ) -> Option<Self> {
        let channels: Vec<(u8, &Services)> = channels.collect();
        if channels.len() < 2 {
            return None;
        }
        let points: Vec<Vec<(u64, f64)>> = channels.iter().map(|(_, services)| services.points(regression)).collect();
        let sums: Vec<LineSums> = points.iter().map(|points| LineSums::of(points)).collect();
        let mut apart = 0.0;
        for of_one in &sums {
            apart += of_one.line()?.1;
        }
        let all = sums.iter().fold(LineSums::default(), |all, one| all.plus(one));
        let (line, together) = all.line()?;
        let chance = chance(together, apart, channels.len() as u64, all.n)?;
        let alike = chance >= LEAST_CHANCE;
        let mut of_all = Services::default();
        let mut merged_points: Vec<u64> = points.iter().flatten().map(|&(size, _)| size).collect();
        merged_points.sort_unstable();
        if alike {
            channels.iter().for_each(|(_, services)| of_all.merge(services));
        }
        Some(Self {
            alike,
            chance,
            merged: Some(line)
                .filter(|_| alike)
                .and_then(|it| FittedLine::of_line(it, &merged_points, nanoseconds_per_tick)),
            mean_rate_mb_s: of_all.mean_rate().map(|per_tick| per_tick * 1e3 / nanoseconds_per_tick),
            apart: if alike {
                Vec::new()
            } else {
                let fit = |services: &Services| FittedLine::of(services, regression, nanoseconds_per_tick);
                channels.iter().map(|&(channel, services)| ChannelFit { channel, fit: fit(services) }).collect()
            },
        })
    }
}

/// Returns the chance of an F at least as large. `None` without degrees of freedom.
fn chance(together: f64, apart: f64, channels: u64, points: u64) -> Option<f64> {
    let terms = channels - 1;
    let left = points.checked_sub(2 * channels).filter(|&left| left > 0)? as f64;
    let apart = apart.max(ROUNDING * points as f64);
    let f = ((together - apart).max(0.0) / (2 * terms) as f64) / (apart / left);
    // the numerator's degrees of freedom are even, so the incomplete beta function is a finite sum
    let (half, x) = (left / 2.0, left / (left + (2 * terms) as f64 * f));
    let mut term = 1.0;
    let mut sum = 0.0;
    for i in 0..terms {
        sum += term;
        term *= (half + i as f64) / (i + 1) as f64 * (1.0 - x);
    }
    Some((x.powf(half) * sum).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::services::Service;

    /// A channel with this latency (ns) and rate (bytes per ns), whose times scatter evenly by 10 % to each side.
    fn channel(random: &mut fastrand::Rng, latency: f64, rate: f64) -> Services {
        let mut services = Services::default();
        for size in (0..9).map(|power| 1000_u64 << power) {
            let time = (latency + size as f64 / rate) * (0.9 + 0.2 * random.f64());
            (0..5).for_each(|_| services.add(Service { bytes: size, ticks: time as u64, in_flight: 1 }));
        }
        services
    }

    fn compared(channels: &[Services]) -> Option<ChannelFits> {
        ChannelFits::of((0..).zip(channels), Regression::Median, 1.0)
    }

    #[test]
    fn channels_that_are_alike_seldom_differ_and_others_do() {
        let mut random = fastrand::Rng::with_seed(1);
        for count in [2, 4] {
            let mut differ = 0;
            for _ in 0..1000 {
                let alike: Vec<Services> = (0..count).map(|_| channel(&mut random, 5e3, 10.0)).collect();
                let found = compared(&alike).unwrap();
                differ += u32::from(!found.alike);
                if found.alike {
                    let merged = found.merged.unwrap();
                    assert_eq!((merged.n, found.apart.len()), (9 * count, 0));
                    assert!((merged.rate_mb_s / 1e4 - 1.0).abs() < 0.2, "{merged:?}");
                }
            }
            assert!(differ < 10, "{differ} of 1000");
            let mut unlike: Vec<Services> = (1..count).map(|_| channel(&mut random, 5e3, 10.0)).collect();
            unlike.push(channel(&mut random, 5e3, 5.0));
            let found = compared(&unlike).unwrap();
            assert!(!found.alike && found.merged.is_none() && found.mean_rate_mb_s.is_none(), "{found:?}");
            let rate = found.apart[count as usize - 1].fit.unwrap().rate_mb_s;
            assert!((rate / 5e3 - 1.0).abs() < 0.15, "{found:?}");
        }
    }

    #[test]
    fn the_chance_is_that_of_tables() {
        // the upper 5 % and 0.1 % points of F(2, 10), F(4, 20) and F(6, 30)
        for (f, k, left, expected) in [
            (4.103, 2, 10, 0.05),
            (14.905, 2, 10, 0.001),
            (2.866, 3, 20, 0.05),
            (7.096, 3, 20, 0.001),
            (2.421, 4, 30, 0.05),
        ] {
            let points = left + 2 * k;
            let found = chance(1.0 + f * (2 * k - 2) as f64 / left as f64, 1.0, k, points).unwrap();
            assert!((found / expected - 1.0).abs() < 0.01, "{found} instead of {expected}");
        }
        assert_eq!(chance(1.0, 1.0, 2, 4), None);
        assert_eq!(chance(0.0, 0.0, 2, 9), Some(1.0));
    }

    #[test]
    fn sums_of_channels_add_up_to_the_line_of_all_points() {
        let mut random = fastrand::Rng::with_seed(7);
        let points: Vec<(u64, f64)> =
            (0..40).map(|i| (i * 977, 4e3 + 977.0 * i as f64 * (0.9 + 0.2 * random.f64()))).collect();
        let (one, other) = points.split_at(13);
        let (line, _) = LineSums::of(one).plus(&LineSums::of(other)).line().unwrap();
        let plain = LineFit::through(&points).unwrap();
        for (found, expected) in [
            (line.slope, plain.slope),
            (line.intercept, plain.intercept),
            (line.slope_error, plain.slope_error),
            (line.intercept_error, plain.intercept_error),
            (line.r2, plain.r2),
        ] {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} instead of {expected}");
        }
    }

    #[test]
    fn exact_lines_are_alike_only_if_they_are_one() {
        let exact = |latency: u64, per_byte: u64| {
            let mut services = Services::default();
            for bytes in (0..6).map(|power| 1000_u64 << power) {
                services.add(Service { bytes, ticks: latency + per_byte * bytes, in_flight: 1 });
            }
            services
        };
        assert!(compared(&[exact(5000, 2), exact(5000, 2)]).is_some_and(|found| found.alike && found.merged.is_some()));
        assert!(compared(&[exact(5000, 2), exact(5000, 3)]).is_some_and(|found| !found.alike));
        assert!(compared(&[exact(5000, 2), exact(9000, 2)]).is_some_and(|found| !found.alike));
        assert_eq!(compared(&[exact(5000, 2)]), None);
        assert_eq!(compared(&[exact(5000, 2), Services::default()]), None);
    }
}
