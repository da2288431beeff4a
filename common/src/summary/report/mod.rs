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

use crate::figures::missing;
use crate::launch::Untimed;
use crate::summary::{Process, Summary};
use figure::count;
use std::fmt::Write;

pub use jobs::view_of_jobs;
pub use order::Order;
pub use table::{ROWS, View};

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

/// Callbacks that the recording of a process lacks; they are among those dropped.
fn lacking(process: &Process) -> u64 {
    process.notes.iter().filter_map(|note| missing::lacking(note)).fold(0, u64::saturating_add)
}

/// What a reader of the figures must know.
fn notes(summary: &Summary) -> Vec<String> {
    let sum = |field: fn(&Process) -> u64| summary.processes.iter().map(field).fold(0, u64::saturating_add);
    let all = [
        (sum(|process| process.out_of_step), "operations have GPU stamps that may be those of others, which are not used"),
        (sum(|process| process.invisible), "calls of NCCL's API were reported no further: nothing is known of what they did"),
        (sum(|process| process.unfinished), "operations never ended"),
        (
            sum(|process| process.dropped.saturating_sub(lacking(process))),
            "events were not recorded: the recording memory was full (NCCL_SCOREP_MEMORY_MB), or signal handlers left their callbacks",
        ),
        (
            sum(lacking),
            "callbacks are not in the recordings, so the figures are too small: a recording that was full has room for more with a \
             larger NCCL_SCOREP_RECORD_MB",
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
    // of what recordings lack there is one line above
    let told = told.into_iter().filter(|note| missing::lacking(note).is_none()).map(|note| format!("note: {note}"));
    let notable = all.into_iter().chain(untimed).filter(|(number, _)| *number > 0);
    notable.map(|(number, text)| format!("note: {} {text}", count(number))).chain(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_recorded_has_one_cause_a_note() {
        let mut summary = Summary::of_nothing("the recording lacks 70 callbacks: the figures are too small");
        let shown = |summary: &Summary, dropped| {
            let mut summary = summary.clone();
            summary.processes[0].dropped = dropped;
            notes(&summary)
        };
        let lacking = "note: 70 callbacks are not in the recordings, so the figures are too small: a recording that was full has \
                       room for more with a larger NCCL_SCOREP_RECORD_MB";
        let full =
            |number| format!("note: {number} events were not recorded: the recording memory was full (NCCL_SCOREP_MEMORY_MB)");
        assert_eq!(shown(&summary, 70), [lacking]);
        assert_eq!(shown(&summary, 77), [full(7), lacking.into()]);
        summary.processes[0].notes.clear();
        assert_eq!(shown(&summary, 7), [full(7)]);
    }

    #[test]
    fn an_empty_summary_says_so() {
        let text = tables(&Summary::merge(vec![]));
        assert!(text.starts_with("No transfers"), "{text}");
    }
}
