//! The section on windows between phases: a distribution for each two dimensions.

use super::super::tables;
use super::super::units::{TimeUnit, counted, number, share, time};
use super::draw::{Area, Chart, Px, Scale, across, upright};
use super::section::{absent, part};
use super::table::PageTable;
use maud::{Markup, Render, html};
use report::answer::{Part, PhaseWindow, Phases};

/// Least number of bins that there is room for.
const SLOTS: usize = 10;
/// Largest number of distributions.
const CHARTS: usize = 12;

const AREA: Area = Area { left: 72.0, top: 34.0, right: 406.0, bottom: 180.0 };

/// Writes the section.
pub(super) fn of(phases: &Part<Phases>) -> Markup {
    part("phases", "Windows between phases", phases, |phases| {
        let table = tables::windows(&phases.windows);
        let order = table.ordered();
        html! {
            @if order.is_empty() { (absent("no rank has two phases of different dimensions.")) }
            p {
                "A phase is consecutive operations of one dimension on a GPU; a window is the time from the end of a \
                 phase to the begin of the next one. It is negative where the two overlap."
            }
            div.multiples { @for (place, window) in order.iter().take(CHARTS).enumerate() {
                (chart(window, &format!("phases-chart-{}", place + 1)))
            } }
            @if order.len() > CHARTS { p.note { "The other " (order.len() - CHARTS) " are in the table alone." } }
            (PageTable::of("Windows between phases", &table))
        }
    })
}

fn chart(window: &PhaseWindow, id: &str) -> Markup {
    let title = format!("From {} to {}", window.from, window.to);
    let look = format!("Look right of zero for time without communication between {} and {}.", window.from, window.to);
    let bins = window.bins.len();
    let most = window.bins.iter().map(|(_, windows)| *windows).max().unwrap_or(0).max(1) as f64;
    let largest = window.bins.iter().map(|(from, _)| from.abs()).fold(0.0, f64::max);
    let unit = TimeUnit::of(largest);
    // a few bins are in the middle, and the text of the median has room above the bars
    let slots = bins.max(SLOTS) as f64;
    let before = (slots - bins as f64) / 2.0;
    let x = Scale::linear([-before, slots - before], [AREA.left, AREA.right]);
    let y = Scale::linear([0.0, most * 1.15], [AREA.bottom, AREA.top]);
    let width = AREA.width() / slots;
    // of the bins' lower bounds, zero has a text if it is one
    let every = bins.div_ceil(6).max(1);
    let zero = window.bins.iter().position(|(from, _)| *from == 0.0).unwrap_or(0);
    let bounds = window.bins.iter().enumerate().skip(zero % every).step_by(every);
    let marks = bounds.map(|(bin, (from, _))| (bin as f64, number(from / unit.us)));
    // bins may have any bounds, so zero and the median lie between the bounds of their bins
    let bin_of = |us: f64| {
        let bin = window.bins.iter().take_while(|(from, _)| *from <= us).count().checked_sub(1)?;
        let (from, to) = (window.bins.get(bin)?.0, window.bins.get(bin + 1).map(|(to, _)| *to));
        Some(bin as f64 + to.map_or(0.5, |to| (us - from) / (to - from)))
    };
    let drawing = html! {
        (across(AREA, &x, &format!("window, {}", unit.name), marks))
        (upright(AREA, &y, "number of windows", y.counts(4)))
        @for (bin, (from, windows)) in window.bins.iter().enumerate().filter(|(_, (_, windows))| *windows > 0) {
            @let top = y.at(*windows as f64);
            rect class=(if *from < 0.0 { "before" } else { "behind" }) x=(Px(x.at(bin as f64) + 0.5))
                y=(Px(top)) width=(Px((width - 1.0).max(0.5))) height=(Px(AREA.bottom - top)) {
                title { "from " (time(*from)) " on: " (counted(*windows, "window")) }
            }
        }
        @if let Some(bin) = bin_of(0.0).filter(|_| window.bins.last().is_some_and(|(last, _)| *last >= 0.0)) {
            path.zero d={ "M" (Px(x.at(bin))) " " (Px(AREA.top)) "V" (Px(AREA.bottom)) } {}
            text.over x=(Px(x.at(bin) + 4.0)) y=(Px(AREA.top + 28.0)) { "0" }
        }
        @if let Some(bin) = bin_of(window.median_us) {
            path.median d={ "M" (Px(x.at(bin))) " " (Px(AREA.top)) "V" (Px(AREA.bottom)) } {}
            @let is_left = x.at(bin) < (AREA.left + AREA.right) / 2.0;
            text.over x=(Px(x.at(bin) + if is_left { 5.0 } else { -5.0 })) y=(Px(AREA.top + 10.0))
                text-anchor=(if is_left { "start" } else { "end" }) { "median " (time(window.median_us)) }
        }
    };
    Chart {
        id,
        title: &title,
        look: &look,
        description: format!(
            "Distribution of {}. Median {}, mean {}, 95th percentile {}; {} are negative.",
            counted(window.count, "window"),
            time(window.median_us),
            time(window.mean_us),
            time(window.p95_us),
            share(window.negative)
        ),
        size: [420.0, 226.0],
        key: html! {},
        drawing,
        notes: html! {},
        below: html! {},
    }
    .render()
}
