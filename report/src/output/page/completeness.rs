//! The section on the inputs: ranks and operations that are here or missing, and how well clocks are known.

use super::super::names::ReportNames;
use super::super::tables;
use super::super::units::{count, known, time};
use super::section::section;
use super::table::PageTable;
use crate::answer::Complete;
use maud::{Markup, html};

/// Writes the section.
pub(super) fn of(complete: &Complete, names: &ReportNames<'_>) -> Markup {
    let unread: Vec<_> = complete.inputs.iter().filter_map(|input| input.problem.as_ref()).collect();
    section(
        "complete",
        "Is all there?",
        html! {
            (counts(complete))
            @if !unread.is_empty() {
                h3 { "Inputs that were left out" }
                ul.problems {
                @for problem in unread.iter().take(50) { li { (problem) } }
            }
                @if unread.len() > 50 { p.note { "And " (count(unread.len() as u64 - 50)) " more." } }
            }
            @if !complete.notes.is_empty() {
                h3 { "Remarks" }
                ul.problems { @for note in &complete.notes { li { (note) } } }
            }
            (PageTable::of("Communicators that lack ranks or have one twice", &tables::lacking(complete, names)).open())
            (PageTable::of("Inputs", &tables::inputs(complete)))
        },
    )
}

/// Writes the figures; those that speak of a lack are marked by a word, too.
fn counts(complete: &Complete) -> Markup {
    let here = complete.ranks.map_or_else(
        || count(complete.ranks_here),
        |ranks| format!("{} of {}", count(complete.ranks_here), count(ranks)),
    );
    let lack = |number: u64, meaning: &'static str| (count(number), meaning, number > 0);
    let figures = [
        (here, "ranks are here", complete.ranks.is_some_and(|ranks| ranks != complete.ranks_here)),
        (count(complete.operations), "operations of all ranks", false),
        lack(complete.untimed, "operations without a GPU time: in no wait and no budget"),
        (count(complete.matched), "operations matched over all their ranks, counted once a communicator", false),
        lack(complete.unmatched, "operations of which a rank is missing"),
        (count(complete.compared), "operations whose ranks' times were compared", false),
        lack(complete.dropped, "events not recorded"),
        lack(complete.unfinished, "operations that never ended"),
        lack(complete.invisible, "calls that NCCL reports no operation of"),
        (count(complete.nodes), "machines whose clocks were compared", false),
        (
            known(complete.clock_error_us, time),
            "largest error of a clock, guaranteed",
            complete.clock_error_us.is_none(),
        ),
        (known(complete.wait_error_us, time), "error of a wait that 19 of 20 do not exceed", false),
    ];
    html! {
        dl.facts { @for (figure, meaning, is_lack) in figures {
            div.lack[is_lack] { dt { (meaning) } dd { (figure) @if is_lack { span.flag { " !" } } } }
        } }
    }
}
