//! How far two clocks are apart over time, by points of which many are off.
//!
//! In each stretch of time, a quantile of the points counts, so that points far off do no harm; the median with a part
//! of 0.5. Between stretches, clocks drift evenly.

/// Most that two clocks drift apart.
const MOST_DRIFT: f64 = 100e-6;

/// Least number of points.
const LEAST: usize = 4;

/// Least number of points of a stretch, where there are several, and most stretches.
const OF_STRETCH: usize = 12;
const MOST_STRETCHES: usize = 16;

/// Median distance from the median, as a part of the standard deviation of a normal distribution.
const MAD: f64 = 1.4826;

/// How far two clocks are apart at a time, ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrendPoint {
    pub(super) time: u64,
    pub(super) apart: f64,
    /// How long the operation took that shows it.
    pub(super) length: f64,
}

/// Straight lines through the stretches.
#[derive(Debug)]
pub(super) struct Trend {
    /// Ascending by time; at least one.
    knots: Vec<(u64, f64)>,
    scatter: f64,
    length: f64,
}

impl Trend {
    /// Draws the lines through the quantile at `part` of the points. `spread` says how far off a point usually is: the
    /// closer, the more it counts. `None` of too few points.
    pub(super) fn of(mut points: Vec<TrendPoint>, spread: impl Fn(&TrendPoint) -> f64, part: f64) -> Option<Self> {
        if points.len() < LEAST {
            return None;
        }
        points.sort_by_key(|point| point.time);
        let weight = |point: &TrendPoint| spread(point).recip();
        let quantile = |points: &[TrendPoint], of: &dyn Fn(&TrendPoint) -> f64, part: f64| {
            weighted(points.iter().map(|point| (of(point), weight(point))).collect(), part)
        };
        let median = quantile(&points, &|point| point.apart, 0.5);
        let distance = quantile(&points, &|point| (point.apart - median).abs(), 0.5);
        // where the points are farther apart than clocks drift meanwhile, the drift does not show
        let [first, last] = [points.first()?.time, points.last()?.time];
        let shows_drift = MOST_DRIFT * (last - first) as f64 > distance;
        let stretches = if shows_drift { (points.len() / OF_STRETCH).clamp(2, MOST_STRETCHES) } else { 1 };
        let stretch = points.len().div_ceil(stretches);
        let of_stretch = |points: &[TrendPoint]| {
            let middle = points[points.len() / 2].time;
            let since = |point: &TrendPoint| (i128::from(point.time) - i128::from(middle)) as f64;
            (middle.saturating_add_signed(quantile(points, &since, 0.5) as i64), quantile(points, &|it| it.apart, 0.5))
        };
        let knots: Vec<(u64, f64)> = points.chunks(stretch).map(of_stretch).collect();
        let mut trend = Self { knots, scatter: 0.0, length: quantile(&points, &|point| point.length, 0.5) };
        // once more, without the drift within each stretch
        let moved: Vec<f64> = points
            .chunks(stretch)
            .map(|points| quantile(points, &|point| point.apart - trend.at(point.time), part))
            .collect();
        trend.knots.iter_mut().zip(moved).for_each(|(knot, by)| knot.1 += by);
        let off = |point: &TrendPoint| (point.apart - trend.at(point.time)).abs();
        trend.scatter = MAD * quantile(&points, &off, part.min(1.0 - part).mul_add(0.5, 0.25));
        Some(trend)
    }

    /// Lists different times, and how far the clocks are apart then.
    pub(super) fn moments(&self) -> impl Iterator<Item = (u64, f64)> {
        let mut knots = self.knots.clone();
        knots.dedup_by_key(|knot| knot.0);
        knots.into_iter()
    }

    /// Returns how far the clocks are apart at a time.
    pub(super) fn at(&self, time: u64) -> f64 {
        let last = self.knots.len() - 1;
        let from = self.knots.partition_point(|knot| knot.0 <= time).clamp(1, last.max(1)) - 1;
        let (begin, apart) = self.knots[from];
        let next = self.knots.get(from + 1).filter(|next| next.0 > begin);
        let rate = next.map_or(0.0, |&(end, next)| (next - apart) / (end - begin) as f64);
        apart + rate * (i128::from(time) - i128::from(begin)) as f64
    }

    /// Returns how far the points usually lie from the lines.
    pub(super) fn scatter(&self) -> f64 {
        self.scatter
    }

    /// Returns how long the operations usually took.
    pub(super) fn length(&self) -> f64 {
        self.length
    }
}

/// Returns the quantile at `part` of weighted values: 0.5 is the median.
fn weighted(mut values: Vec<(f64, f64)>, part: f64) -> f64 {
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    let all: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut passed = 0.0;
    let at = values.iter().position(|(_, weight)| {
        passed += weight;
        passed >= all * part
    });
    at.or(values.len().checked_sub(1)).and_then(|at| values.get(at)).map_or(0.0, |value| value.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns points of two clocks that gain `gain` per tick, one a millisecond, of which every third is far off.
    fn points(count: u64, gain: impl Fn(u64) -> f64) -> Vec<TrendPoint> {
        let apart = |at: u64| gain(at) + if at % 3 == 1 { 900_000.0 } else { (at % 5) as f64 * 1000.0 - 2000.0 };
        (0..count).map(|at| TrendPoint { time: (at + 1) * 1_000_000, apart: apart(at), length: 1e6 }).collect()
    }

    #[test]
    fn points_far_off_do_no_harm() {
        for rate in [0.0, 30e-6, -100e-6] {
            let line = |at: u64| 1e9 + rate * (at * 1_000_000) as f64;
            for count in [40, 400, 4000] {
                let trend = Trend::of(points(count, line), |_| 1.0, 0.5).unwrap();
                for at in (0..count).step_by(7) {
                    let off = trend.at((at + 1) * 1_000_000) - line(at);
                    assert!(off.abs() <= 4_000.0, "{rate} {count} {at}: {off}");
                }
                assert!(trend.scatter() < 6_000.0, "{}", trend.scatter());
            }
        }
    }

    #[test]
    fn a_drift_that_changes_is_followed() {
        // from 50 ppm to -50 ppm within 100 s
        let line = |at: u64| {
            let time = at as f64 / 100_000.0;
            5e-6 * 1e12 * time * (1.0 - time)
        };
        let trend = Trend::of(points(100_000, line), |_| 1.0, 0.5).unwrap();
        let off = |at: u64| (trend.at((at + 1) * 1_000_000) - line(at)).abs();
        let most = (3_000..97_000).step_by(100).map(off).fold(0.0, f64::max);
        // a 16th of the time bends by 5 us
        assert!(most <= 10_000.0, "{most}");
    }

    #[test]
    fn what_is_closer_counts_more() {
        let of = |length: f64, apart: f64| (0..60).map(move |at| TrendPoint { time: at * 1_000, apart, length });
        let both: Vec<TrendPoint> = of(1e3, 10.0).chain(of(1e6, 5_000.0)).collect();
        assert_eq!(Trend::of(both.clone(), |point| point.length, 0.5).unwrap().at(5), 10.0);
        assert_eq!(Trend::of(both, |_| 1.0, 0.9).unwrap().at(5), 5_000.0);
        assert!(Trend::of(of(1.0, 1.0).take(3).collect(), |_| 1.0, 0.5).is_none());
    }
}
