//! The chart of the breakdown of the time: computing, each dimension of parallelism, neither.

use super::super::names::ReportNames;
use super::super::sentences::about_breakdown;
use super::super::tables::{self, BreakdownParts};
use super::super::units::{counted, share};
use super::draw::{Chart, LegendEntry, Mark};
use super::stack::{StackedBar, StackedPart, stack};
use super::table::PageTable;
use crate::answer::{Budget, Report};
use maud::{Render, html};

/// Largest number of GPUs that have a bar each; of more, those with least and most of the first part have one.
const BARS: usize = 16;

/// Makes the chart.
pub(super) fn chart<'a>(budget: &'a Budget, report: &Report, names: &'a ReportNames<'a>) -> Chart<'a> {
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
    let bars = bars(&breakdown, names);
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
fn bars<'a>(breakdown: &BreakdownParts<'a>, names: &ReportNames<'_>) -> Vec<StackedBar<'a>> {
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
    let shown: Vec<usize> = if breakdown.counted.len() <= BARS {
        breakdown.counted.clone()
    } else {
        let ends = breakdown.parts.first().and_then(|part| breakdown.ends(part));
        ends.into_iter().flatten().map(|(gpu, _)| gpu).collect()
    };
    std::iter::once(whole).chain(shown.into_iter().map(of_gpu)).collect()
}
