//! The comparison of two runs on a terminal: the answer, what is worth a sentence, and tables of ranks and transfers.

use super::super::sentences::{
    capital,
    two_runs::{communicators, more, own_time, percent, range, text},
};
use super::super::units::{UNKNOWN, counted, sizes, time};
use super::fitted::{TableRoom, cell_name, fitted, prose};
use common::report::TextTable;
use report::compare::{ChangeVerdict, ComparedTransfers, Comparison, RankChanged, Ranks};

/// Most transfers that are in one report alone and are named.
const NAMED: usize = 10;

/// Writes a comparison. `width` is the width of the lines, `top` the largest number of rows of a table.
pub fn two_runs(comparison: &Comparison, width: usize, top: usize) -> String {
    let view = TableRoom { width, top };
    let mut written = prose(&comparison.answer, &view);
    let sentences = more(comparison);
    if !sentences.is_empty() {
        written.push('\n');
        sentences.iter().for_each(|sentence| written += &prose(sentence, &view));
    }
    if let Some(ranks) = comparison.ranks.known() {
        written += &of_ranks(ranks, &view);
    }
    written += &transfers(comparison, &view);
    for (name, only) in comparison.names.iter().zip(&comparison.only).filter(|(_, only)| !only.is_empty()) {
        let named: Vec<String> = only.iter().take(NAMED).map(text).collect();
        let rest = only.len().saturating_sub(NAMED);
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        written += &prose(&format!("Only in {name}: {}{rest}.", named.join("; ")), &view);
    }
    comparison.notes.iter().for_each(|note| written += &prose(note, &view));
    written
}

/// Writes the ranks whose own time has changed beyond the others', those that changed most first.
fn of_ranks(ranks: &Ranks, view: &TableRoom) -> String {
    let mut changed: Vec<&RankChanged> = ranks.rows.iter().filter(|row| row.verdict != ChangeVerdict::Equal).collect();
    if changed.is_empty() {
        return String::new();
    }
    changed.sort_by(|one, other| other.beyond.abs().total_cmp(&one.beyond.abs()));
    let rows = changed.iter().map(|row| {
        let [before, now] = row.own_us.map(time);
        let percents = [row.change, row.others].map(percent);
        let [change, others] = percents;
        [cell_name(&row.name), cell_name(&row.node), row.verdict.text().into(), before, now, change, others]
    });
    let heading = ["rank", "node", "verdict", "before", "now", "change %", "others' %"];
    let all = counted(ranks.rows.len() as u64, "rank");
    let title = capital(own_time(ranks.time));
    format!("\n{title} a step: {} of {all} changed beyond the others\n", changed.len())
        + &fitted(TextTable::new(&heading, 3, &["node", "others' %"]), rows, view, ": --top")
}

fn transfers(comparison: &Comparison, view: &TableRoom) -> String {
    if comparison.rows.is_empty() {
        return String::new();
    }
    let heading = ["transfer of", "function", "verdict", "bytes", "before", "now", "change %", "95 % interval"];
    "\n".to_owned() + &fitted(TextTable::new(&heading, 3, &[]), comparison.rows.iter().map(cells), view, ": --top")
}

fn cells(row: &ComparedTransfers) -> [String; 8] {
    let (subject, transfer) = (&row.subject, &row.transfer);
    let [before, now] = transfer.medians_us.map(time);
    [
        cell_name(&communicators(subject)),
        cell_name(&subject.function),
        transfer.verdict.text().to_owned(),
        sizes(subject.from_bytes, subject.to_bytes),
        before,
        now,
        transfer.change.map_or_else(|| UNKNOWN.into(), percent),
        transfer.interval.map_or_else(|| UNKNOWN.into(), range),
    ]
}
