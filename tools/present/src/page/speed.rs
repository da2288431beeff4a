//! The section on how fast operations are: bus bandwidth over size, and all figures by size, algorithm and protocol.

use super::super::names::ReportNames;
use super::super::tables;
use super::super::units::{bytes, counted, rate};
use super::draw::{Area, Chart, LegendEntry, Mark, Path, Px, Scale, across, marker, upright};
use super::section::{absent, part};
use super::table::PageTable;
use maud::{Markup, html};
use report::answer::{Report, Speed, SpeedRow};
use std::collections::BTreeMap;

/// Largest number of curves; those with most bytes are drawn.
const CURVES: usize = 8;

/// Most rows of the table where it has forced ways, too: the page has its bytes for others.
const WITH_FORCED: usize = 512;

/// Largest number of lines for the links' rates.
const LINKS: usize = 4;

const AREA: Area = Area { left: 64.0, top: 34.0, right: 850.0, bottom: 320.0 };

/// A curve: the means over communicators, algorithms and protocols, weighted by operations.
struct Curve {
    name: String,
    /// Size in bytes, bus bandwidth in GB/s, and the least and largest one of a row.
    points: Vec<(f64, f64, [f64; 2])>,
    /// Bytes of all operations.
    bytes: f64,
    communicators: usize,
}

/// Writes the section.
pub(super) fn of(report: &Report, names: &ReportNames<'_>) -> Markup {
    part("speed", "How fast operations are", &report.speed, |speed| {
        let table = table(speed, report, names);
        let (curves, more) = curves(&speed.rows, names);
        html! {
            @if curves.is_empty() { (absent("no operation has a bus bandwidth.")) (table) }
            @else { (chart(speed, &curves, more, &table)) }
        }
    })
}

/// Makes the curves, one for each function and communicator; if these are too many, for each function, dimension and
/// number of ranks. Returns the number of curves that found no room, too.
fn curves(rows: &[SpeedRow], names: &ReportNames<'_>) -> (Vec<Curve>, usize) {
    let single =
        grouped(rows, |row| format!("{}, {}, {} ranks", row.function, names.communicator(&row.comm), row.nranks));
    let mut curves = if single.len() <= CURVES {
        single
    } else {
        grouped(rows, |row| {
            let dimension = if row.dimension == "unknown" { "unknown dimension" } else { &row.dimension };
            format!("{}, {dimension}, {} ranks", row.function, row.nranks)
        })
    };
    curves.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    let more = curves.len().saturating_sub(CURVES);
    curves.truncate(CURVES);
    (curves, more)
}

fn grouped(rows: &[SpeedRow], name: impl Fn(&SpeedRow) -> String) -> Vec<Curve> {
    let mut groups: BTreeMap<String, Vec<&SpeedRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.busbw.is_some()) {
        groups.entry(name(row)).or_default().push(row);
    }
    groups.into_iter().map(|(name, rows)| curve(name, &rows)).collect()
}

fn curve(name: String, rows: &[&SpeedRow]) -> Curve {
    let mut sizes: BTreeMap<u64, Vec<&SpeedRow>> = BTreeMap::new();
    for row in rows {
        sizes.entry(row.from_bytes).or_default().push(row);
    }
    let point = |rows: &[&SpeedRow]| {
        let rates = || rows.iter().filter_map(|row| Some((row.busbw?, row.compared.max(1) as f64)));
        let weight: f64 = rates().map(|(_, weight)| weight).sum();
        let mean = rates().map(|(rate, weight)| rate * weight).sum::<f64>() / weight;
        let middle = |row: &SpeedRow| (row.from_bytes.max(1) as f64 * row.to_bytes.max(1) as f64).sqrt();
        let bounds = rates().fold([f64::MAX, 0.0], |[least, most], (rate, _)| [rate.min(least), rate.max(most)]);
        (rows.first().map_or(1.0, |row| middle(row)), mean, bounds)
    };
    let mut communicators: Vec<&str> = rows.iter().map(|row| row.comm.as_str()).collect();
    communicators.sort_unstable();
    communicators.dedup();
    Curve {
        name,
        points: sizes.values().map(|rows| point(rows)).collect(),
        bytes: rows.iter().map(|row| (row.from_bytes + row.to_bytes) as f64 / 2.0 * row.count as f64).sum(),
        communicators: communicators.len(),
    }
}

/// Returns the rates of the communicators' links, GB/s, as far as they differ.
fn links(speed: &Speed) -> Vec<f64> {
    let link = |row: &SpeedRow| Some(row.busbw? / row.utilisation.filter(|part| *part > 0.0)?);
    let mut links: Vec<f64> = speed.rows.iter().filter_map(link).collect();
    links.sort_by(f64::total_cmp);
    links.dedup_by(|a, b| (*a - *b).abs() < 1e-3 * b.abs());
    links.truncate(LINKS);
    links
}

fn chart(speed: &Speed, curves: &[Curve], more: usize, table: &PageTable) -> Chart<'static> {
    let links = links(speed);
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let most = points().map(|(_, _, [_, most])| *most).chain(links.iter().copied()).fold(0.0, f64::max);
    let least = points().map(|(size, ..)| *size).fold(f64::MAX, f64::min);
    let largest = points().map(|(size, ..)| *size).fold(1.0, f64::max);
    let x = Scale::log([least, largest], [AREA.left + 16.0, AREA.right - 10.0]);
    let y = Scale::linear([0.0, most * 1.08], [AREA.bottom, AREA.top]);
    let marks = x.marks(10).into_iter().map(|size| (size, bytes(size)));
    let drawing = html! {
        (across(AREA, &x, "size of an operation, bytes", marks))
        (upright(AREA, &y, "bus bandwidth, GB/s", y.numbers(6)))
        @for link in &links {
            path.link d={ "M" (Px(AREA.left)) " " (Px(y.at(*link))) "H" (Px(AREA.right)) } {}
        }
        @for (series, curve) in curves.iter().enumerate() {
            @let at = |size: f64, rate: f64| (x.at(size), y.at(rate));
            @let line = path(curve.points.iter().map(|(size, rate, _)| at(*size, *rate)));
            @let ranges = ranges(curve, &x, &y);
            path class={ "series s" (series) } d=(line) {}
            path class={ "series range s" (series) } d=(ranges) {}
            @for (size, busbw, _) in &curve.points {
                path class={ "s" (series) " marker" } d=(marker(series, x.at(*size), y.at(*busbw))) {
                    title { (curve.name) ": " (bytes(size.round())) ", " (rate(*busbw)) }
                }
            }
        }
        @for link in &links {
            text.over x=(Px(AREA.right)) y=(Px(y.at(*link) - 4.0)) text-anchor="end" { "link, " (rate(*link)) }
        }
    };
    let classes: Vec<String> = (0..curves.len()).map(|series| format!("series s{series}")).collect();
    let key = |(series, (curve, class)): (usize, (&Curve, &'_ String))| {
        let of =
            if curve.communicators > 1 { format!(" ({} communicators)", curve.communicators) } else { String::new() };
        (class.clone(), Mark::Line(series), format!("{}{of}", curve.name))
    };
    let keys: Vec<_> = curves.iter().zip(&classes).enumerate().map(key).collect();
    let keys: Vec<LegendEntry<'_>> =
        keys.iter().map(|(class, mark, text)| LegendEntry { class, mark: *mark, text: text.clone() }).collect();
    let fastest = curves
        .iter()
        .flat_map(|curve| curve.points.iter().map(move |point| (point, curve)))
        .max_by(|(a, _), (b, _)| a.1.total_cmp(&b.1));
    Chart {
        id: "speed-chart",
        title: "Bus bandwidth over size",
        look: "Look for a curve that levels off far below the link, or dips at some size; lay it beside nccl-tests' on \
               the same nodes.",
        description: format!(
            "{} of bus bandwidth over size. {}",
            counted(curves.len() as u64, "curve"),
            fastest.map_or_else(String::new, |((size, busbw, _), curve)| format!(
                "The largest is {} for {} at {}.",
                rate(*busbw),
                curve.name,
                bytes(size.round())
            ))
        ),
        size: [880.0, AREA.bottom + 46.0],
        key: LegendEntry::draw(&keys),
        drawing,
        notes: html! {
            p {
                @match &speed.link {
                    Some(link) => { "Rate of the links: " (link) ". " }
                    None => { "The link's rate is not known (--link-gbps). " }
                }
                "Points are means over algorithms and protocols; upright lines reach from the slowest to the fastest \
                 of them and of the communicators."
                @if more > 0 {
                    " Functions with fewer bytes are in the table alone: " (counted(more as u64, "further curve")) "."
                }
            }
        },
        below: html! { (table) },
    }
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> Markup {
    let mut path = Path::default();
    path.line(points);
    path.data()
}

/// Draws from the slowest to the fastest row of each point.
fn ranges(curve: &Curve, x: &Scale, y: &Scale) -> Markup {
    let mut path = Path::default();
    for (size, _, [least, most]) in &curve.points {
        path.rise(x.at(*size), y.at(*most), y.at(*least) - y.at(*most));
    }
    path.data()
}

fn table(speed: &Speed, report: &Report, names: &ReportNames<'_>) -> PageTable {
    let table = tables::speed(speed, report, names);
    let table = PageTable::of("Transfers by function, communicator and size", &table).without_unknown();
    let has_forced = speed.rows.iter().any(|row| row.forced.is_some());
    if has_forced { table.first(WITH_FORCED) } else { table }
}
