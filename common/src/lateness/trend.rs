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
pub(super) struct Point {
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
    pub(super) fn of(mut points: Vec<Point>, spread: impl Fn(&Point) -> f64, part: f64) -> Option<Self> {
        if points.len() < LEAST {
            return None;
        }
        points.sort_by_key(|point| point.time);
        let weight = |point: &Point| spread(point).recip();
        let quantile = |points: &[Point], of: &dyn Fn(&Point) -> f64, part: f64| {
            weighted(points.iter().map(|point| (of(point), weight(point))).collect(), part)
        };
        let median = quantile(&points, &|point| point.apart, 0.5);
        let distance = quantile(&points, &|point| (point.apart - median).abs(), 0.5);
        // where the points are farther apart than clocks drift meanwhile, the drift does not show
        let [first, last] = [points.first()?.time, points.last()?.time];
        let shows_drift = MOST_DRIFT * (last - first) as f64 > distance;
        let stretches = if shows_drift { (points.len() / OF_STRETCH).clamp(2, MOST_STRETCHES) } else { 1 };
        let stretch = points.len().div_ceil(stretches);
        let of_stretch = |points: &[Point]| {
            let middle = points[points.len() / 2].time;
            let since = |point: &Point| (i128::from(point.time) - i128::from(middle)) as f64;
            (middle.saturating_add_signed(quantile(points, &since, 0.5) as i64), quantile(points, &|it| it.apart, 0.5))
        };
        let mut knots: Vec<(u64, f64)> = points.chunks(stretch).map(of_stretch).collect();
        knots.dedup_by_key(|knot| knot.0);
        let mut trend = Self { knots, scatter: 0.0, length: quantile(&points, &|point| point.length, 0.5) };
        // once more, without the drift within each stretch
        let moved: Vec<f64> = points
            .chunks(stretch)
            .map(|points| quantile(points, &|point| point.apart - trend.at(point.time), part))
            .collect();
        trend.knots.iter_mut().zip(moved).for_each(|(knot, by)| knot.1 += by);
        let off = |point: &Point| (point.apart - trend.at(point.time)).abs();
        trend.scatter = MAD * quantile(&points, &off, part.min(1.0 - part).mul_add(0.5, 0.25));
        Some(trend)
    }

    /// Lists the times and how far the clocks are apart then.
    pub(super) fn moments(&self) -> impl Iterator<Item = (u64, f64)> {
        self.knots.iter().copied()
    }

    /// Returns how far the clocks are apart at a time.
    pub(super) fn at(&self, time: u64) -> f64 {
        let last = self.knots.len() - 1;
        let from = self.knots.partition_point(|knot| knot.0 <= time).clamp(1, last.max(1)) - 1;
        let (begin, apart) = self.knots[from];
        let rate = self.knots.get(from + 1).map_or(0.0, |&(end, next)| (next - apart) / (end - begin) as f64);
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
