//! The section on where the time goes: a bar or column for each GPU, the dimensions' shares, and the breakdown by
//! computing, each dimension of parallelism, and neither.

use super::super::names::ReportNames;
use super::super::sentences::{about_breakdown, unplaced, without_kernel};
use super::super::tables::{self, BreakdownParts, BudgetKind, kinds};
use super::super::units::{counted, part_of, share};
use super::draw::{Area, Chart, LegendEntry, Mark, Path, Px, Scale, across, upright};
use super::section::part;
use super::stack::{StackedBar, StackedPart, stack, stacked};
use super::table::PageTable;
use maud::{Markup, Render, html};
use report::answer::{Budget, GpuBudget, Report};

/// Largest number of GPUs that have a bar each; of more, each has a column.
const BARS: usize = 32;
/// Largest number of columns; of more GPUs, neighbours share one.
const COLUMNS: usize = 1024;

/// Writes the section.
pub(super) fn of(report: &Report, names: &ReportNames<'_>) -> Markup {
    part("budget", "Where the time goes", &report.budget, |budget| {
        let kinds = kinds(budget);
        html! {
            @if !budget.of_steps { p { "There are no steps, so this is the whole recording." } }
            (chart(budget, &kinds, report, names))
            (breakdown(budget, report, names))
        }
    })
}

fn of_total(gpu: &GpuBudget, kind: &BudgetKind) -> f64 {
    part_of((kind.of)(gpu) as f64, gpu.total_ns as f64)
}

/// Returns the whole in words: `waiting 3.1 %, ...`.
fn whole(budget: &Budget, kinds: &[BudgetKind]) -> String {
    let texts: Vec<_> =
        kinds.iter().map(|kind| format!("{} {}", kind.heading, share(of_total(&budget.whole, kind)))).collect();
    texts.join(", ")
}

fn chart(budget: &Budget, kinds: &[BudgetKind], report: &Report, names: &ReportNames<'_>) -> Chart<'static> {
    let of = if budget.of_steps { "a step" } else { "the recording" };
    let caption = format!("Budget of {of} by GPU, least waiting first");
    let (size, drawing, note) =
        if budget.gpus.len() <= BARS { bars(budget, kinds, names) } else { columns(budget, kinds, names) };
    Chart {
        id: "budget-chart",
        title: "Budget of each GPU",
        look: "Look for a GPU whose hatched waits are shorter than all others': those wait for it, and no faster \
               network would shorten them.",
        description: format!(
            "Shares of the time of {}, stacked. As a whole: {}.",
            counted(budget.gpus.len() as u64, "GPU"),
            whole(budget, kinds)
        ),
        size,
        key: key(budget),
        drawing,
        notes: html! {
            @if let Some(note) = note { p { (note) } }
            @if !budget.with_kernels { p { "Computation is unknown without kernels (--kernels, --nsys)." } }
            @if let Some(overlap) = budget.overlap {
                p { "Of the time with NCCL under way, " (share(overlap)) " is beside computation." }
            }
            @let without = without_kernel(budget);
            @if !without.is_empty() { p { (without.trim()) } }
            @if budget.timed < 1.0 { p { (unplaced(budget).trim()) } }
        },
        below: html! {
            (PageTable::of(caption, &tables::by_gpu(budget, names, true)).without_unknown())
            (PageTable::of("Dimensions of parallelism, means of a GPU and step", &tables::dimensions(budget, report))
                .without_unknown())
        },
    }
}

/// Returns the GPUs that wait least and most, if they differ.
fn extremes(budget: &Budget) -> Option<[usize; 2]> {
    let waiting = |gpu: &GpuBudget| part_of(gpu.waiting_ns as f64, gpu.total_ns as f64);
    let gpus = || budget.gpus.iter().map(waiting).enumerate();
    let least = gpus().min_by(|(_, a), (_, b)| a.total_cmp(b))?.0;
    let most = gpus().max_by(|(_, a), (_, b)| a.total_cmp(b))?.0;
    (least != most).then_some([least, most])
}

type DrawnBudget = ([f64; 2], Markup, Option<String>);

/// Returns the name of the axis of shares.
fn share_of(budget: &Budget) -> &'static str {
    if budget.of_steps { "share of the steps, %" } else { "share of the recording, %" }
}

/// Draws a bar for each GPU, with the whole above.
fn bars(budget: &Budget, kinds: &[BudgetKind], names: &ReportNames<'_>) -> DrawnBudget {
    let row = if budget.gpus.len() <= 8 { 30.0 } else { 20.0 };
    let all = [("all".to_owned(), &budget.whole)].into_iter();
    let rows = all.chain(budget.gpus.iter().enumerate().map(|(gpu, of)| (names.gpu(gpu), of)));
    let bars: Vec<_> = rows.map(|(name, of)| bar(name, of, kinds)).collect();
    let (size, drawing) = stack(&bars, row, 866.0, share_of(budget));
    (size, drawing, None)
}

/// Draws the whole, and the GPUs that wait least and most, for the answer. Returns the size, too.
pub(super) fn proof(budget: &Budget, names: &ReportNames<'_>) -> ([f64; 2], Markup) {
    let mut rows = vec![("all ranks".to_owned(), &budget.whole)];
    if let Some([least, most]) = extremes(budget) {
        let of = |place: usize| budget.gpus.get(place).map(|gpu| (names.gpu(place), gpu));
        rows.extend(of(least).into_iter().chain(of(most)));
    }
    let kinds = kinds(budget);
    let bars: Vec<_> = rows.into_iter().map(|(name, of)| bar(name, of, &kinds)).collect();
    stack(&bars, 34.0, 428.0, share_of(budget))
}

/// Draws a key of the kinds of time with their shares of the whole.
pub(super) fn key(budget: &Budget) -> Markup {
    let text = |kind: &BudgetKind| format!("{}, {}", kind.heading, share(of_total(&budget.whole, kind)));
    let key = |kind: BudgetKind| LegendEntry { class: kind.class(), mark: Mark::Box, text: text(&kind) };
    LegendEntry::draw(&kinds(budget).into_iter().map(key).collect::<Vec<_>>())
}

/// Returns a bar of the kinds of a time.
fn bar<'a>(name: String, gpu: &GpuBudget, kinds: &'a [BudgetKind]) -> StackedBar<'a> {
    let part =
        |kind: &'a BudgetKind| StackedPart { name: kind.heading, class: kind.class(), share: of_total(gpu, kind) };
    StackedBar { name, parts: kinds.iter().map(part).collect() }
}

/// Draws a column for each GPU in their order.
fn columns(budget: &Budget, kinds: &[BudgetKind], names: &ReportNames<'_>) -> DrawnBudget {
    let gpus_in_column = budget.gpus.len().div_ceil(COLUMNS);
    let columns: Vec<GpuBudget> = budget.gpus.chunks(gpus_in_column).map(sum).collect();
    let area = Area { left: 64.0, top: 34.0, right: 866.0, bottom: 290.0 };
    let width = area.width() / columns.len() as f64;
    let y = Scale::linear([0.0, 100.0], [area.bottom, area.top]);
    let x = Scale::linear([0.0, budget.gpus.len() as f64], [area.left, area.right]);
    let mut paths = vec![Path::default(); kinds.len()];
    for (place, gpu) in columns.iter().enumerate() {
        let parts = bar(String::new(), gpu, kinds).parts;
        for ((before, part), path) in stacked(&parts).into_iter().zip(&mut paths) {
            let height = part.share * area.height();
            path.rise(area.left + (place as f64 + 0.5) * width, area.bottom - before * area.height() - height, height);
        }
    }
    let marks = x.marks(8).into_iter().filter(|it| it.fract() == 0.0 && *it < budget.gpus.len() as f64);
    let drawing = html! {
        (across(area, &x, "GPU, in the order of ranks", marks.map(|it| (it, names.gpu(it as usize)))))
        (upright(area, &y, share_of(budget), y.numbers(5)))
        g.columns stroke-width=(Px(width + 0.1)) {
            @for (path, kind) in paths.into_iter().zip(kinds) { path class=(kind.class()) d=(path.data()) {} }
        }
    };
    let note = (gpus_in_column > 1).then(|| format!("Each column is the sum of {gpus_in_column} neighbouring GPUs."));
    ([880.0, area.bottom + 46.0], drawing, note)
}

fn sum(gpus: &[GpuBudget]) -> GpuBudget {
    gpus.iter().fold(GpuBudget::default(), |sum, gpu| GpuBudget {
        total_ns: sum.total_ns.saturating_add(gpu.total_ns),
        waiting_ns: sum.waiting_ns.saturating_add(gpu.waiting_ns),
        transferring_ns: sum.transferring_ns.saturating_add(gpu.transferring_ns),
        overlapped_ns: sum.overlapped_ns.saturating_add(gpu.overlapped_ns),
        computing_ns: sum.computing_ns.saturating_add(gpu.computing_ns),
        idle_ns: sum.idle_ns.saturating_add(gpu.idle_ns),
        not_compared_ns: sum.not_compared_ns.saturating_add(gpu.not_compared_ns),
    })
}

/// Largest number of GPUs that have a bar each; of more, those with least and most of the first part have one.
const BREAKDOWN_BARS: usize = 16;

/// Makes the chart.
fn breakdown<'a>(budget: &'a Budget, report: &Report, names: &'a ReportNames<'a>) -> Chart<'a> {
    let breakdown = BreakdownParts::of(budget);
    let key: Vec<_> = breakdown
        .parts
        .iter()
        .map(|part| LegendEntry {
            class: part.class,
            mark: Mark::Box,
            text: format!("{}, {}", part.name, share(breakdown.of_whole(part))),
        })
        .collect();
    let texts: Vec<&str> = key.iter().map(|entry| entry.text.as_str()).collect();
    let bars = breakdown_bars(&breakdown, names);
    let row = if bars.len() <= 9 { 30.0 } else { 20.0 };
    let axis = if budget.of_steps { "share of the steps, %" } else { "share of the recording, %" };
    let (size, drawing) = stack(&bars, row, 866.0, axis);
    let about = about_breakdown(report, budget, breakdown.counted.len());
    Chart {
        id: "breakdown-chart",
        title: "Breakdown by dimension of parallelism",
        look: "Look for the dimension that takes most of the time beside no computation: a faster one would shorten \
               the step by that share at most.",
        description: format!(
            "Shares of the time of {}, stacked. As a whole: {}.",
            counted(breakdown.counted.len() as u64, "GPU"),
            texts.join("; ")
        ),
        size,
        key: LegendEntry::draw(&key),
        drawing,
        notes: html! { p { (about) } },
        below: PageTable::of("Breakdown by dimension of parallelism", &tables::breakdown(&breakdown, names)).render(),
    }
}

/// Returns a bar of the whole, and of each GPU; of many GPUs, of those with least and most of the first part.
fn breakdown_bars<'a>(breakdown: &BreakdownParts<'a>, names: &ReportNames<'_>) -> Vec<StackedBar<'a>> {
    let bar = |name: String, of: &dyn Fn(usize) -> Option<f64>| StackedBar {
        name,
        parts: breakdown
            .parts
            .iter()
            .enumerate()
            .filter_map(|(place, part)| Some(StackedPart { name: part.name, class: part.class, share: of(place)? }))
            .collect(),
    };
    let of_gpu = |gpu: usize| {
        bar(names.gpu(gpu), &|place| breakdown.parts.get(place).and_then(|part| breakdown.share(part, gpu)))
    };
    let whole = bar("all".into(), &|place| breakdown.parts.get(place).map(|part| breakdown.of_whole(part)));
    let shown: Vec<usize> = if breakdown.counted.len() <= BREAKDOWN_BARS {
        breakdown.counted.clone()
    } else {
        let ends = breakdown.parts.first().and_then(|part| breakdown.ends(part));
        ends.into_iter().flatten().map(|(gpu, _)| gpu).collect()
    };
    std::iter::once(whole).chain(shown.into_iter().map(of_gpu)).collect()
}
