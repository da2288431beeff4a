//! The picture beside each answer.

use super::super::names::ReportNames;
use super::super::units::{TimeUnit, rate, share, sizes, time};
use super::budget;
use super::draw::{Area, Px, Scale, across, shortened};
use super::strip::{SMALL, Strip};
use maud::{Markup, html};
use report::analysis::verdict::Pace;
use report::answer::{Report, SpeedRow};

/// Size of a picture of columns.
const SIZE: [f64; 2] = [448.0, 220.0];
/// Largest number of bars of operations.
const BARS: usize = 5;
/// Height of such a bar, with its name above.
const ROW: f64 = 34.0;

/// Frames a picture. Its title names it, the key has its colours, and a link leads to the section with the details.
fn picture(title: &str, size: [f64; 2], key: &Markup, drawing: &Markup, [to, name]: [&str; 2]) -> Markup {
    let [width, height] = size;
    html! {
        div.proof {
            p.title { (title) }
            (key)
            svg.chart role="img" aria-label=(title) viewBox={ "0 0 " (Px(width)) " " (Px(height)) } { (drawing) }
            p.more { a href={ "#" (to) } { (name) } }
        }
    }
}

/// Draws own excess by rank; where that is unknown, waits.
pub(super) fn late(report: &Report, names: &ReportNames<'_>) -> Option<Markup> {
    let name = |place: usize| names.gpu(place);
    if let Some(stragglers) = report.stragglers.known().filter(|it| it.ranks.iter().any(|it| it.excess_us.is_some())) {
        let excesses = || stragglers.ranks.iter().map(|rank| rank.excess_us);
        let most = excesses().flatten().fold(0.0, |most: f64, us| most.max(us.abs()));
        let unit = TimeUnit::of(most.max(SMALL * stragglers.step_us));
        let strip = Strip {
            values: excesses().map(|us| us.map(|us| us / unit.us)).collect(),
            least: SMALL * stragglers.step_us / unit.us,
            marked: stragglers.found.iter().flat_map(|one| &one.gpus).copied().collect(),
            name: &name,
            text: &|value| format!("{}{}", if value > 0.0 { "+" } else { "" }, time(value * unit.us)),
            axes: ["rank".into(), format!("own time beyond peers a step, {}", unit.name)],
            size: SIZE,
        };
        let title = "Own time of each rank beyond that of its peers";
        return Some(picture(title, SIZE, &html! {}, &strip.draw(), ["stragglers", "Rank by step, and gains"]));
    }
    let late = report.late.known().filter(|late| late.ranks.iter().any(|rank| rank.calls > 0))?;
    let pace = Pace::from_report(report);
    let most = late.ranks.iter().map(|rank| pace.a_step(rank.wait_us)).fold(0.0, f64::max);
    let unit = TimeUnit::of(most);
    let strip = Strip {
        values: late.ranks.iter().map(|rank| Some(pace.a_step(rank.wait_us) / unit.us)).collect(),
        least: 0.0,
        marked: vec![],
        name: &name,
        text: &|value| time(value * unit.us),
        axes: ["rank".into(), format!("{}, {}", if pace.of_steps { "waits a step" } else { "waits" }, unit.name)],
        size: SIZE,
    };
    Some(picture("Waits of each rank for others", SIZE, &html! {}, &strip.draw(), ["late", "Waits and delay costs"]))
}

/// Draws where the time of a step goes.
pub(super) fn cost(report: &Report, names: &ReportNames<'_>) -> Option<Markup> {
    let budget = report.budget.known().filter(|budget| budget.whole.total_ns > 0)?;
    let (size, drawing) = budget::proof(budget, names);
    let title = if budget.gpus.len() > 1 {
        "The time of all ranks, and of those that wait least and most"
    } else {
        "The time of the rank"
    };
    Some(picture(title, size, &budget::key(budget), &drawing, ["budget", "Where the time goes"]))
}

/// Draws the bus bandwidth of the operations that move most bytes, beside their links.
pub(super) fn network(report: &Report, names: &ReportNames<'_>) -> Option<Markup> {
    let speed = report.speed.known()?;
    let moved = |row: &SpeedRow| row.to_bytes as f64 * row.count as f64;
    let mut rows: Vec<&SpeedRow> = speed.rows.iter().filter(|row| row.busbw.is_some()).collect();
    rows.sort_by(|a, b| moved(b).total_cmp(&moved(a)));
    // communicators of one kind are alike: the slowest of them stands for all
    let mut kinds: Vec<&SpeedRow> = vec![];
    for row in rows {
        let is_alike = |other: &&mut &SpeedRow| {
            (&other.function, &other.dimension, other.nranks, other.from_bytes)
                == (&row.function, &row.dimension, row.nranks, row.from_bytes)
        };
        match kinds.iter_mut().find(is_alike) {
            Some(other) if row.busbw < other.busbw => *other = row,
            Some(_) => {}
            None => kinds.push(row),
        }
    }
    // operations of a few bytes say nothing of a link
    let least = kinds.first().map_or(0.0, |row| moved(row)) / 1e4;
    kinds.retain(|row| moved(row) >= least);
    kinds.truncate(BARS);
    let link = |row: &SpeedRow| Some(row.busbw? / row.utilisation.filter(|part| *part > 0.0)?);
    let most = kinds.iter().flat_map(|row| [row.busbw, link(row)]).flatten().fold(0.0, f64::max);
    if kinds.is_empty() || !most.is_finite() {
        return None;
    }
    let area = Area { left: 12.0, top: 6.0, right: 420.0, bottom: 6.0 + ROW * kinds.len() as f64 };
    let x = Scale::linear([0.0, most * 1.02], [area.left, area.right]);
    let has_link = kinds.iter().any(|row| link(row).is_some());
    let drawing = html! {
        (across(area, &x, "bus bandwidth, GB/s", x.numbers(5)))
        @for (place, row) in kinds.iter().enumerate() {
            @let (top, busbw) = (area.top + ROW * place as f64, row.busbw.unwrap_or_default());
            @let of = if row.dimension == "unknown" { names.communicator(&row.comm) } else { row.dimension.clone() };
            @let used = row.utilisation.map_or_else(String::new, |part| format!(", {} of the link", share(part)));
            text.over x=(Px(area.left + 2.0)) y=(Px(top + 12.0)) {
                (row.function) " of " (sizes(row.from_bytes, row.to_bytes)) ", " (shortened(&of)) ": "
                (rate(busbw)) (used)
            }
            rect.transferring x=(Px(area.left)) y=(Px(top + 17.0)) width=(Px(x.at(busbw) - area.left)) height="11" {
                title { (row.function) ": " (rate(busbw)) (used) }
            }
            @if let Some(link) = link(row) {
                path.link-mark d={ "M" (Px(x.at(link))) " " (Px(top + 14.0)) "v17" } {}
            }
        }
    };
    let title = if has_link {
        "Operations that move most bytes, beside their links (marks)"
    } else {
        "Operations that move most bytes"
    };
    let to = ["speed", "How fast operations are"];
    Some(picture(title, [440.0, area.bottom + 46.0], &html! {}, &drawing, to))
}
