//! Whether the channels of a pair have one line, in the plainest way: residuals point by point, and the chance by
//! adding up the density of F.

use super::transfers::{Regression, Transfer, points, services};
use std::collections::BTreeMap;

/// The comparison of a pair's channels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChannelsCompared {
    pub(crate) chance: f64,
    /// The line through all channels' points: latency in nanoseconds, rate in MB/s.
    pub(crate) together: (f64, f64),
    /// Bytes per microsecond over all transfers.
    pub(crate) mean_rate_mb_s: f64,
}

/// Compares the channels of a pair, if each has three sizes and there are two.
pub(crate) fn compared(transfers: &[Transfer], regression: Regression) -> Option<ChannelsCompared> {
    let mut channels: BTreeMap<i64, Vec<Transfer>> = BTreeMap::new();
    transfers.iter().for_each(|it| channels.entry(it.channel).or_default().push(it.clone()));
    let of_channels: Vec<Vec<(i64, f64)>> =
        channels.values().map(|transfers| points(&services(transfers), regression)).collect();
    let few = |points: &Vec<(i64, f64)>| points.len() < 3 || points.iter().all(|point| point.1 == points[0].1);
    if channels.len() < 2 || of_channels.iter().any(few) {
        return None;
    }
    let all: Vec<(i64, f64)> = of_channels.concat();
    let apart: f64 = of_channels.iter().map(|points| residuals(points, line(points))).sum();
    let together = line(&all);
    let over = 2.0 * (channels.len() - 1) as f64;
    let left = all.len() as f64 - 2.0 * channels.len() as f64;
    let f = (residuals(&all, together) - apart) / over / (apart / left);
    let services = services(transfers);
    let time: i64 = services.iter().map(|service| service.time).sum();
    let bytes: i64 = services.iter().map(|service| service.bytes).sum();
    Some(ChannelsCompared {
        chance: beyond(f, over, left),
        together: (together.0, 1000.0 / together.1),
        mean_rate_mb_s: bytes as f64 / (time as f64 / 1000.0),
    })
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
