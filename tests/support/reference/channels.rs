//! Whether the channels of a pair have one line, in the plainest way: residuals point by point, and the chance by
//! adding up the density of F.

use super::fit::{Fit, fit};
use super::transfers::{Regression, Transfer, points, services};
use std::collections::{BTreeMap, BTreeSet};

/// The comparison of a pair's channels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChannelsCompared {
    pub(crate) chance: f64,
    /// Numbers of channels that are compared and that are not, and of sizes.
    pub(crate) channels: usize,
    pub(crate) left_out: usize,
    pub(crate) sizes: usize,
    /// The line through all compared points, if it is published.
    pub(crate) together: Option<Fit>,
    /// Bytes per microsecond over all transfers.
    pub(crate) mean_rate_mb_s: f64,
}

/// Compares the channels of a pair at sizes that all compared channels have, if there are two with three such sizes.
pub(crate) fn compared(transfers: &[Transfer], regression: Regression) -> Option<ChannelsCompared> {
    let mut channels: BTreeMap<i64, Vec<Transfer>> = BTreeMap::new();
    transfers.iter().for_each(|it| channels.entry(it.channel).or_default().push(it.clone()));
    let all_points: Vec<Vec<(i64, f64)>> =
        channels.values().map(|transfers| points(&services(transfers), regression)).collect();
    let mut of_channels = at_common_sizes(&all_points);
    of_channels.retain(|points| points.iter().any(|point| point.1 != points[0].1));
    if of_channels.len() < 2 {
        return None;
    }
    let all: Vec<(i64, f64)> = of_channels.concat();
    let apart: f64 = of_channels.iter().map(|points| residuals(points, line(points))).sum();
    let over = 2.0 * (of_channels.len() - 1) as f64;
    let left = all.len() as f64 - 2.0 * of_channels.len() as f64;
    // smaller residuals are rounding
    let apart = apart.max(1e-9 * all.len() as f64);
    let f = ((residuals(&all, line(&all)) - apart) / over / (apart / left)).max(0.0);
    let services = services(transfers);
    let time: i64 = services.iter().map(|service| service.time).sum();
    let bytes: i64 = services.iter().map(|service| service.bytes).sum();
    let sizes = of_channels[0].len();
    Some(ChannelsCompared {
        chance: beyond(f, over, left),
        channels: of_channels.len(),
        left_out: all_points.len() - of_channels.len(),
        sizes,
        together: fit(&all).filter(|_| sizes >= 4),
        mean_rate_mb_s: bytes as f64 / (time as f64 / 1000.0),
    })
}

/// The sizes of a channel and their times.
type ChannelPoints = Vec<(i64, f64)>;

/// Of all sets of sizes that at least so many channels have, returns the points of the channels with the whole set for
/// the set with most channels, and of equals the one with most sizes.
fn at_common_sizes(channels: &[ChannelPoints]) -> Vec<ChannelPoints> {
    let mut best: ((usize, usize), Vec<ChannelPoints>) = ((0, 0), Vec::new());
    for least in 2..=channels.len() {
        let has = |points: &[(i64, f64)], size: i64| points.iter().any(|point| point.0 == size);
        let sizes: BTreeSet<i64> = channels.iter().flatten().map(|point| point.0).collect();
        let is_common = |size: &i64| channels.iter().filter(|points| has(points, *size)).count() >= least;
        let sizes: BTreeSet<i64> = sizes.into_iter().filter(is_common).collect();
        let whole = channels.iter().filter(|points| sizes.iter().all(|&size| has(points, size)));
        let found: Vec<Vec<(i64, f64)>> =
            whole.map(|points| points.iter().filter(|point| sizes.contains(&point.0)).copied().collect()).collect();
        let numbers = (found.len(), sizes.len());
        if numbers.0 >= 2 && numbers.1 >= 3 && numbers > best.0 {
            best = (numbers, found);
        }
    }
    best.1
}

/// Returns latency and time per byte of least relative residuals.
fn line(points: &[(i64, f64)]) -> (f64, f64) {
    let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|&(bytes, time)| term(1.0 / time.max(1.0), bytes as f64 / time.max(1.0))).sum()
    };
    let (u, v, uu, uv, vv) =
        (sum(&|u, _| u), sum(&|_, v| v), sum(&|u, _| u * u), sum(&|u, v| u * v), sum(&|_, v| v * v));
    let determinant = uu * vv - uv * uv;
    ((u * vv - v * uv) / determinant, (v * uu - u * uv) / determinant)
}

fn residuals(points: &[(i64, f64)], (latency, slope): (f64, f64)) -> f64 {
    let off = |&(bytes, time): &(i64, f64)| (time.max(1.0) - latency - slope * bytes as f64) / time.max(1.0);
    points.iter().map(|point| off(point).powi(2)).sum()
}

/// Returns the share of F's density beyond a value, by the midpoint rule over t = 1 / (1 + over f / left).
fn beyond(f: f64, over: f64, left: f64) -> f64 {
    let density = |t: f64| t.powf(left / 2.0 - 1.0) * (1.0 - t).powf(over / 2.0 - 1.0);
    let area =
        |until: f64| (0..200_000).map(|step| density((f64::from(step) + 0.5) / 2e5 * until)).sum::<f64>() * until;
    area(1.0 / (1.0 + over * f / left)) / area(1.0)
}
