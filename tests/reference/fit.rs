//! The straight line through sizes and times: time = latency + bytes / rate.

/// A least squares fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    pub(crate) latency_us: f64,
    /// `None` for a flat line.
    pub(crate) rate_mb_s: Option<f64>,
    /// `None` for a flat line.
    pub(crate) r2: Option<f64>,
    /// Number of points.
    pub(crate) n: usize,
}

/// The fit of time (nanoseconds) over size (bytes) in two passes: the means, then the sums about them. `None` with fewer than two
/// sizes. Nanoseconds until the end, because they are whole: a constant time then has a mean without rounding and a slope of 0.
pub(crate) fn fit(points: &[(i64, i64)]) -> Option<Fit> {
    let n = points.len() as f64;
    let (first, _) = *points.first()?;
    if points.iter().all(|&(bytes, _)| bytes == first) {
        return None;
    }
    let mean_bytes = points.iter().map(|&(bytes, _)| bytes as f64).sum::<f64>() / n;
    let mean_time = points.iter().map(|&(_, time)| time as f64).sum::<f64>() / n;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for &(bytes, time) in points {
        let (x, y) = (bytes as f64 - mean_bytes, time as f64 - mean_time);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    let slope: f64 = xy / xx;
    let intercept = mean_time - slope * mean_bytes;
    // About the means: the same, but without losing digits when the sizes are large and their spread is small.
    let residual = |&(bytes, time): &(i64, i64)| {
        let (x, y) = (bytes as f64 - mean_bytes, time as f64 - mean_time);
        (y - slope * x).powi(2)
    };
    let flat = slope == 0.0;
    Some(Fit {
        latency_us: intercept / 1000.0,
        // Bytes in a nanosecond are thousands of bytes in a microsecond.
        rate_mb_s: if flat { None } else { Some(1000.0 / slope) },
        r2: if flat { None } else { Some(1.0 - points.iter().map(residual).sum::<f64>() / yy) },
        n: points.len(),
    })
}
