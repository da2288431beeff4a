//! Ordinary least squares of time over size: time = latency + bytes / rate.
//!
//! Sizes and times are whole numbers (bytes, ticks), so the sums are kept exactly, in 128 bits: no digit is lost however far from
//! zero the values lie, the order of adding does not matter, and merging two fits is the same as fitting at once. Only the end
//! result is rounded. With n points, means mx and my:
//!
//! ```text
//! Sxx = Σ(x-mx)²   Sxy = Σ(x-mx)(y-my)   Syy = Σ(y-my)²
//! slope = Sxy / Sxx   intercept = my - slope mx   R² = Sxy² / (Sxx Syy)
//! ```

/// Sizes and times from here on are not plausible and not taken (128 TiB; 39 hours in nanoseconds): the sums then cannot
/// overflow before 2^33 points, and a garbage value cannot spoil a fit.
pub const LIMIT: u64 = 1 << 47;
const MOST_POINTS: u64 = 1 << 33;

/// Sums of a regression.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fit {
    n: u64,
    x: i128,
    y: i128,
    xx: i128,
    xy: i128,
    yy: i128,
}

/// A fitted line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Time at size 0, in the unit of the times.
    pub intercept: f64,
    /// Time per byte.
    pub slope: f64,
    /// Coefficient of determination; `None` where all times are equal, since there is nothing to explain.
    pub r2: Option<f64>,
    /// Number of points.
    pub n: u64,
}

impl Fit {
    /// Adds a point; false when it is not plausible, or there are too many points already.
    pub fn add(&mut self, size: u64, time: u64) -> bool {
        if size >= LIMIT || time >= LIMIT || self.n >= MOST_POINTS {
            return false;
        }
        let (x, y) = (i128::from(size), i128::from(time));
        self.n += 1;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
        true
    }

    /// Adds all points of another fit; false when that would be too many.
    pub fn merge(&mut self, other: &Self) -> bool {
        if self.n.saturating_add(other.n) > MOST_POINTS {
            return false;
        }
        self.n += other.n;
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx;
        self.xy += other.xy;
        self.yy += other.yy;
        true
    }

    /// Number of points.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// The line through the points; `None` without two different sizes.
    pub fn line(&self) -> Option<Line> {
        if self.n < 2 {
            return None;
        }
        let n = i128::from(self.n);
        // Centre on the whole parts of the means, exactly; what is left of them is below one and corrected in floating point.
        let (mx, my) = (self.x / n, self.y / n);
        let (rx, ry) = ((self.x - n * mx) as f64, (self.y - n * my) as f64);
        let count = self.n as f64;
        let sxx = (self.xx - 2 * mx * self.x + n * mx * mx) as f64 - rx * rx / count;
        let sxy = (self.xy - mx * self.y - my * self.x + n * mx * my) as f64 - rx * ry / count;
        let syy = (self.yy - 2 * my * self.y + n * my * my) as f64 - ry * ry / count;
        // whole numbers that differ at all have Sxx of at least (n-1)/n
        if sxx < 0.25 {
            return None;
        }
        let slope = sxy / sxx;
        let intercept = (my as f64 + ry / count) - slope * (mx as f64 + rx / count);
        let r2 = (syy >= 0.25).then(|| (sxy / sxx * (sxy / syy)).clamp(0.0, 1.0));
        Some(Line { intercept, slope, r2, n: self.n })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(points: impl IntoIterator<Item = (u64, u64)>) -> Fit {
        let mut fit = Fit::default();
        points.into_iter().for_each(|(x, y)| assert!(fit.add(x, y)));
        fit
    }

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{actual} is not {expected}");
    }

    #[test]
    fn an_exact_line_is_found_exactly() {
        let line = fit((1..=9).map(|i| (i * 1000, 40 + i * 3000))).line().unwrap();
        close(line.slope, 3.0);
        close(line.intercept, 40.0);
        close(line.r2.unwrap(), 1.0);
        assert_eq!(line.n, 9);
    }

    #[test]
    fn a_hand_worked_example() {
        // means 2.5 and 4; Sxx 5, Sxy 5, Syy 10
        let line = fit([(1, 2), (2, 5), (3, 3), (4, 6)]).line().unwrap();
        close(line.slope, 1.0);
        close(line.intercept, 1.5);
        close(line.r2.unwrap(), 0.5);
    }

    #[test]
    fn constant_time_has_no_slope_and_no_r2() {
        let line = fit((1..5).map(|i| (i * 8, 700))).line().unwrap();
        assert_eq!((line.slope, line.intercept, line.r2), (0.0, 700.0, None));
    }

    #[test]
    fn one_size_has_no_line() {
        assert_eq!(fit([]).line(), None);
        assert_eq!(fit([(8, 1)]).line(), None);
        assert_eq!(fit((0..1000).map(|i| (131_072, 10 + i))).line(), None);
    }

    #[test]
    fn two_sizes_have_the_line_through_their_means() {
        let line = fit([(0, 10), (0, 20), (100, 115)]).line().unwrap();
        close(line.slope, 1.0);
        close(line.intercept, 15.0);
    }

    #[test]
    fn offsets_of_1e12_bytes_lose_no_digit() {
        let near = fit((0..100).map(|i| (i, 50 + i * 7 + i % 3))).line().unwrap();
        let far = fit((0..100).map(|i| (1_000_000_000_000 + i, 50 + i * 7 + i % 3))).line().unwrap();
        close(far.slope, near.slope);
        close(far.r2.unwrap(), near.r2.unwrap());
        let at_offset = far.intercept + far.slope * 1e12;
        assert!((at_offset - near.intercept).abs() < 1e-2, "{at_offset} {}", near.intercept);
    }

    #[test]
    fn merging_equals_fitting_at_once_in_any_order() {
        let points: Vec<(u64, u64)> = (0..1000).map(|i| (i * i % 4093 * 1000, i * 7919 % 100_003)).collect();
        let whole = fit(points.iter().copied());
        let mut merged = fit(points[600..].iter().copied());
        assert!(merged.merge(&fit(points[..250].iter().rev().copied())));
        assert!(merged.merge(&fit(points[250..600].iter().copied())));
        assert_eq!(merged, whole);
        assert_eq!(merged.line(), whole.line());
    }

    #[test]
    fn implausible_values_are_refused() {
        let mut fit = Fit::default();
        assert!(!fit.add(LIMIT, 1) && !fit.add(1, u64::MAX));
        assert_eq!(fit, Fit::default());
    }
}
