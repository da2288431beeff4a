//! The picture of both runs' steps: their lengths as two histograms on one axis.

use super::super::super::sentences::two_runs as sentences;
use super::super::super::units::{TimeUnit, counted, number, share, time};
use super::super::draw::{Area, Chart, LegendEntry, Mark, Px, Scale, across, upright};
use super::super::table::PageTable;
use super::why;
use maud::{Markup, Render, html};
use report::compare::Comparison;

/// Number of bars of a histogram.
const BARS: usize = 44;
/// Share of the steps at either end that may lie outside the axis: one long step would leave no room for the others.
const OUTSIDE: f64 = 0.01;

/// Writes the section's content.
pub(super) fn of(comparison: &Comparison) -> Markup {
    html! {
        (why(&comparison.step))
        @if comparison.step.known().is_some() { (chart(comparison)) }
    }
}

/// Lengths of a run in bars.
struct Bars {
    /// Number of steps in each bar.
    counts: [u64; BARS],
    /// All steps, and those outside the axis.
    all: u64,
    outside: u64,
}

impl Bars {
    fn of(lengths_us: &[f32], [from, to]: [f64; 2]) -> Self {
        let mut bars = Self { counts: [0; BARS], all: lengths_us.len() as u64, outside: 0 };
        for length in lengths_us {
            let place = (f64::from(*length) - from) / (to - from) * BARS as f64;
            // the upper end is in the last bar
            let place = if place == BARS as f64 { BARS - 1 } else { place as usize };
            match bars.counts.get_mut(place).filter(|_| f64::from(*length) >= from) {
                Some(count) => *count += 1,
                None => bars.outside += 1,
            }
        }
        bars
    }

    fn part(&self, count: u64) -> f64 {
        count as f64 / self.all.max(1) as f64
    }
}

/// Returns the ends of the axis, microseconds.
fn ends(lengths_us: &[Vec<f32>; 2]) -> [f64; 2] {
    let quantile = |lengths: &[f32], part: f64| {
        let mut sorted = lengths.to_vec();
        sorted.sort_unstable_by(f32::total_cmp);
        let place = (part * sorted.len().saturating_sub(1) as f64).round() as usize;
        sorted.get(place).map_or(0.0, |length| f64::from(*length))
    };
    let least = lengths_us.iter().map(|lengths| quantile(lengths, OUTSIDE)).fold(f64::MAX, f64::min);
    let most = lengths_us.iter().map(|lengths| quantile(lengths, 1.0 - OUTSIDE)).fold(0.0, f64::max);
    // equal lengths must not look scattered
    let room = (most - least).max(0.02 * most).max(1e-3) * 0.06;
    [least - room, most + room]
}

fn chart(comparison: &Comparison) -> Markup {
    let Some(step) = comparison.step.known() else { return html! {} };
    let ends = ends(&comparison.lengths_us);
    let bars = comparison.lengths_us.each_ref().map(|lengths| Bars::of(lengths, ends));
    let most = bars.iter().flat_map(|run| run.counts.iter().map(|count| run.part(*count))).fold(0.0, f64::max);
    let unit = TimeUnit::of(ends[1]);
    let panel = |top: f64| Area { left: 64.0, top, right: 866.0, bottom: top + 110.0 };
    let areas = [panel(34.0), panel(190.0)];
    let x = Scale::linear(ends.map(|us| us / unit.us), [areas[0].left, areas[0].right]);
    let names = ["before", "now"];
    let drawing = html! {
        @for (run, (bars, area)) in bars.iter().zip(areas).enumerate() {
            @let y = Scale::linear([0.0, most * 108.0], [area.bottom, area.top]);
            @let title = if run == 1 { format!("length of a step, {}", unit.name) } else { String::new() };
            (across(area, &x, &title, x.numbers(10)))
            (upright(area, &y, &format!("{}: share of the steps, %", names[run]), y.numbers(3)))
            @let width = area.width() / BARS as f64;
            @for (place, count) in bars.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                @let top = y.at(bars.part(*count) * 100.0);
                rect class={ "run" (run) } x=(Px(area.left + width * place as f64 + 0.8)) y=(Px(top))
                    width=(Px(width - 1.6)) height=(Px(area.bottom - top)) {
                    title { (names[run]) ", " (bar(place, ends)) ": " (share(bars.part(*count))) }
                }
            }
            @let middle = x.at(step.medians_us[run] / unit.us);
            path.middle d={ "M" (Px(middle)) " " (Px(area.top - 4.0)) "V" (Px(area.bottom)) } {}
            @let is_right = middle > 560.0;
            text.over x=(Px(if is_right { middle - 6.0 } else { middle + 6.0 })) y=(Px(area.top + 8.0))
                text-anchor=(if is_right { "end" } else { "start" }) { "median " (time(step.medians_us[run])) }
        }
    };
    let keys = [
        LegendEntry { class: "run0", mark: Mark::Box, text: counted(step.samples[0], "step") + " before" },
        LegendEntry { class: "run1", mark: Mark::Box, text: counted(step.samples[1], "step") + " now" },
        LegendEntry { class: "middle", mark: Mark::Upright, text: "median".into() },
    ];
    let outside: u64 = bars.iter().map(|bars| bars.outside).sum();
    Chart {
        id: "steps-chart",
        title: "Lengths of the steps",
        look: "Look whether all steps have moved, or a part of them: a second hill is a second kind of step, such as \
               one that writes a checkpoint.",
        description: format!("Lengths of the steps of both runs as histograms. {}", sentences::step(comparison)),
        size: [880.0, 346.0],
        key: LegendEntry::draw(&keys),
        drawing,
        notes: html! {},
        below: html! {
            @if outside > 0 {
                p.note { (counted(outside, "step")) " outside the chart: longer or shorter than 99 % of the others." }
            }
            (table(&bars, ends))
        },
    }
    .render()
}

/// Returns the lengths of a bar in words.
fn bar(place: usize, [from, to]: [f64; 2]) -> String {
    let unit = TimeUnit::of(to);
    let at = |place: usize| number((from + (to - from) * place as f64 / BARS as f64) / unit.us);
    format!("{} to {} {}", at(place), at(place + 1), unit.name)
}

fn table([before, after]: &[Bars; 2], ends: [f64; 2]) -> PageTable {
    let both = before.counts.iter().zip(&after.counts).enumerate();
    let rows = both
        .filter(|(_, (before, after))| **before + **after > 0)
        .map(|(place, (one, other))| vec![bar(place, ends), share(before.part(*one)), share(after.part(*other))]);
    PageTable::new("Lengths of the steps", &["length", "before", "now"], 1, rows)
}
