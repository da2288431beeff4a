//! Tables about ranks: inputs and ranks that are missing, communicators, and where ranks stand.

use super::super::names::ReportNames;
use super::super::units::{UNKNOWN, bytes, count, counted, known as or_unknown, time};
use super::cell;
use super::fitted::{TableRoom, fitted, known, prose};
use crate::answer::{Behind, Report, Whereabouts};
use common::report::TextTable;

/// Writes inputs that were left out, communicators that lack ranks, and remarks.
pub(super) fn complete(report: &Report, view: &TableRoom) -> String {
    let complete = &report.complete;
    let mut text = String::new();
    let problems: Vec<&str> = complete.inputs.iter().filter_map(|input| input.problem.as_deref()).collect();
    for problem in problems.iter().take(view.top) {
        text += &prose(&format!("left out: {problem}"), view);
    }
    if problems.len() > view.top {
        text += &prose(&format!("{} more are left out", count((problems.len() - view.top) as u64)), view);
    }
    for note in &complete.notes {
        text += &prose(&format!("note: {note}"), view);
    }
    text += &prose(
        &format!(
            "{} matched over all ranks, {} not; {} compared; {}.",
            counted(complete.matched, "operation"),
            count(complete.unmatched),
            count(complete.compared),
            counted(complete.nodes, "machine")
        ),
        view,
    );
    if !complete.communicators.is_empty() {
        let rows = complete.communicators.iter().map(|row| {
            let ranges = |text: &str| if text.is_empty() { UNKNOWN.into() } else { cell::name(text) };
            [
                cell::name(&row.comm),
                row.nranks.to_string(),
                count(row.here),
                ranges(&row.missing),
                ranges(&row.repeated),
            ]
        });
        let heading = ["communicator", "ranks", "found", "missing", "repeated"];
        text += &fitted(TextTable::new(heading, 1, &[]), rows, view, "");
    }
    text
}

/// Writes the communicators.
pub(super) fn communicators(report: &Report, view: &TableRoom) -> String {
    let names = ReportNames::of(report);
    known(&report.communicators, view, |communicators| {
        let rows = communicators.rows.iter().map(|row| {
            [
                cell::name(&row.comm),
                if row.name.is_empty() { UNKNOWN.into() } else { cell::name(&row.name) },
                cell::name(&row.dimension.name),
                cell::origin(row.dimension.origin).to_owned(),
                cell::name(&row.members),
                row.parent.as_deref().map_or_else(|| UNKNOWN.into(), |comm| cell::name(&names.communicator(comm))),
                format!("{} of {}", count(row.here), row.nranks),
                if row.nnodes > 0 { row.nnodes.to_string() } else { UNKNOWN.into() },
                or_unknown(row.made_us, time),
                or_unknown(row.init_us, time),
                count(row.operations),
                bytes(row.bytes as f64),
            ]
        });
        let heading = [
            "communicator",
            "name",
            "dimension",
            "from",
            "members",
            "parent",
            "ranks",
            "nodes",
            "made",
            "first to last init",
            "operations",
            "bytes",
        ];
        let dispensable = ["parent", "made", "bytes", "operations", "from", "first to last init", "nodes", "name"];
        fitted(TextTable::new(heading, 6, &dispensable), rows, view, "")
    })
}

/// Writes the communicators that are not over, each with where its ranks stand.
pub(super) fn unfinished(report: &Report, view: &TableRoom) -> String {
    let names = ReportNames::of(report);
    known(&report.unfinished, view, |unfinished| {
        let mut text = prose(&format!("{} over.", counted(unfinished.over, "communicator")), view);
        for behind in unfinished.communicators.iter().take(view.top) {
            text += &prose(&about(behind, &names), view);
            let rows = behind.ranks.iter().map(|row| whereabouts(row, &names));
            let heading = ["rank", "GPU", "begun", "ended", "last begun", "last ended"];
            text += &fitted(TextTable::new(heading, 0, &["GPU", "ended"]), rows, view, "");
        }
        let more = unfinished.communicators.len().saturating_sub(view.top);
        if more > 0 {
            text += &prose(&format!("{} more communicators are not over", count(more as u64)), view);
        }
        text
    })
}

fn about(behind: &Behind, names: &ReportNames<'_>) -> String {
    let mut text = format!("Communicator {} is not over.", names.communicator(&behind.comm));
    if !behind.behind.is_empty() {
        text += &format!(" Behind: rank {}.", behind.behind);
    }
    if let Some(differs) = &behind.differs {
        let ((one, its), (other, others)) = (&differs.one, &differs.other);
        text +=
            &format!(" Operation {} differs: rank {one} has {its}, rank {other} has {others}.", count(differs.order));
    }
    text
}

fn whereabouts(row: &Whereabouts, names: &ReportNames<'_>) -> [String; 6] {
    let operation = |last: &Option<(String, Option<u64>, u64)>| {
        let Some((function, number, size)) = last else { return UNKNOWN.into() };
        let number = number.map_or_else(String::new, |number| format!(" {number}"));
        format!("{}{number}, {}", cell::name(function), bytes(*size as f64))
    };
    [
        row.rank.to_string(),
        cell::name(&names.gpu(row.gpu)),
        count(row.begun),
        count(row.ended),
        operation(&row.last_begun),
        operation(&row.last_ended),
    ]
}
