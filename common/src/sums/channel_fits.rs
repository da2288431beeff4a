//! Whether the channels of a pair have one line, and the line of all of them together.
//!
//! Each channel is a connection with service times of its own. A channel's points are sizes and their times, as in the
//! pair's fit. The hypothesis is that all channels have the same latency and the same rate. Chow's test (Econometrica
//! 28, 591, 1960) compares the residuals of one line through all points with those of a line for each channel. With k
//! channels, n points, and sums of squares of relative residuals R of one line and S of all lines:
//!
//! ```text
//! F = ((R - S) / (2k - 2)) / (S / (n - 2k))     F(2k - 2, n - 2k) if the channels are alike
//! ```
//!
//! R needs no second look at the points: the sums of both lines are sums over points, and those of all channels add up.
//!
//! NCCL moves small operations over few channels, and service times over all sizes are not one line. So only sizes that
//! all compared channels have are compared. The test assumes that times are linear in these sizes, that the channels
//! had the same load when they moved them, and that relative residuals are independent and normal.

use crate::config::Regression;
use crate::sums::fit::LineFit;
use crate::sums::rate::FittedLine;
use crate::sums::services::Services;
use crate::sums::significance::{chance_of_f, largest_chance};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Fewest sizes that are compared, which are a channel's points: a line through two has no residual.
const FEWEST_POINTS: u64 = 3;
/// Channels of a single pair differ if lines as different as theirs have a smaller chance than this among channels that
/// are alike. Of many pairs, the largest mean share of those with alike channels among those that are named.
pub const LEAST_CHANCE: f64 = 0.001;
/// Sum of squares of relative residuals of a point that is rounding.
const ROUNDING: f64 = 1e-9;

/// The comparison of the channels of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelFits {
    /// Whether the channels are taken as alike, of this pair alone.
    pub alike: bool,
    /// Chance of lines that differ at least as much, if the channels are alike.
    pub chance: f64,
    /// Number of channels that are compared.
    pub compared: u64,
    /// Number of channels that are not: they lack a size that the others have, or their points determine no line.
    pub left_out: u64,
    /// Number of sizes that are compared. All compared channels have them.
    pub sizes: u64,
    /// The line through the points that are compared, one for each size of each channel; `None` if the channels differ,
    /// or if the points determine no rate.
    pub merged: Option<FittedLine>,
    /// Bytes of all transfers of all channels over the sum of their service times, MB/s: the average over all transfers,
    /// stalls included; `None` if the channels differ.
    pub mean_rate_mb_s: Option<f64>,
    /// Each channel that is compared, if they differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<ChannelFit>,
}

/// A channel at the sizes that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChannelFit {
    /// Channel id.
    pub channel: u8,
    /// Bytes of one transfer of each size over their times, MB/s.
    pub rate_mb_s: f64,
    /// The line through these points; `None` if they determine no rate.
    pub fit: Option<FittedLine>,
}

/// Sizes and times of a channel, in ascending order of sizes.
type Points = Vec<(u64, f64)>;

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
    /// Compares the channels of a pair. `None` if fewer than two channels can be compared.
    pub(crate) fn of<'a>(
        channels: impl Iterator<Item = (u8, &'a Services)>,
        regression: Regression,
        nanoseconds_per_tick: f64,
    ) -> Option<Self> {
        let channels: Vec<(u8, &Services)> = channels.collect();
        if channels.len() < 2 {
            return None;
        }
        let points = channels.iter().map(|(channel, services)| (*channel, services.points(regression))).collect();
        let points = at_common_sizes(points);
        let lines: Vec<(u8, Points, LineSums, f64)> = points
            .into_iter()
            .filter_map(|(channel, points)| {
                let sums = LineSums::of(&points);
                sums.line().map(|(_, residual)| (channel, points, sums, residual))
            })
            .collect();
        if lines.len() < 2 {
            return None;
        }
        let apart: f64 = lines.iter().map(|(.., residual)| residual).sum();
        let all = lines.iter().fold(LineSums::default(), |all, (_, _, sums, _)| all.plus(sums));
        let (line, together) = all.line()?;
        let chance = chance(together, apart, lines.len() as u64, all.n)?;
        let alike = chance >= LEAST_CHANCE;
        let sizes: Vec<u64> = lines.first()?.1.iter().map(|&(size, _)| size).collect();
        let fitted = |line: LineFit| FittedLine::of_line(line, &sizes, nanoseconds_per_tick);
        let per_tick = 1e3 / nanoseconds_per_tick;
        let of_one = |&(channel, ref points, sums, _): &(u8, Points, LineSums, f64)| {
            let (bytes, ticks) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 as f64, sum.1 + point.1));
            let fit = sums.line().and_then(|(line, _)| fitted(line));
            ChannelFit { channel, rate_mb_s: bytes / ticks * per_tick, fit }
        };
        let mut of_all = Services::default();
        if alike {
            channels.iter().for_each(|(_, services)| of_all.merge(services));
        }
        Some(Self {
            alike,
            chance,
            compared: lines.len() as u64,
            left_out: (channels.len() - lines.len()) as u64,
            sizes: sizes.len() as u64,
            merged: Some(line).filter(|_| alike).and_then(fitted),
            mean_rate_mb_s: of_all.mean_rate().map(|rate| rate * per_tick),
            apart: if alike { Vec::new() } else { lines.iter().map(of_one).collect() },
        })
    }
}

/// Returns the largest chance of the pairs whose channels differ, among all pairs that were compared, if there are any.
pub fn largest_of_unlike<'a>(pairs: impl Iterator<Item = &'a ChannelFits>) -> Option<f64> {
    largest_chance(pairs.map(|fits| fits.chance), LEAST_CHANCE)
}

/// Returns the channels that are compared, with their points at the sizes that all of these have; none if fewer than
/// two channels have [`FEWEST_POINTS`] sizes in common. The sizes are those that at least so many channels have, and the
/// channels those that have all of these sizes: of all such numbers, the one with most channels, and of equals the one
/// with most sizes. Times have no part in the choice.
fn at_common_sizes(channels: Vec<(u8, Points)>) -> Vec<(u8, Points)> {
    let mut having: FxHashMap<u64, usize> = FxHashMap::default();
    channels.iter().flat_map(|(_, points)| points).for_each(|(size, _)| *having.entry(*size).or_default() += 1);
    let has = |size: u64, least: usize| having.get(&size).is_some_and(|&number| number >= least);
    let choice = |least: usize| {
        let sizes = having.values().filter(|&&number| number >= least).count();
        let has_all = |points: &Points| points.iter().filter(|(size, _)| has(*size, least)).count() == sizes;
        let compared = channels.iter().filter(|(_, points)| has_all(points)).count();
        let has_enough = compared >= 2 && sizes as u64 >= FEWEST_POINTS;
        has_enough.then_some((compared, sizes, least))
    };
    let numbers: BTreeSet<usize> = having.values().copied().filter(|&number| number >= 2).collect();
    let Some((_, sizes, least)) = numbers.into_iter().filter_map(choice).max() else { return Vec::new() };
    let all = channels.into_iter().map(|(channel, mut points)| {
        points.retain(|(size, _)| has(*size, least));
        (channel, points)
    });
    all.filter(|(_, points)| points.len() == sizes).collect()
}

/// Returns the chance of an F at least as large. `None` without degrees of freedom.
fn chance(together: f64, apart: f64, channels: u64, points: u64) -> Option<f64> {
    let over = 2 * (channels - 1);
    let left = points.checked_sub(2 * channels).filter(|&left| left > 0)?;
    let apart = apart.max(ROUNDING * points as f64);
    chance_of_f(((together - apart).max(0.0) / over as f64) / (apart / left as f64), over, left)
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
    /// NCCL moves small operations over few channels, and the time of a byte is not the same at all sizes.
    #[test]
    fn only_sizes_that_all_have_are_compared() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut with = |powers: std::ops::Range<u32>| {
            let mut services = Services::default();
            for bytes in powers.map(|power| 1000_u64 << power) {
                let time = (if bytes < 16_000 { 3e4 } else { 5e3 + bytes as f64 / 10.0 }) * (0.95 + 0.1 * random.f64());
                services.add(Service { bytes, ticks: time as u64, in_flight: 1 });
            }
            services
        };
        let all = [with(0..10), with(0..10), with(4..10), with(4..10)];
        let found = compared(&all).unwrap();
        assert_eq!((found.alike, found.compared, found.left_out, found.sizes), (true, 4, 0, 6), "{found:?}");
        // a poor channel hides none of the others
        let [a, b, ..] = all;
        let found = compared(&[with(0..2), a.clone(), with(7..10), b.clone(), Services::default()]).unwrap();
        assert_eq!((found.compared, found.left_out, found.sizes), (2, 3, 10), "{found:?}");
        assert_eq!(compared(&[with(0..5), with(3..8)]), None, "two sizes in common");
        assert!(compared(&[with(0..6), with(3..9)]).is_some_and(|found| found.merged.is_none() && found.sizes == 3));
    }

    #[test]
    fn the_chance_of_many_points_is_a_number() {
        for together in [1e3, 1e9, f64::MAX] {
            assert!(chance(together, 1e-3, 128, 32_000).is_some_and(|chance| chance < 1e-9));
        }
        assert_eq!((chance(1.0, 1.0, 2, 4), chance(0.0, 0.0, 2, 9)), (None, Some(1.0)));
    }
}
