//! The three questions, each answered in at most 15 lines of 80 characters, whatever the number of ranks. The table of
//! speeds has one row for each function, dimension, number of ranks and size.

use super::super::names::ReportNames;
use super::super::tables::{BudgetKind, kinds};
use super::super::units::{UNKNOWN, counted, gb_s, is_resolved, known, part_of, resolved, share, sizes, time};
use super::fitted::{TableRoom, cell_name, fitted, prose};
use common::report::TextTable;
use report::analysis::verdict::waits_are_known;
use report::answer::{Budget, CostsWhen, GpuBudget, RankGroup, Report, SpeedRow, Straggler};
use std::collections::BTreeMap;

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
    answered("Which rank is late?", &report.answers.late.text, view, |view| found(report, view))
}

/// Writes those that stand out, for the first answer.
fn found(report: &Report, view: &TableRoom) -> String {
    let Some(stragglers) = report.stragglers.known().filter(|it| !it.found.is_empty()) else {
        return String::new();
    };
    let names = ReportNames::of(report);
    let rows = stragglers.found.iter().map(|it| {
        [
            cell_name(&name(&names, it)),
            time(it.own_us),
            time(it.excess_us),
            known(it.gain_us, time),
            known(it.gain_us, |gain| share(part_of(gain.max(0.0), stragglers.step_us))),
            when(it.when),
        ]
    });
    let heading = ["slow", "own time", "beyond peers", "gain", "of a step", "when"];
    fitted(TextTable::new(&heading, 1, &["when", "own time"]), rows, view, ": --part ranks")
}

fn name(names: &ReportNames<'_>, it: &Straggler) -> String {
    match (it.group, &it.gpus[..]) {
        (RankGroup::Stage, [gpu]) => names.gpu(*gpu),
        _ => it.name.clone(),
    }
}

fn when(when: CostsWhen) -> String {
    match when {
        CostsWhen::Always => "always".into(),
        CostsWhen::Since(step) => format!("since {step}"),
        CostsWhen::Steps { from, to } => format!("{from} to {to}"),
        CostsWhen::Sometimes { steps, .. } => counted(steps, "step"),
    }
}

/// Answers what communication costs a step.
pub(super) fn cost(report: &Report, view: &TableRoom) -> String {
    let names = ReportNames::of(report);
    let table = |view: &TableRoom| {
        let Some(budget) = report.budget.known().filter(|budget| budget.whole.total_ns > 0) else {
            return String::new();
        };
        let heading = if budget.of_steps { "a step" } else { "in all" };
        let heading = ["time", heading, "share", "least", "least of", "most", "most of"];
        let kinds = kinds(budget);
        let rows = kinds.iter().map(|kind| entry(budget, &names, kind));
        fitted(TextTable::new(&heading, 1, &["least of", "least", "most of"]), rows, view, "")
    };
    answered("What does communication cost a step?", &report.answers.cost.text, view, table)
}

fn entry(budget: &Budget, names: &ReportNames<'_>, BudgetKind { heading: name, of, .. }: &BudgetKind) -> [String; 7] {
    let steps = budget.steps.max(1) as f64;
    let text = |ns: u64, gpus: usize| time(ns as f64 / 1e3 / steps / gpus.max(1) as f64);
    let least = budget.gpus.iter().enumerate().min_by_key(|(_, gpu)| of(gpu));
    // the first one of the largest
    let most = budget.gpus.iter().enumerate().rev().max_by_key(|(_, gpu)| of(gpu));
    let time_of = |gpu: Option<(usize, &GpuBudget)>| gpu.map_or_else(|| UNKNOWN.into(), |(_, gpu)| text(of(gpu), 1));
    let name_of = |gpu: Option<(usize, &GpuBudget)>| {
        gpu.map_or_else(|| UNKNOWN.into(), |(place, _)| cell_name(&names.gpu(place)))
    };
    // waits that are unknown are in the time of transfers
    if !waits_are_known(budget) && matches!(*name, "waiting" | "transferring") {
        return [*name, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN].map(str::to_owned);
    }
    [
        (*name).to_owned(),
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
            let is_resolved = group.median_us.is_none_or(|[least, _]| is_resolved(least, &report.complete));
            let [least, most] = group.busbw.filter(|_| is_resolved).map_or([None, None], |range| range.map(Some));
            let median = |[_, most]: [f64; 2]| resolved(most, &report.complete);
            [
                cell_name(&group.function),
                cell_name(&group.dimension),
                group.nranks.to_string(),
                sizes(group.bytes[0], group.bytes[1]),
                group.communicators.to_string(),
                known(group.median_us, median),
                known(least, gb_s),
                known(most, gb_s),
                known(group.utilisation.filter(|_| is_resolved), share),
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
        fitted(TextTable::new(&heading, 2, &of_no_use), rows, view, ": --part speed")
    };
    answered("Is the network as fast as it should be?", &report.answers.network.text, view, table)
}

/// Rows of one function, dimension, number of ranks and size.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RowGroup {
    /// Function.
    pub(super) function: String,
    /// Dimension.
    pub(super) dimension: String,
    /// Number of ranks.
    pub(super) nranks: i32,
    /// Smallest and largest bytes.
    pub(super) bytes: [u64; 2],
    /// Communicators.
    pub(super) communicators: usize,
    /// Least and largest median time of the transfer among the rows, microseconds.
    pub(super) median_us: Option<[f64; 2]>,
    /// Least and largest bus bandwidth among the rows, GB/s.
    pub(super) busbw: Option<[f64; 2]>,
    /// Least share of the link among the rows.
    pub(super) utilisation: Option<f64>,
    /// Sum over rows of the median times the operations that were compared, microseconds.
    pub(super) time_us: f64,
}

/// Puts rows together; the group with most time comes first.
pub(super) fn groups(rows: &[SpeedRow]) -> Vec<RowGroup> {
    let mut groups: BTreeMap<_, Vec<&SpeedRow>> = BTreeMap::new();
    for row in rows {
        let key = (&row.function, &row.dimension, row.nranks, row.from_bytes, row.to_bytes);
        groups.entry(key).or_default().push(row);
    }
    let group =
        |((function, dimension, nranks, from, to), rows): ((&String, &String, i32, u64, u64), Vec<&SpeedRow>)| {
            let mut communicators: Vec<&str> = rows.iter().map(|row| row.comm.as_str()).collect();
            communicators.sort_unstable();
            communicators.dedup();
            RowGroup {
                function: function.clone(),
                dimension: dimension.clone(),
                nranks,
                bytes: [from, to],
                communicators: communicators.len(),
                median_us: range(rows.iter().filter_map(|row| row.median_us)),
                busbw: range(rows.iter().filter_map(|row| row.busbw)),
                utilisation: range(rows.iter().filter_map(|row| row.utilisation)).map(|[least, _]| least),
                time_us: rows.iter().map(|row| row.median_us.unwrap_or_default() * row.compared as f64).sum(),
            }
        };
    let mut groups: Vec<RowGroup> = groups.into_iter().map(group).collect();
    groups.sort_by(|one, other| other.time_us.total_cmp(&one.time_us));
    groups
}

fn range(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.fold(None, |range, value| {
        let [least, most] = range.unwrap_or([value, value]);
        Some([value.min(least), value.max(most)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communicators_of_one_kind_are_one_row() {
        let row = |comm: &str, busbw| SpeedRow {
            function: "AllReduce".into(),
            comm: comm.into(),
            dimension: "DP".into(),
            nranks: 8,
            from_bytes: 64,
            to_bytes: 64,
            compared: 10,
            median_us: Some(100.0 / busbw),
            busbw: Some(busbw),
            ..SpeedRow::default()
        };
        let other = SpeedRow { from_bytes: 128, to_bytes: 128, ..row("a", 4.0) };
        let groups = groups(&[row("a", 5.0), row("b", 2.0), row("b", 4.0), other]);
        assert_eq!(groups.len(), 2);
        assert_eq!((groups[0].communicators, groups[0].busbw), (2, Some([2.0, 5.0])));
        assert_eq!((groups[0].median_us, groups[0].utilisation), (Some([20.0, 50.0]), None));
        assert_eq!(groups[0].time_us, 10.0 * (20.0 + 50.0 + 25.0));
    }
}
