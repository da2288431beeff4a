//! Draws the transfers of one pair of ranks, time over size, with the median service time of each size and the fitted
//! line.

use super::sizes::Sizes;
use common::config::Regression;
use common::connections::Connections;
use common::rate::FittedLine;
use common::run_sums::TransferKey;
use common::services::Services;
use plotters::prelude::*;
use std::path::Path;

/// Draws the picture as SVG; times of the transfers are in nanoseconds.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn draw(path: &Path, title: &str, transfers: &[TransferKey], fit: Option<FittedLine>) -> Result<(), String> {
    draw_on(path, title, transfers, fit).map_err(|error| format!("{}: {error}", path.display()))
}

fn draw_on(
    path: &Path,
    title: &str,
    transfers: &[TransferKey],
    fit: Option<FittedLine>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let time = |transfer: &TransferKey| (transfer.bytes as f64, (transfer.stop - transfer.start) as f64 / 1e3);
    let points: Vec<(f64, f64)> = transfers.iter().map(time).collect();
    let (mut connections, mut services) = (Connections::default(), Services::default());
    connections.read(0, transfers.iter().copied());
    connections.serve(u64::MAX, |served| services.merge(&served.services));
    let medians: Vec<(f64, f64)> =
        services.points(Regression::Median).into_iter().map(|(size, time)| (size as f64, time / 1e3)).collect();
    let root = SVGBackend::new(path, (960, 640)).into_drawing_area();
    root.fill(&WHITE)?;
    let largest = points.iter().map(|point| point.0).fold(1.0, f64::max);
    let shortest = points.iter().chain(&medians).map(|point| point.1).fold(f64::MAX, f64::min).max(0.1);
    let longest = points.iter().map(|point| point.1).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 22))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(Sizes(0.0..largest * 1.02), (shortest / 2.0..longest * 1.5).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("size of a transfer")
        .y_desc("time, us")
        .y_label_formatter(&|time: &f64| format!("{time}"))
        .light_line_style(WHITE)
        .draw()?;
    let gray = RGBColor(150, 150, 150).mix(0.45);
    chart
        .draw_series(points.iter().map(|&point| Circle::new(point, 2, gray.filled())))?
        .label("every transfer (its wait behind others included)")
        .legend(move |(x, y)| Circle::new((x + 10, y), 3, gray.filled()));
    chart
        .draw_series(medians.iter().map(|&point| Circle::new(point, 4, BLUE.filled())))?
        .label("the median service time of each size")
        .legend(|(x, y)| Circle::new((x + 10, y), 4, BLUE.filled()));
    if let Some(fit) = fit {
        let FittedLine { latency_us, rate_mb_s, r2, .. } = fit;
        let latency = latency_us.map_or_else(String::new, |latency| format!("{latency:.2} us + "));
        let label = format!("fit: {latency}size / {rate_mb_s:.0} MB/s, R2 {r2:.3}");
        chart
            .draw_series(LineSeries::new(line(fit, largest), RED.stroke_width(2)))?
            .label(label)
            .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], RED.stroke_width(2)));
    }
    chart.configure_series_labels().background_style(WHITE.mix(0.85)).border_style(BLACK).draw()?;
    root.present()?;
    Ok(())
}

/// Returns enough points that a straight line looks right on a logarithmic axis.
fn line(fit: FittedLine, largest: f64) -> impl Iterator<Item = (f64, f64)> {
    (0..=200).map(move |step| {
        let size = largest * f64::from(step) / 200.0;
        (size, (fit.latency_us.unwrap_or(0.0) + size / fit.rate_mb_s).max(0.05))
    })
}
