//! The summary as tables for a person.

mod arrivals;
mod bandwidth;
mod communicators;
mod figure;
mod jobs;
mod operations;
mod order;
mod table;
mod transfers;

use crate::launch::Untimed;
use crate::summary::{Process, Summary};
use figure::count;
use std::fmt::Write;

pub use jobs::view_of_jobs;
pub use order::Order;
pub use table::{ROWS, Table, View};

/// The tables: operations by function, transfers by pair of ranks, who arrives late, and what was not measured.
pub fn tables(summary: &Summary) -> String {
    view(summary, &View::default())
}

/// The same, shown otherwise.
pub fn view(summary: &Summary, view: &View) -> String {
    let mut text = communicators::tables(summary, view);
    text += &operations::tables(summary, view);
    text += &transfers::tables(summary, view);
    text += &bandwidth::tables(summary, view);
    text += &arrivals::tables(summary, view);
    let notes = notes(summary);
    if !notes.is_empty() {
        let _ = writeln!(text, "\n{}", notes.join("\n"));
    }
    text
}
/// What a reader of the figures must know.
fn notes(summary: &Summary) -> Vec<String> {
    let sum = |field: fn(&Process) -> u64| summary.processes.iter().map(field).fold(0, u64::saturating_add);
    let all = [
        (sum(|process| process.out_of_step), "operations have GPU stamps that may be those of others, which are not used"),
        (sum(|process| process.invisible), "calls of NCCL's API were reported no further: nothing is known of what they did"),
        (sum(|process| process.unfinished), "operations never ended"),
        (
            sum(|process| process.dropped),
            "events were not recorded: the recording memory was full (NCCL_SCOREP_MEMORY_MB), or a recording lacks them",
        ),
        (sum(|process| process.unknown_events), "events were of a type that this version does not know"),
        (sum(|process| process.ignored_handles), "handles were stale, stopped or invented, and ignored"),
        (sum(|process| process.foreign_proxy_ops), "proxy operations belong to other processes (PXN) and are not followed"),
        (sum(|process| process.skipped), "operations are smaller than NCCL_SCOREP_MIN_BYTES and were skipped"),
        (sum(|process| process.orphans), "events belong to no operation that was recorded"),
    ];
    let untimed = Untimed::ALL.map(|cause| {
        let of = |process: &Process| process.untimed.get(cause.name()).copied().unwrap_or(0);
        (summary.processes.iter().map(of).sum::<u64>(), cause.meaning())
    });
    let told: std::collections::BTreeSet<&String> =
        summary.processes.iter().flat_map(|process| &process.notes).chain(&summary.notes).collect();
    let told = told.into_iter().map(|note| format!("note: {note}"));
    let notable = all.into_iter().chain(untimed).filter(|(number, _)| *number > 0);
    notable.map(|(number, text)| format!("note: {} {text}", count(number))).chain(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_summary_says_so() {
        let text = tables(&Summary::merge(vec![]));
        assert!(text.starts_with("No transfers"), "{text}");
    }
}
