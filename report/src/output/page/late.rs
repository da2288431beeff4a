//! The section on who is late: delay costs by GPU, waits over time, and the worst operations.

use super::super::names::Names;
use super::super::sentences::latest;
use super::super::units::{TimeUnit, UNKNOWN, bytes, count, counted, part_of, round, share, time};
use super::draw::{Area, Cells, Chart, Key, Mark, Px, Scale, across, bars_beside};
use super::section::{absent, part};
use super::table::Table;
use crate::answer::{Late, Part, RankLate, WaitMap, WorstOperation};
use maud::{Markup, Render, html};

/// Number of GPUs in the chart of delay costs.
const TOP: usize = 12;
/// Lower bounds of the heat map's levels, percent. They are the same in each report, so that two can be compared.
const BOUNDS: [f32; 8] = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 70.0];
/// Largest number of columns of the heat map; of more bins, neighbours share one.
const COLUMNS: usize = 400;

/// Writes the section.
pub(super) fn of(late: &Part<Late>, names: &Names<'_>) -> Markup {
    part("late", "Who is late", late, |late| {
        html! {
            p {
                "The ranks' times were compared in " (count(late.compared)) " operations; in " (count(late.resolved))
                " of them the last rank is known beyond the clocks' error."
            }
            (costs(late, names))
            (map(&late.map, names))
            (worst(&late.worst, names))
        }
    })
}

fn costs(late: &Late, names: &Names<'_>) -> Markup {
    let order = latest(late);
    // bars that could not be seen only take room
    let visible = order.iter().map(|(_, rank)| rank.cost_us).fold(0.0, f64::max) / 500.0;
    let shown: Vec<(usize, &RankLate)> =
        order.iter().filter(|(_, rank)| rank.cost_us >= visible).take(TOP).copied().collect();
    let below = table(late, names);
    if shown.is_empty() {
        return html! { p { "No rank was last by more than the clocks' error." } (below) };
    }
    let most = shown.iter().map(|(_, rank)| rank.cost_us).fold(0.0, f64::max);
    let unit = TimeUnit::of(most);
    let row = 24.0;
    let area = Area { left: 132.0, top: 10.0, right: 740.0, bottom: 10.0 + row * shown.len() as f64 };
    let x = Scale::linear([0.0, most / unit.us], [area.left, area.right]);
    let texts: Vec<String> = shown.iter().map(|(place, _)| names.gpu(*place)).collect();
    let all: f64 = order.iter().map(|(_, rank)| rank.cost_us).sum();
    let drawing = html! {
        (across(area, &x, &format!("waits of others for this GPU, {}", unit.name), x.marks(8).into_iter().map(|it| (it, round(it)))))
        (bars_beside(area, &texts, row))
        @for (place, ((_, rank), name)) in shown.iter().zip(&texts).enumerate() {
            @let y = area.top + row * (place as f64 + 0.14);
            @let (own, end) = (x.at(rank.own_us / unit.us), x.at(rank.cost_us / unit.us));
            rect.own x=(Px(area.left)) y=(Px(y)) width=(Px(own - area.left)) height=(Px(row * 0.72)) {
                title { (name) ": " (time(rank.own_us)) " because of its own delays" }
            }
            rect.passed x=(Px(own)) y=(Px(y)) width=(Px(end - own)) height=(Px(row * 0.72)) {
                title { (name) ": " (time(rank.propagated_us)) " passed on" }
            }
            text x=(Px(end + 6.0)) y=(Px(y + row * 0.36 + 4.0)) { (time(rank.cost_us)) " (" (share(part_of(rank.cost_us, all))) ")" }
        }
    };
    let keys = [
        Key { class: "own", mark: Mark::Box, text: "own: the delay began with this GPU".into() },
        Key { class: "passed", mark: Mark::Box, text: "passed on: the GPU had waited itself before".into() },
    ];
    Chart {
        id: "late-chart",
        title: "For whom others waited",
        look: "Look for a long solid bar: that GPU begins its operations late without having waited itself.",
        description: format!(
            "Delay cost, own and passed on, of {} that others waited for longest. The largest own cost is that of {}, {}.",
            counted(shown.len() as u64, "GPU"),
            texts.first().map_or("", String::as_str),
            time(shown.first().map_or(0.0, |(_, rank)| rank.own_us))
        ),
        size: [880.0, area.bottom + 46.0],
        key: Key::draw(&keys),
        drawing,
        below: html! {
            p.note { "Shares are of the delay cost of all GPUs." }
            @if order.len() > shown.len() { p.note { "Others waited less for " (counted((order.len() - shown.len()) as u64, "further GPU")) "; these are in the table alone." } }
            (below)
        },
    }
    .render()
}

fn table(late: &Late, names: &Names<'_>) -> Table {
    let mut order: Vec<(usize, &RankLate)> = late.ranks.iter().enumerate().collect();
    order.sort_by(|(_, a), (_, b)| b.own_us.total_cmp(&a.own_us).then(b.cost_us.total_cmp(&a.cost_us)));
    let rows = order.into_iter().map(|(place, rank)| {
        vec![
            names.gpu(place),
            time(rank.own_us),
            time(rank.propagated_us),
            time(rank.cost_us),
            count(rank.last),
            time(rank.wait_us),
            count(rank.calls),
        ]
    });
    let columns = ["GPU", "own delay cost", "passed on", "delay cost", "times last", "its own waits", "calls compared"];
    Table::new("Delay cost and waits by GPU, largest own cost first", &columns, 1, rows)
}

fn map(map: &WaitMap, names: &Names<'_>) -> Markup {
    let bins = map.rows.iter().map(Vec::len).max().unwrap_or(0);
    if bins == 0 {
        return html! { h3 { "Waits over time" } (absent("no wait has a time.")) };
    }
    let together = bins.div_ceil(COLUMNS);
    let mean = |bins: &[f32]| bins.iter().sum::<f32>() / bins.len().max(1) as f32;
    let rows: Vec<Vec<f32>> = map.rows.iter().map(|row| row.chunks(together).map(mean).collect()).collect();
    let columns = bins.div_ceil(together);
    let bin_us = map.bin_us * together as f64;
    let height = (440.0 / rows.len() as f64).clamp(1.6, 26.0);
    let bottom = 10.0 + height * rows.len() as f64;
    let area = Area { left: 132.0, top: 10.0, right: 866.0, bottom };
    let length = bin_us * columns as f64;
    let unit = TimeUnit::of(length);
    let x = Scale::linear([0.0, length / unit.us], [area.left, area.right]);
    let gpus = map.gpus_in_row.max(1) as usize;
    let texts: Vec<String> = (0..rows.len()).map(|row| names.gpu(row * gpus)).collect();
    let level = |share: &f32| BOUNDS.iter().take_while(|bound| share * 100.0 >= **bound).count() as u8;
    let cells = Cells::new(rows.iter().map(|row| row.iter().map(level).collect()).collect());
    let drawing = html! {
        (across(area, &x, &format!("time, {}", unit.name), x.marks(8).into_iter().map(|it| (it, round(it)))))
        (bars_beside(area, &texts, height))
        rect.frame x=(Px(area.left)) y=(Px(area.top)) width=(Px(area.width())) height=(Px(area.height())) {}
        (cells.draw([area.left, area.top], [area.width() / columns as f64, height]))
    };
    let bounds: Vec<String> = BOUNDS.iter().map(|bound| format!("≥ {bound} %")).collect();
    let most = rows.iter().flatten().copied().fold(0.0, f32::max);
    Chart {
        id: "waits-chart",
        title: "Waits over time",
        look: "Look for a blank row among coloured ones, which is the GPU that the others wait for, and for strong columns, \
               where all wait for one that is late just then.",
        description: format!(
            "Share of the time that GPUs waited in NCCL, by GPU and in bins of {}. The largest share of a bin is {}.",
            time(bin_us),
            share(f64::from(most))
        ),
        size: [880.0, bottom + 46.0],
        key: html! { p.note { "Share of the time waited:" } (Cells::key(&bounds)) },
        drawing,
        below: html! {
            @if gpus > 1 { p.note { "Each row is the mean of " (gpus) " neighbouring GPUs, named after the first." } }
            (map_table(&rows, bin_us, gpus, names))
        },
    }
    .render()
}

fn map_table(rows: &[Vec<f32>], bin_us: f64, gpus: usize, names: &Names<'_>) -> Table {
    let rows = rows.iter().enumerate().map(|(row, bins)| {
        let mean = bins.iter().map(|share| f64::from(*share)).sum::<f64>() / bins.len().max(1) as f64;
        let most = bins.iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let (when, most) = most.map_or((0, 0.0), |(bin, share)| (bin, f64::from(*share)));
        vec![names.gpus(row * gpus, gpus), share(mean), share(most), time(when as f64 * bin_us)]
    });
    Table::new("Waits over time", &["GPU", "mean share", "largest share of a bin", "begin of that bin"], 1, rows)
}

fn worst(worst: &[WorstOperation], names: &Names<'_>) -> Markup {
    let rows = worst.iter().map(|it| {
        let sequence = match it.sequence {
            Some((number, 0)) => format!(" {number}"),
            Some((number, replay)) => format!(" {number}, replay {replay}"),
            None => String::new(),
        };
        let before = it.before.as_ref().map_or_else(
            || UNKNOWN.into(),
            |(function, comm, us)| format!("{function} of {}, waited {}", names.communicator(comm), time(*us)),
        );
        vec![
            format!("{}{sequence}", it.function),
            names.communicator(&it.comm),
            names.gpu(it.gpu),
            if it.propagated { "passed on" } else { "own" }.to_owned(),
            before,
            bytes(it.bytes as f64),
            time(it.time_us),
            time(it.late_us),
            time(it.cost_us),
        ]
    });
    let columns = [
        "operation",
        "communicator",
        "last GPU",
        "delay",
        "its call before",
        "bytes",
        "at",
        "late by",
        "others waited",
    ];
    html! {
        @if !worst.is_empty() {
            h3 { "The operations that others waited in longest" }
            p.look { "Look for one GPU or one communicator that comes again and again." }
            (Table::new("The worst operations", &columns, 5, rows).open())
        }
    }
}
