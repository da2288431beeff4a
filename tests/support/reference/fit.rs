//! Fits a straight line through sizes and times: time = latency + bytes / rate.

/// A published least squares fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    /// Absent if the line crosses size 0 at a negative time.
    pub(crate) latency_us: Option<f64>,
    pub(crate) latency_error_us: f64,
    pub(crate) rate_mb_s: f64,
    pub(crate) rate_error_mb_s: f64,
    pub(crate) r2: f64,
    /// Number of points.
    pub(crate) n: usize,
}

/// Fits time (nanoseconds) over size (bytes), by the normal equations of the relative residuals: 1 = latency / time +
/// slope * bytes / time.
///
/// Returns `None` for a fit that is not published. A published fit has four sizes or more that span a factor of eight,
/// a slope at least three of its standard errors above 0, and a latency at most three of its standard errors below 0.
pub(crate) fn fit(points: &[(i64, f64)]) -> Option<Fit> {
    let sizes = points.iter().map(|&(bytes, _)| bytes).filter(|&bytes| bytes > 0);
    let (smallest, largest) = (sizes.clone().min()?, sizes.max()?);
    if points.len() < 4 || largest < 8 * smallest || points.iter().all(|point| point.1 == points[0].1) {
        return None;
    }
    let n = points.len() as f64;
    let (mut u, mut v, mut uu, mut uv, mut vv) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (inverse, ratio) in terms(points) {
        u += inverse;
        v += ratio;
        uu += inverse * inverse;
        uv += inverse * ratio;
        vv += ratio * ratio;
    }
    let determinant = uu * vv - uv * uv;
    let latency = (u * vv - v * uv) / determinant;
    let slope = (v * uu - u * uv) / determinant;
    let residuals: f64 = terms(points).map(|(inverse, ratio)| (1.0 - latency * inverse - slope * ratio).powi(2)).sum();
    let variance = residuals / (n - 2.0);
    let latency_error = (variance * vv / determinant).sqrt();
    let slope_error = (variance * uu / determinant).sqrt();
    if slope <= 0.0 || slope < 3.0 * slope_error || latency < -3.0 * latency_error {
        return None;
    }
    Some(Fit {
        latency_us: if latency < 0.0 { None } else { Some(latency / 1000.0) },
        latency_error_us: latency_error / 1000.0,
        // bytes per nanosecond are thousands of bytes per microsecond
        rate_mb_s: 1000.0 / slope,
        rate_error_mb_s: 1000.0 / slope * (slope_error / slope),
        // compared with the best constant time
        r2: 1.0 - residuals / (n - u * u / uu),
        n: points.len(),
    })
}

fn terms(points: &[(i64, f64)]) -> impl Iterator<Item = (f64, f64)> + '_ {
    points.iter().map(|&(bytes, time)| (1.0 / time.max(1.0), bytes as f64 / time.max(1.0)))
}
