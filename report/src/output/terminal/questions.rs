//! The three questions, each answered in at most 15 lines of 80 characters, whatever the number of ranks.

use super::super::names::ReportNames;
use super::super::sentences;
use super::super::units::{UNKNOWN, part_of, share, time};
use super::cell::{self, NOT_RESOLVED};
use super::fitted::{TableRoom, fitted, prose};
use super::grouped::groups;
use super::ranks;
use crate::answer::{Budget, GpuBudget, Report};
use common::report::TextTable;

/// Largest number of lines of an answer.
pub(super) const LINES: usize = 15;
/// Largest number of rows of an answer's table.
const ROWS: usize = 5;

/// Puts a question, its answer and a table with as many rows as there is room for below each other.
fn answered(question: &str, answer: &str, view: &TableRoom, table: impl Fn(&TableRoom) -> String) -> String {
    let above = format!("{question}\n{}", prose(answer, view));
    let with = |top| above.clone() + &table(&TableRoom { top, ..*view });
    let fits = |text: &String| text.lines().count() <= LINES;
    // without room for one row, the sentence must do
    (1..=view.top.min(ROWS)).rev().map(with).find(fits).unwrap_or(above)
}

/// Answers which rank is late.
pub(super) fn late(report: &Report, view: &TableRoom) -> String {
    answered("Which rank is late?", &sentences::late(report), view, |view| ranks::found(report, view))
}

/// Writes a wait a step, unless the mean wait of a call is below the clocks' error.
pub(super) fn wait(report: &Report, calls: u64, sum_us: f64, shown_us: f64) -> String {
    let is_resolved = calls > 0 && cell::is_resolved(sum_us / calls as f64, &report.complete);
    if is_resolved { time(shown_us) } else { NOT_RESOLVED.into() }
}

/// A line of the budget: its name, and its time.
type BudgetLine = (&'static str, fn(&GpuBudget) -> u64);

const WITH_KERNELS: [BudgetLine; 5] = [
    ("waiting", |gpu| gpu.waiting_ns),
    ("transferring", |gpu| gpu.transferring_ns),
    ("beside computing", |gpu| gpu.overlapped_ns),
    ("computing", |gpu| gpu.computing_ns),
    ("neither", |gpu| gpu.idle_ns),
];
const WITHOUT_KERNELS: [BudgetLine; 3] =
    [("waiting", |gpu| gpu.waiting_ns), ("transferring", |gpu| gpu.transferring_ns), ("no NCCL", |gpu| gpu.idle_ns)];

/// Answers what communication costs a step.
pub(super) fn cost(report: &Report, view: &TableRoom) -> String {
    let names = ReportNames::of(report);
    let table = |view: &TableRoom| {
        let Some(budget) = report.budget.known().filter(|budget| budget.whole.total_ns > 0) else {
            return String::new();
        };
        let entries: &[BudgetLine] = if budget.with_kernels { &WITH_KERNELS } else { &WITHOUT_KERNELS };
        let heading = if budget.of_steps { "a step" } else { "in all" };
        let heading = ["time", heading, "share", "least", "least of", "most", "most of"];
        let rows = entries.iter().map(|&(name, of)| entry(budget, &names, name, of));
        fitted(TextTable::new(heading, 1, &["least of", "least", "most of"]), rows, view, "")
    };
    answered("What does communication cost a step?", &sentences::cost(report), view, table)
}

fn entry(budget: &Budget, names: &ReportNames<'_>, name: &str, of: fn(&GpuBudget) -> u64) -> [String; 7] {
    let steps = budget.steps.max(1) as f64;
    let text = |ns: u64, gpus: usize| time(ns as f64 / 1e3 / steps / gpus.max(1) as f64);
    let least = budget.gpus.iter().enumerate().min_by_key(|(_, gpu)| of(gpu));
    // the first one of the largest
    let most = budget.gpus.iter().enumerate().rev().max_by_key(|(_, gpu)| of(gpu));
    let time_of = |gpu: Option<(usize, &GpuBudget)>| gpu.map_or_else(|| UNKNOWN.into(), |(_, gpu)| text(of(gpu), 1));
    let name_of = |gpu: Option<(usize, &GpuBudget)>| {
        gpu.map_or_else(|| UNKNOWN.into(), |(place, _)| cell::name(&names.gpu(place)))
    };
    // waits that are unknown are in the time of transfers
    if !sentences::waits_are_known(budget) && matches!(name, "waiting" | "transferring") {
        return [name, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN].map(str::to_owned);
    }
    [
        name.to_owned(),
        text(of(&budget.whole), budget.gpus.len()),
        share(part_of(of(&budget.whole) as f64, budget.whole.total_ns as f64)),
        time_of(least),
        name_of(least),
        time_of(most),
        name_of(most),
    ]
}

/// Answers whether the network is as fast as it should be.
pub(super) fn network(report: &Report, view: &TableRoom) -> String {
    let table = |view: &TableRoom| {
        let groups = report.speed.known().map(|speed| groups(&speed.rows)).unwrap_or_default();
        if groups.is_empty() {
            return String::new();
        }
        let rows = groups.iter().map(|group| {
            let is_resolved = group.median_us.is_none_or(|[least, _]| cell::is_resolved(least, &report.complete));
            let [least, most] = group.busbw.filter(|_| is_resolved).map_or([None, None], |range| range.map(Some));
            let median = |[_, most]: [f64; 2]| cell::resolved(most, &report.complete);
            [
                cell::name(&group.function),
                cell::name(&group.dimension),
                group.nranks.to_string(),
                cell::size(group.bytes[0], group.bytes[1]),
                group.communicators.to_string(),
                group.median_us.map_or_else(|| UNKNOWN.into(), median),
                cell::rate(least),
                cell::rate(most),
                cell::part(group.utilisation.filter(|_| is_resolved)),
            ]
        });
        let heading = [
            "function",
            "dimension",
            "ranks",
            "bytes",
            "comms",
            "median",
            "busbw least GB/s",
            "busbw most GB/s",
            "of link",
        ];
        let of_no_use = ["dimension", "comms", "median", "ranks"];
        fitted(TextTable::new(heading, 2, &of_no_use), rows, view, ": --part speed")
    };
    answered("Is the network as fast as it should be?", &sentences::network(report), view, table)
}
