//! The summary as tables for people.

mod arrivals;
mod bandwidth;
mod communicators;
mod figure;
mod jobs;
mod network;
mod notes;
mod nvlink;
mod operations;
mod order;
mod states;
mod table;
mod transfers;
mod unlike_channels;

use crate::summary::Summary;
use std::fmt::Write;

pub use figure::count;
pub use jobs::view_of_jobs;
pub use operations::tables as operations;
pub use order::PairOrder;
pub use table::{ROWS, TextTable, View};
pub use transfers::tables as transfers;

/// Writes the tables: operations by function, transfers by pair of ranks, late ranks, and what was not measured.
pub fn tables(summary: &Summary) -> String {
    view(summary, &View::default())
}

/// Writes the tables in another view.
pub fn view(summary: &Summary, view: &View) -> String {
    let mut text = communicators::tables(summary, view);
    text += &operations::tables(summary, view);
    text += &transfers::tables(summary, view);
    text += &states::tables(summary, view);
    text += &network::tables(summary, view);
    text += &bandwidth::tables(summary, view);
    text += &arrivals::tables(summary, view);
    text += &nvlink::tables(summary, view);
    let notes = notes::of(summary);
    if !notes.is_empty() {
        let _ = writeln!(text, "\n{}", notes.join("\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_recorded_has_one_cause_a_note() {
        let mut summary = Summary::of_nothing("");
        // other tests of this program may leave notes
        summary.processes[0].notes = vec!["the recording lacks 70 callbacks: the figures are too small".into()];
        let shown = |summary: &Summary, dropped| {
            let mut summary = summary.clone();
            summary.processes[0].dropped = dropped;
            notes::of(&summary)
        };
        let lacking = "note: 70 callbacks are not in the recordings, so the figures are too small: a recording that was full has \
                       room for more with a larger NCCL_SCOREP_RECORD_MB";
        let full = |number| {
            format!(
                "note: {number} events were not recorded: the recording memory was full (NCCL_SCOREP_MEMORY_MB), or the process \
                 ended in their callbacks"
            )
        };
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
