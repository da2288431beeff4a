//! The section on who is late: delay costs by GPU, waits over time, and the worst operations.

use super::super::names::ReportNames;
use super::super::tables;
use super::super::units::{TimeUnit, count, share, time};
use super::delay_costs::delay_costs;
use super::draw::{Area, Cells, Chart, Px, Scale, across, bars_beside, margin};
use super::section::{absent, part};
use super::table::PageTable;
use crate::answer::{Report, WaitMap};
use maud::{Markup, Render, html};

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
    let columns = bins.div_ceil(together);
    let bin_us = map.bin_us * together as f64;
    let height = (440.0 / rows.len() as f64).clamp(1.6, 26.0);
    let bottom = 10.0 + height * rows.len() as f64;
    let area = Area { left: margin(names.all()), top: 10.0, right: 866.0, bottom };
    let length = bin_us * columns as f64;
    let unit = TimeUnit::of(length);
    let x = Scale::linear([0.0, length / unit.us], [area.left, area.right]);
    let gpus = map.gpus_in_row.max(1) as usize;
    let texts: Vec<String> = (0..rows.len()).map(|row| names.gpu(row * gpus)).collect();
    let level = |share: &f32| BOUNDS.iter().take_while(|bound| share * 100.0 >= **bound).count() as i8;
    let cells = Cells::new(rows.iter().map(|row| row.iter().map(level).collect()).collect());
    let drawing = html! {
        (across(area, &x, &format!("time, {}", unit.name), x.numbers(8)))
        (bars_beside(area, &texts, height))
        rect.frame x=(Px(area.left)) y=(Px(area.top)) width=(Px(area.width())) height=(Px(area.height())) {}
        (cells.draw([area.left, area.top], [area.width() / columns as f64, height]))
    };
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
        size: [880.0, bottom + 46.0],
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
    let rows = rows.iter().enumerate().map(|(row, bins)| {
        let mean = bins.iter().map(|share| f64::from(*share)).sum::<f64>() / bins.len().max(1) as f64;
        let most = bins.iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let (when, most) = most.map_or((0, 0.0), |(bin, share)| (bin, f64::from(*share)));
        vec![names.gpus(row * gpus, gpus), share(mean), share(most), time(when as f64 * bin_us)]
    });
    PageTable::new("Waits over time", &["GPU", "mean share", "largest share of a bin", "begin of that bin"], 1, rows)
}
