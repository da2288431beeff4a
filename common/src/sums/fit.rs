//! Least squares of time over size: time = latency + bytes / rate.
//!
//! The scatter of a time grows with the time, so the sum of the squares of relative residuals is minimized: a point (x,
//! y) has the weight w = 1/y². Without weights, the largest sizes alone decide, and the latency is the residue of their
//! scatter. With n points and the weighted means mx and my:
//!
//! ```text
//! Sxx = Σw(x-mx)²   Sxy = Σw(x-mx)(y-my)   Syy = Σw(y-my)²   s² = Σw(y - intercept - slope x)² / (n - 2)
//! slope = Sxy / Sxx   intercept = my - slope mx   R² = Sxy² / (Sxx Syy)
//! standard errors: of the slope √(s² / Sxx), of the intercept √(s² (1/Σw + mx² / Sxx))
//! ```

/// A fitted line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LineFit {
    /// Time at size 0, in the unit of the times.
    pub intercept: f64,
    /// Standard error of the intercept.
    pub intercept_error: f64,
    /// Time per byte.
    pub slope: f64,
    /// Standard error of the slope.
    pub slope_error: f64,
    /// Coefficient of determination.
    pub r2: f64,
    /// Number of points.
    pub n: u64,
}

impl LineFit {
    /// Fits a line through points (size, time). A time below 1 counts as 1. `None` with fewer than three points, which
    /// give no errors, and if all sizes or all times are equal.
    pub(crate) fn through(points: &[(u64, f64)]) -> Option<Self> {
        let &(size, time) = points.first()?;
        if points.len() < 3 || points.iter().all(|point| point.0 == size) || points.iter().all(|point| point.1 == time)
        {
            return None;
        }
        let weighted = points.iter().map(|&(size, time)| (size as f64, time.max(1.0), time.max(1.0).powi(-2)));
        let sum = |term: &dyn Fn(f64, f64) -> f64| weighted.clone().map(|(x, y, w)| w * term(x, y)).sum::<f64>();
        let weight = sum(&|_, _| 1.0);
        let (mx, my) = (sum(&|x, _| x) / weight, sum(&|_, y| y) / weight);
        let [sxx, sxy, syy] =
            [sum(&|x, _| (x - mx) * (x - mx)), sum(&|x, y| (x - mx) * (y - my)), sum(&|_, y| (y - my) * (y - my))];
        let slope = sxy / sxx;
        let residual = sum(&|x, y| (y - my - slope * (x - mx)).powi(2));
        let variance = residual / (points.len() - 2) as f64;
        Some(Self {
            intercept: my - slope * mx,
            intercept_error: (variance * (1.0 / weight + mx * mx / sxx)).sqrt(),
            slope,
            slope_error: (variance / sxx).sqrt(),
            r2: (sxy / sxx * (sxy / syy)).clamp(0.0, 1.0),
            n: points.len() as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{actual} is not {expected}");
    }

    #[test]
    fn an_exact_line_is_found_exactly() {
        let points: Vec<(u64, f64)> = (0..9).map(|i| (i * 1000, 40.0 + 3000.0 * i as f64)).collect();
        let line = LineFit::through(&points).unwrap();
        [
            (line.slope, 3.0),
            (line.intercept, 40.0),
            (line.r2, 1.0),
            (line.slope_error, 0.0),
            (line.intercept_error, 0.0),
        ]
        .into_iter()
        .for_each(|(actual, expected)| close(actual, expected));
        assert_eq!(line.n, 9);
    }

    #[test]
    fn a_hand_worked_example() {
        // weights 1, 1 and 1/4: Σw 9/4, Σwx 2, Σwy 5/2, Σwxx 5, Σwxy 3, Σwyy 3
        // Sxx = 5 - 4/(9/4) = 29/9, Sxy = 3 - 5/(9/4) = 7/9, Syy = 3 - 25/4/(9/4) = 2/9
        // slope 7/29, intercept 10/9 - 7/29 8/9 = 26/29, residuals 2/9 - 49/261 = 1/29, n - 2 = 1
        let line = LineFit::through(&[(0, 1.0), (1, 1.0), (4, 2.0)]).unwrap();
        close(line.slope, 7.0 / 29.0);
        close(line.intercept, 26.0 / 29.0);
        close(line.r2, 49.0 / 58.0);
        close(line.slope_error, 3.0 / 29.0);
        close(line.intercept_error, (1.0_f64 / 29.0 * (4.0 / 9.0 + 64.0 / 261.0)).sqrt());
    }

    #[test]
    fn without_different_sizes_and_different_times_there_is_no_line() {
        let flat: Vec<(u64, f64)> = (1..5).map(|i| (i * 8, 700.0)).collect();
        for points in [&[][..], &[(8, 1.0)], &[(8, 1.0), (16, 2.0)], &[(8, 1.0), (8, 2.0), (8, 3.0)], &flat] {
            assert_eq!(LineFit::through(points), None, "{points:?}");
        }
    }

    /// A long time that is off by a tenth counts as much as a short time that is off by a tenth.
    #[test]
    fn residuals_are_relative() {
        let line = |points: &[(u64, f64)]| LineFit::through(points).unwrap();
        let exact = [(0, 5e3), (1 << 10, 6e3), (1 << 16, 69e3), (1 << 20, 1029e3)];
        let mut off = exact;
        off[3].1 *= 1.1;
        assert!((line(&off).intercept / line(&exact).intercept - 1.0).abs() < 0.02, "{:?}", line(&off));
    }
}
