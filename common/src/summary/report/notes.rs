//! Notes for readers of the figures.

use super::figure::count;
use crate::figures::missing;
use crate::launch::Untimed;
use crate::summary::{Summary, SummaryProcess};
use std::collections::BTreeSet;

/// Something that was counted: its noun, and the rest of the sentence for one and for several.
struct CountedNote {
    noun: &'static str,
    of_one: &'static str,
    of_several: &'static str,
}

const fn counted(noun: &'static str, of_one: &'static str, of_several: &'static str) -> CountedNote {
    CountedNote { noun, of_one, of_several }
}

impl CountedNote {
    fn note(&self, number: u64) -> String {
        let Self { noun, of_one, of_several } = self;
        match number {
            1 => format!("note: 1 {noun} {of_one}"),
            _ => format!("note: {} {noun}s {of_several}", count(number)),
        }
    }
}

/// Returns the number of callbacks that a process' recording lacks. They count as dropped, too.
fn lacking(process: &SummaryProcess) -> u64 {
    process.notes.iter().filter_map(|note| missing::lacking(note)).fold(0, u64::saturating_add)
}

/// Returns the notes, a line each.
pub(super) fn of(summary: &Summary) -> Vec<String> {
    let sum = |field: fn(&SummaryProcess) -> u64| summary.processes.iter().map(field).fold(0, u64::saturating_add);
    let all = [
        (
            sum(|process| process.out_of_step),
            counted(
                "operation",
                "has GPU stamps that may be those of another, which are not used",
                "have GPU stamps that may be those of others, which are not used",
            ),
        ),
        (
            sum(|process| process.invisible),
            counted(
                "call",
                "of NCCL's API was reported no further: nothing is known of what it did",
                "of NCCL's API were reported no further: nothing is known of what they did",
            ),
        ),
        (sum(|process| process.unfinished), counted("operation", "never ended", "never ended")),
        (
            sum(|process| process.dropped.saturating_sub(lacking(process))),
            counted(
                "event",
                "was not recorded: the recording memory was full (NCCL_SCOREP_MEMORY_MB), or the process ended in its callback",
                "were not recorded: the recording memory was full (NCCL_SCOREP_MEMORY_MB), or the process ended in their callbacks",
            ),
        ),
        (
            sum(lacking),
            counted(
                "callback",
                "is not in the recordings, so the figures are too small: a recording that was full has room for more with a \
                 larger NCCL_SCOREP_RECORD_MB",
                "are not in the recordings, so the figures are too small: a recording that was full has room for more with a \
                 larger NCCL_SCOREP_RECORD_MB",
            ),
        ),
        (
            sum(|process| process.unknown_events),
            counted(
                "event",
                "was of a type that this version does not know",
                "were of a type that this version does not know",
            ),
        ),
        (
            sum(|process| process.ignored_handles),
            counted(
                "handle",
                "was stale, stopped or invented, and ignored",
                "were stale, stopped or invented, and ignored",
            ),
        ),
        (
            sum(|process| process.foreign_proxy_ops),
            counted(
                "proxy operation",
                "belongs to another process (PXN) and is not followed",
                "belong to other processes (PXN) and are not followed",
            ),
        ),
        (
            sum(|process| process.skipped),
            counted(
                "operation",
                "is smaller than NCCL_SCOREP_MIN_BYTES and was skipped",
                "are smaller than NCCL_SCOREP_MIN_BYTES and were skipped",
            ),
        ),
        (
            sum(|process| process.orphans),
            counted("event", "belongs to no operation that was recorded", "belong to no operation that was recorded"),
        ),
    ];
    let untimed = Untimed::ALL.map(|cause| {
        let of = |process: &SummaryProcess| process.untimed.get(cause.name()).copied().unwrap_or(0);
        let [of_one, of_several] = cause.meaning();
        (summary.processes.iter().map(of).fold(0, u64::saturating_add), counted("operation", of_one, of_several))
    });
    let said: BTreeSet<&String> =
        summary.processes.iter().flat_map(|process| &process.notes).chain(&summary.notes).collect();
    // the note on what recordings lack is among the counts above
    let said = said.into_iter().filter(|note| missing::lacking(note).is_none());
    let notable = all.into_iter().chain(untimed).filter(|(number, _)| *number > 0);
    notable.map(|(number, counted)| counted.note(number)).chain(said.map(|note| format!("note: {note}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_said_in_the_singular() {
        let notes = |number| {
            let mut summary = Summary::of_nothing("");
            let process = &mut summary.processes[0];
            process.unfinished = number;
            process.dropped = number;
            process.untimed = Untimed::ALL.map(|cause| (cause.name().into(), number)).into_iter().collect();
            of(&summary).join("\n")
        };
        let one = notes(1);
        assert!(
            one.contains("note: 1 operation never ended\n") && one.contains("note: 1 event was not recorded:"),
            "{one}"
        );
        assert!(one.contains("note: 1 operation has no GPU time: it is of a CUDA graph, or beside one\n"), "{one}");
        assert!(!one.contains("1 operations") && !one.contains("1 events") && !one.contains(" have "), "{one}");
        let several = notes(1234);
        assert!(several.contains("note: 1,234 operations never ended\n"), "{several}");
        assert!(several.contains("note: 1,234 operations have no GPU time: no CUDA event was free\n"), "{several}");
    }
}
