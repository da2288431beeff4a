//! The tables of the chapters, each stated once: the terminal and the page show the columns for people, CSV and Parquet
//! the same figures under the names for programs.
//!
//! | file | tables |
//! |---|---|
//! | `time.rs` | steps, budget, windows between phases |
//! | `breakdown.rs` | the breakdown of the time |
//! | `ranks.rs` | own times, pauses, waits, operations that others waited for |
//! | `conditions.rs` | conditions of processes and GPUs |
//! | `network.rs` | speed, pairs |
//! | `transfers.rs` | transfers over the network by state, and of operations |
//! | `choices.rs` | NCCL's own choices, findings of a watch |
//! | `members.rs` | inputs, communicators, where their ranks stand, operations by tag |

mod breakdown;
mod choices;
mod conditions;
mod members;
mod network;
mod ranks;
mod time;
mod transfers;

pub(super) use breakdown::{BreakdownParts, breakdown};
pub(super) use choices::{choices, fallbacks, findings};
pub(super) use conditions::conditions;
pub(super) use members::{communicators, inputs, lacking, tags, whereabouts};
pub(super) use network::{pairs, speed};
pub(super) use ranks::{events, own_times, waits, worst};
pub(super) use time::{BudgetKind, by_gpu, dimensions, kinds, lengths, slowest, steps_in_length, windows};
pub(super) use transfers::{states, transfers};

use super::Chapter;
use super::names::ReportNames;
use super::sheet::{ReportTable, Sheet, SheetWriter};
use report::Unwritten;
use report::answer::Report;
use std::path::Path;

/// Writes the tables of a report for programs into a directory, a file each.
///
/// # Errors
/// The first file that cannot be written.
pub fn write<W: SheetWriter>(report: &Report, directory: &Path) -> Result<(), Unwritten> {
    sheets(report).iter().try_for_each(|sheet| {
        let mut file = W::create(directory, sheet.name)?;
        file.add(sheet)?;
        file.close()
    })
}

/// Makes the tables of a report for programs. An absent part has none; the table `absent` says why.
pub(super) fn sheets(report: &Report) -> Vec<Sheet> {
    let names = &ReportNames::of(report);
    let mut sheets = vec![inputs(&report.complete).sheet()];
    if let Some(steps) = report.steps.known() {
        sheets.extend([lengths(steps).sheet(), slowest(steps, report, names).sheet()]);
    }
    if let Some(budget) = report.budget.known() {
        let parts = &BreakdownParts::of(budget);
        sheets.extend([by_gpu(budget, names, false).sheet(), breakdown(parts, names).sheet()]);
        sheets.extend([breakdown::by_gpu(parts, names).sheet(), dimensions(budget, report).sheet()]);
    }
    if let Some(phases) = report.phases.known() {
        sheets.extend([windows(&phases.windows).sheet(), time::bins(&phases.windows).sheet()]);
    }
    if let Some(stragglers) = report.stragglers.known() {
        sheets.extend([own_times(stragglers, names).sheet(), events(stragglers, names).sheet()]);
    }
    sheets.extend(report.conditions.known().map(|part| conditions(part, report, names).sheet()));
    sheets.extend(report.findings.known().map(|part| findings(part).sheet()));
    if let Some(late) = report.late.known() {
        sheets.extend([waits(late, report, names).sheet(), worst(late, report, names).sheet()]);
    }
    sheets.extend(report.speed.known().map(|part| speed(part, report, names).sheet()));
    sheets.extend(report.pairs.known().map(|part| pairs(part, report, names).sheet()));
    if let Some(part) = report.transfers.known() {
        sheets.extend([states(part, names).sheet(), transfers(part, names).sheet()]);
    }
    sheets.extend(report.communicators.known().map(|part| communicators(part, names).sheet()));
    sheets.extend(report.tags.known().map(|part| tags(part).sheet()));
    if let Some(part) = report.choices.known() {
        sheets.extend([choices(part, names).sheet(), fallbacks(part, names).sheet()]);
    }
    sheets.extend(report.unfinished.known().map(|part| whereabouts(&part.communicators, names).sheet()));
    sheets.extend(Some(absent(report)).filter(|sheet| !sheet.is_empty()));
    sheets
}

fn absent(report: &Report) -> Sheet {
    let reasons = [
        (Chapter::Steps, report.steps.absent()),
        (Chapter::Budget, report.budget.absent()),
        (Chapter::Phases, report.phases.absent()),
        (Chapter::Ranks, report.stragglers.absent()),
        (Chapter::Conditions, report.conditions.absent()),
        (Chapter::Findings, report.findings.absent()),
        (Chapter::Late, report.late.absent()),
        (Chapter::Speed, report.speed.absent()),
        (Chapter::Pairs, report.pairs.absent()),
        (Chapter::Transfers, report.transfers.absent()),
        (Chapter::Communicators, report.communicators.absent()),
        (Chapter::Tags, report.tags.absent()),
        (Chapter::Nccl, report.choices.absent()),
        (Chapter::Unfinished, report.unfinished.absent()),
    ];
    let rows = reasons.into_iter().filter_map(|(chapter, reason)| Some((chapter.name(), reason?)));
    ReportTable::new("absent", rows).value("part", |(part, _)| part).value("reason", |(_, reason)| reason).sheet()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;
    use std::collections::BTreeSet;

    fn check<'a, T: Copy + 'a>(table: &ReportTable<'a, T>) {
        let headings: Vec<&str> = table.headings().map(|heading| heading.text).collect();
        let distinct: BTreeSet<&str> = headings.iter().copied().collect();
        assert_eq!(distinct.len(), headings.len(), "{headings:?}");
        let missing: Vec<_> = table.dispensable().iter().filter(|heading| !distinct.contains(**heading)).collect();
        assert!(missing.is_empty(), "{missing:?} of {headings:?}");
    }

    #[test]
    fn headings_are_distinct_and_those_that_may_be_left_out_are_there() {
        let report = &sample(4);
        let names = &ReportNames::of(report);
        check(&inputs(&report.complete));
        check(&lacking(&report.complete, names));
        let steps = report.steps.known().unwrap();
        check(&slowest(steps, report, names));
        check(&lengths(steps));
        let budget = report.budget.known().unwrap();
        check(&by_gpu(budget, names, true));
        check(&breakdown(&BreakdownParts::of(budget), names));
        check(&dimensions(budget, report));
        check(&windows(&report.phases.known().unwrap().windows));
        let stragglers = report.stragglers.known().unwrap();
        check(&own_times(stragglers, names));
        check(&events(stragglers, names));
        check(&conditions(report.conditions.known().unwrap(), report, names));
        check(&findings(report.findings.known().unwrap()));
        let late = report.late.known().unwrap();
        check(&waits(late, report, names));
        check(&worst(late, report, names));
        check(&speed(report.speed.known().unwrap(), report, names));
        check(&pairs(report.pairs.known().unwrap(), report, names));
        let network = report.transfers.known().unwrap();
        check(&states(network, names));
        check(&transfers(network, names));
        check(&communicators(report.communicators.known().unwrap(), names));
        check(&tags(report.tags.known().unwrap()));
        check(&choices(report.choices.known().unwrap(), names));
        check(&whereabouts(&report.unfinished.known().unwrap().communicators, names));
    }
}
