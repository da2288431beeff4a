//! The tables of transfers over the network, with the sentences above them.

use super::super::names::ReportNames;
use super::super::sentences::pair_states;
use super::super::tables;
use super::fitted::{TableRoom, chapter, known, prose};
use crate::answer::{PairStates, Report};

/// Largest number of pairs that are described in words.
const IN_WORDS: usize = 3;

/// Writes the times by state.
pub(super) fn states(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.transfers, view, |transfers| {
        if transfers.states.is_empty() {
            return prose("NCCL reported no transfer with all of its states.", view);
        }
        let mut longest: Vec<&PairStates> = transfers.states.iter().collect();
        longest.sort_by(|one, other| other.whole_us().total_cmp(&one.whole_us()));
        let text = longest.iter().take(IN_WORDS.min(view.top)).map(|pair| prose(&pair_states(pair, names), view));
        text.collect::<String>() + &chapter(&tables::states(transfers, names), view, "")
    })
}

/// Writes the transfers of operations.
pub(super) fn of_operations(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.transfers, view, |transfers| {
        if transfers.operations.is_empty() {
            return prose("No operation sent over the network.", view);
        }
        chapter(&tables::transfers(transfers, names), view, "")
    })
}
