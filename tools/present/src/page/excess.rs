//! The section on what ranks cost a step: own excess by rank and step, gains, and nodes.

use super::super::names::ReportNames;
use super::super::tables;
use super::super::units::{TimeUnit, count, counted, part_of, round, share, time};
use super::draw::{Cells, Chart, LegendEntry, Mark, Px};
use super::gains;
use super::heat::{HeatFigures, HeatMap, heat_rows};
use super::section::{absent, part};
use super::table::PageTable;
use maud::{Markup, Render, html};
use report::answer::{Report, Stragglers};

/// Lower bounds of the heat map's levels, percent of a step. They are the same in each report, so that two can be
/// compared.
const BOUNDS: [f64; 6] = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0];
/// Levels of the bounds, of 8.
const LEVELS: [i8; 6] = [1, 3, 4, 5, 6, 8];
/// Largest number of columns; of more bins, neighbours share one.
const COLUMNS: usize = 200;

/// Writes the section.
pub(super) fn of(report: &Report, names: &ReportNames<'_>) -> Markup {
    part("stragglers", "What ranks cost a step", &report.stragglers, |stragglers| {
        html! {
            (map(stragglers, names))
            (gains::ranks(stragglers, names))
            (gains::nodes(stragglers, &report.nodes))
            (own_times(stragglers, names))
        }
    })
}

/// Returns the figure farthest from zero.
fn farthest(bins: &[f32]) -> f32 {
    bins.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0)
}

fn map(stragglers: &Stragglers, names: &ReportNames<'_>) -> Markup {
    let map = &stragglers.map;
    let bins = map.rows.iter().map(Vec::len).max().unwrap_or(0);
    if bins == 0 {
        return absent("no rank's own time is known by step.");
    }
    let together = bins.div_ceil(COLUMNS);
    let rows: Vec<Vec<f32>> = map.rows.iter().map(|row| row.chunks(together).map(farthest).collect()).collect();
    let steps_in_column = map.steps_in_bin.max(1) * together as u64;
    let steps = bins as u64 * map.steps_in_bin.max(1);
    let gpus = map.gpus_in_row.max(1) as usize;
    let heat = HeatMap { names, gpus, rows: &rows, end: (bins.div_ceil(together) as u64 * steps_in_column) as f64 };
    let most = heat.most();
    // without a length of the step, the largest value stands for a fifth of it
    let whole = if stragglers.step_us > 0.0 { stragglers.step_us } else { most * 5.0 };
    let level = |us: &f32| {
        let percent = part_of(f64::from(us.abs()), whole) * 100.0;
        let level = BOUNDS.iter().zip(LEVELS).rev().find(|(bound, _)| percent >= **bound).map(|(_, level)| level);
        level.map_or(0, |level| if *us < 0.0 { -level } else { level })
    };
    let found = heat.rows_of(stragglers.found.iter().flat_map(|one| &one.gpus));
    let pauses = stragglers.events.iter().filter(|event| event.step < steps);
    let pauses = pauses.filter_map(|event| Some((event, heat.middle(event.gpu)?)));
    let x = heat.x();
    let unit = TimeUnit::of(most);
    let figures = HeatFigures {
        title: "step behind the warm-up, number".into(),
        marks: x.counts(10),
        across: None,
        unit: unit.name,
        one: 1.0 / unit.us,
    };
    let drawing = html! {
        (heat.draw(figures, &found, level))
        @for (event, y) in pauses {
            circle.event cx=(Px(x.at(event.step as f64 + 0.5))) cy=(Px(y)) r="5" {
                title { (names.gpu(event.gpu)) " paused " (time(event.excess_us)) " in step " (count(event.step)) }
            }
        }
    };
    let bounds = BOUNDS.map(round);
    let key = |class, mark, text: &str| LegendEntry { class, mark, text: text.to_owned() };
    let stands_out = (!found.is_empty()).then(|| key("found", Mark::Wedge, "a row of ranks that stand out"));
    let pause = (!stragglers.events.is_empty()).then(|| key("event", Mark::Ring, "a pause"));
    let keys: Vec<_> = stands_out.into_iter().chain(pause).collect();
    Chart {
        id: "excess-chart",
        title: "Own time beyond peers, rank by step",
        look: "Look for a row that is dark all along, which is a rank that is always slow, for one that turns dark, \
               which became slow then, and for dark columns, which are steps in which many ranks were slow.",
        description: format!(
            "Time between its operations beyond the median of its peers, of {} in {} steps. The largest is {}.",
            counted(names.len() as u64, "GPU"),
            count(steps),
            time(rows.iter().flatten().fold(0.0, |most: f64, value| most.max(f64::from(*value))))
        ),
        size: heat.size(),
        key: html! {
            (Cells::strip(&bounds, "ahead of its peers, % of a step", "behind them, % of a step"))
            (LegendEntry::draw(&keys))
        },
        drawing,
        notes: html! {
            p {
                "Own time is a rank's time between its operations. Its peers are the ranks that run the same program."
                @if gpus > 1 { " A row is the largest figure of " (gpus) " neighbouring GPUs, named after the first." }
                @if steps_in_column > 1 { " A column is the one farthest from zero of " (steps_in_column) " steps." }
            }
        },
        below: html! { (table(&rows, steps_in_column, gpus, names)) (events(stragglers, names)) },
    }
    .render()
}

fn table(rows: &[Vec<f32>], steps: u64, gpus: usize, names: &ReportNames<'_>) -> PageTable {
    let least = |row: usize| rows.get(row).into_iter().flatten().copied().fold(f32::INFINITY, f32::min);
    let cells = heat_rows(rows, gpus, names, |row, mean, (bin, most)| {
        vec![row, time(mean), time(most), count(bin as u64 * steps)]
    });
    let rows = cells.enumerate().map(|(row, mut cells)| {
        cells.push(time(f64::from(least(row))));
        cells
    });
    PageTable::new("Own time beyond peers", &["GPU", "mean", "largest", "in step", "least"], 1, rows)
}

fn events(stragglers: &Stragglers, names: &ReportNames<'_>) -> Markup {
    html! {
        (PageTable::of("Pauses, longest first", &tables::events(stragglers, names)))
        @if stragglers.event_count > stragglers.events.len() as u64 {
            p.note {
                (counted(stragglers.event_count, "pause")) " of " (counted(stragglers.event_ranks, "rank"))
                " were found; the longest are in the table."
            }
        }
    }
}

/// Says how good the model is, and writes the own times of all ranks.
fn own_times(stragglers: &Stragglers, names: &ReportNames<'_>) -> Markup {
    let off = part_of((stragglers.reenacted_us - stragglers.step_us).abs(), stragglers.step_us);
    let share_of_step = |us: f64| format!("{} ({} of a step)", time(us), share(part_of(us, stragglers.step_us)));
    html! {
        details.help {
            summary { "How the gains are computed" }
            p {
                "The steps are played again from each rank's own times and each operation's transfer, with the rank as \
                 its peers are. Played with nothing changed, " (counted(stragglers.steps, "step")) " take "
                (time(stragglers.reenacted_us)) " each; measured, " (time(stragglers.step_us)) ", without pauses. The \
                 model is off by " (share(off)) "."
            }
            @if let Some(together) = stragglers.together_us {
                p { "If all that stand out were as their peers, a step would gain " (share_of_step(together)) "." }
            }
            @if let Some(jitter) = stragglers.jitter_us {
                p { "The ranks' random differences cost " (share_of_step(jitter)) "." }
            }
        }
        (PageTable::of("Own time by rank, largest excess first", &tables::own_times(stragglers, names))
            .without_unknown())
    }
}
