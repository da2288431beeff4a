//! The section on who is late: delay costs by GPU, waits over time, and the worst operations.

use super::super::names::ReportNames;
use super::super::sentences::latest;
use super::super::tables;
use super::super::units::{TimeUnit, count, counted, share, time};
use super::draw::{Area, Cells, Chart, LegendEntry, Mark, Px, Scale, across, bars_beside, margin};
use super::heat::{HeatFigures, HeatMap, heat_rows};
use super::section::{absent, part};
use super::table::PageTable;
use maud::{Markup, Render, html};
use report::analysis::verdict::Pace;
use report::answer::{Late, RankLate, Report, WaitMap};
use std::collections::BTreeSet;

/// Lower bounds of the heat map's levels, percent. They are the same in each report, so that two can be compared.
const BOUNDS: [f32; 8] = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 70.0];
/// Largest number of columns of the heat map; of more bins, neighbours share one.
const COLUMNS: usize = 200;

/// Writes the section.
pub(super) fn of(report: &Report, names: &ReportNames<'_>) -> Markup {
    part("late", "Waits and delay costs", &report.late, |late| {
        html! {
            details.help {
                summary { "How these are known" }
                p {
                    "The ranks' times were compared in " (count(late.compared)) " operations; in "
                    (count(late.resolved)) " of them the last rank is known beyond the clocks' error. A delay cost is \
                     the sum of the others' waits, so it says who came last, and not what a step would gain."
                }
            }
            (delay_costs(late, report, names))
            (map(&late.map, names))
            (PageTable::of("The operations that others waited in longest", &tables::worst(late, report, names))
                .without_unknown())
        }
    })
}

fn map(map: &WaitMap, names: &ReportNames<'_>) -> Markup {
    let bins = map.rows.iter().map(Vec::len).max().unwrap_or(0);
    if bins == 0 {
        return html! { h3 { "Waits over time" } (absent("no wait has a time.")) };
    }
    let together = bins.div_ceil(COLUMNS);
    let mean = |bins: &[f32]| bins.iter().sum::<f32>() / bins.len().max(1) as f32;
    let rows: Vec<Vec<f32>> = map.rows.iter().map(|row| row.chunks(together).map(mean).collect()).collect();
    let most = rows.iter().flatten().copied().fold(0.0, f32::max);
    if most * 100.0 < BOUNDS[0] {
        return html! {
            h3 { "Waits over time" }
            p { "At no time did a GPU wait " (BOUNDS[0]) " % of the time." }
            (map_table(&rows, map.bin_us * together as f64, map.gpus_in_row.max(1) as usize, names))
        };
    }
    let bin_us = map.bin_us * together as f64;
    let length = bin_us * bins.div_ceil(together) as f64;
    let unit = TimeUnit::of(length);
    let gpus = map.gpus_in_row.max(1) as usize;
    let heat = HeatMap { names, gpus, rows: &rows, end: length / unit.us };
    let figures = HeatFigures {
        title: format!("time, {}", unit.name),
        marks: heat.x().numbers(8),
        across: Some(unit.name),
        unit: "%",
        one: 100.0,
    };
    let level = |share: &f32| BOUNDS.iter().take_while(|bound| share * 100.0 >= **bound).count() as i8;
    let drawing = heat.draw(figures, &BTreeSet::new(), level);
    let bounds: Vec<String> = BOUNDS.iter().map(|bound| format!("≥ {bound} %")).collect();
    Chart {
        id: "waits-chart",
        title: "Waits over time",
        look: "Look for a blank row among coloured ones, which is the GPU that the others wait for, and for strong \
               columns, where all wait for one that is late just then.",
        description: format!(
            "Share of the time that GPUs waited in NCCL, by GPU and in bins of {}. The largest share of a bin is {}.",
            time(bin_us),
            share(f64::from(most))
        ),
        size: heat.size(),
        key: html! { p.note { "Share of the time waited:" } (Cells::key(&bounds)) },
        drawing,
        notes: html! {
            @if gpus > 1 { p { "Each row is the mean of " (gpus) " neighbouring GPUs, named after the first." } }
        },
        below: html! { (map_table(&rows, bin_us, gpus, names)) },
    }
    .render()
}

fn map_table(rows: &[Vec<f32>], bin_us: f64, gpus: usize, names: &ReportNames<'_>) -> PageTable {
    let rows = heat_rows(rows, gpus, names, |row, mean, (bin, most)| {
        vec![row, share(mean), share(most), time(bin as f64 * bin_us)]
    });
    PageTable::new("Waits over time", &["GPU", "mean share", "largest share of a bin", "begin of that bin"], 1, rows)
}

/// Largest number of GPUs in the chart.
const TOP: usize = 12;
/// Height of a bar with the room around it.
const ROW: f64 = 24.0;

/// Writes the chart and its table.
pub(super) fn delay_costs(late: &Late, report: &Report, names: &ReportNames<'_>) -> Markup {
    let pace = &Pace::from_report(report);
    let order = latest(late);
    let has_own = late.ranks.iter().any(|rank| rank.own_us.is_some());
    let caption = format!(
        "Delay cost and waits {}, largest {}cost first; a cost is the sum of the others' waits",
        period(pace),
        if has_own { "own " } else { "" }
    );
    let below = PageTable::of(caption, &tables::waits(late, report, names)).without_unknown().render();
    // bars that could not be seen only take room
    let visible = order.iter().map(|(_, rank)| rank.cost_us).fold(0.0, f64::max) / 500.0;
    let shown: Vec<(usize, &RankLate)> =
        order.iter().filter(|(_, rank)| rank.cost_us >= visible).take(TOP).copied().collect();
    let Some((first, largest)) = shown.first() else {
        return html! { p { "No rank was last by more than the clocks' error." } (below) };
    };
    let key = |class, text: &str| LegendEntry { class, mark: Mark::Box, text: text.into() };
    let keys = if has_own {
        vec![
            key("own", "own: the delay began with this GPU"),
            key("passed", "passed on: the GPU had waited itself before"),
        ]
    } else {
        vec![key("passed", "own or passed on")]
    };
    let (look, parts, largest_us) = match largest.own_us {
        Some(own_us) => (
            "Look for a long solid bar: that GPU begins its operations late without having waited itself.",
            ["Delay cost, own and passed on,", "own cost"],
            own_us,
        ),
        None => ("Look for a long bar: others wait for that GPU most.", ["Delay cost", "cost"], largest.cost_us),
    };
    let further = order.len() - shown.len();
    Chart {
        id: "late-chart",
        title: "For whom others waited",
        look,
        description: format!(
            "{} of {} that others waited for longest: the other ranks' waits, summed, {}. The largest {} is that of {}, \
             {}.",
            parts[0],
            counted(shown.len() as u64, "GPU"),
            period(pace),
            parts[1],
            names.gpu(*first),
            time(pace.a_step(largest_us))
        ),
        size: [880.0, bottom(&shown) + 46.0],
        key: LegendEntry::draw(&keys),
        drawing: cost_bars(&shown, names, pace),
        notes: html! {
            @if further > 0 {
                p { "Others waited less for " (counted(further as u64, "further GPU")) "; the table has them all." }
            }
        },
        below,
    }
    .render()
}

/// Returns the length of time that costs are written for.
fn period(pace: &Pace) -> &'static str {
    if pace.of_steps { "a step" } else { "in the whole recording" }
}

fn bottom(shown: &[(usize, &RankLate)]) -> f64 {
    10.0 + ROW * shown.len() as f64
}

fn cost_bars(shown: &[(usize, &RankLate)], names: &ReportNames<'_>, pace: &Pace) -> Markup {
    let most = shown.iter().map(|(_, rank)| pace.a_step(rank.cost_us)).fold(0.0, f64::max);
    let unit = TimeUnit::of(most);
    let area = Area { left: margin(names.all()), top: 10.0, right: 710.0, bottom: bottom(shown) };
    let x = Scale::linear([0.0, most / unit.us], [area.left, area.right]);
    let texts: Vec<String> = shown.iter().map(|(place, _)| names.gpu(*place)).collect();
    let title = format!("waits of the other ranks for this GPU, summed, {}, {}", period(pace), unit.name);
    let facts = |us: f64| match pace.share(us) {
        Some(part) if pace.of_steps => format!("{} ({} of all ranks' time)", time(us), share(part)),
        _ => time(us),
    };
    html! {
        (across(area, &x, &title, x.numbers(8)))
        (bars_beside(area, &texts, ROW))
        @for (place, ((_, rank), name)) in shown.iter().zip(&texts).enumerate() {
            @let y = area.top + ROW * (place as f64 + 0.14);
            @let cost_us = pace.a_step(rank.cost_us);
            @let own_us = rank.own_us.map(|us| pace.a_step(us));
            @let (own, end) = (x.at(own_us.unwrap_or_default() / unit.us), x.at(cost_us / unit.us));
            @if let Some(own_us) = own_us {
                rect.own x=(Px(area.left)) y=(Px(y)) width=(Px(own - area.left)) height=(Px(ROW * 0.72)) {
                    title { (name) ": " (facts(own_us)) " because of its own delays" }
                }
            }
            rect.passed x=(Px(own)) y=(Px(y)) width=(Px(end - own)) height=(Px(ROW * 0.72)) {
                title {
                    (name) ": " (facts(cost_us - own_us.unwrap_or_default()))
                    (if own_us.is_some() { " passed on" } else { " because of its own delays or passed on" })
                }
            }
            text x=(Px(end + 6.0)) y=(Px(y + ROW * 0.36 + 4.0)) { (facts(cost_us)) }
        }
    }
}
