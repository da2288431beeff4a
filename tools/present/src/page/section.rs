//! A section of the page, and the sections that have tables and sentences alone.

use super::super::names::ReportNames;
use super::super::sentences::{about_findings, about_log, about_tags, fallback};
use super::super::tables;
use super::super::units::{count, counted, known, time};
use super::states::{self, ROWS};
use super::table::PageTable;
use super::unbroken::unbroken;
use maud::{Markup, html};
use report::answer::{Behind, Communicators, Complete, Part, Report, Tags, Unfinished, WatchFindings};
use std::slice::from_ref;

/// Writes a section with the id `id`.
pub(super) fn section(id: &str, heading: &str, content: Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-heading" } {
            h2 id={ (id) "-heading" } { (heading) }
            (content)
        }
    }
}

/// Writes a section for a part of the report.
pub(super) fn part<T>(id: &str, heading: &str, part: &Part<T>, content: impl Fn(&T) -> Markup) -> Markup {
    section(
        id,
        heading,
        match part {
            Part::Known(part) => content(part),
            Part::Absent(reason) => absent(reason),
        },
    )
}

/// Says why something is absent.
pub(super) fn absent(reason: &str) -> Markup {
    html! { p.absent { strong { "Not in this report: " } (reason) } }
}

/// Most rows. A program may have a tag for each step.
const TAGS: usize = 64;

/// Writes the section.
pub(super) fn tags(tags: &Part<Tags>) -> Markup {
    part("tags", "Operations by tag", tags, |tags| {
        html! {
            p { (about_tags(tags)) }
            (PageTable::of("Operations by tag", &tables::tags(tags)).without_unknown().first(TAGS))
        }
    })
}

/// Writes the section.
pub(super) fn communicators(communicators: &Part<Communicators>, names: &ReportNames<'_>) -> Markup {
    part("communicators", "Communicators", communicators, |communicators| {
        let init = communicators.rows.iter().filter_map(|made| made.init_us).fold(0.0, f64::max);
        html! {
            p {
                (counted(communicators.rows.len() as u64, "communicator")) ", in the order in which they were made."
                @if init > 0.0 { " The slowest took " (time(init)) " from the first to the last rank's init." }
            }
            (PageTable::of("Communicators", &tables::communicators(communicators, names)).without_unknown())
        }
    })
}

/// Largest number of fallbacks that are listed.
const FALLBACKS: usize = 50;

/// Writes the section.
pub(super) fn choices(report: &Report, names: &ReportNames<'_>) -> Markup {
    part("nccl", "NCCL's own choices", &report.choices, |choices| {
        html! {
            p { (unbroken(&about_log(choices))) }
            @if !choices.findings.is_empty() {
                ul {
                    @for finding in choices.findings.iter().take(FALLBACKS) { li { (unbroken(&fallback(finding, names))) } }
                }
            }
            @if !choices.communicators.is_empty() {
                (PageTable::of("Communicators of NCCL's log", &tables::choices(choices, names)).without_unknown())
            }
        }
    })
}

/// Largest number of findings in the table.
const FINDINGS: usize = 50;
/// Largest number of sentences on hangs and dead processes, and of letters of each.
const LISTED: usize = 25;
const LETTERS: usize = 2000;

/// Writes the section.
pub(super) fn findings(findings: &Part<WatchFindings>) -> Markup {
    part("findings", "Findings of a watch", findings, |findings| {
        let causes: Vec<String> = findings.rows.iter().filter(|row| row.is_cause()).map(|row| cut(&row.text)).collect();
        html! {
            p { (unbroken(&about_findings(findings))) }
            @if !causes.is_empty() {
                ul { @for cause in causes.iter().take(LISTED) { li { (unbroken(cause)) } } }
            }
            @if !findings.rows.is_empty() {
                (PageTable::of("Findings of a watch", &tables::findings(findings)).first(FINDINGS).without_unknown())
            }
        }
    })
}

fn cut(text: &str) -> String {
    text.chars().take(LETTERS).collect()
}

/// Largest number of communicators that are described.
const COMMUNICATORS: usize = 50;

/// Largest number of ranks whose table is shown from the beginning.
const OPEN: usize = 16;

/// Writes the section.
pub(super) fn unfinished(unfinished: &Part<Unfinished>, names: &ReportNames<'_>) -> Markup {
    part("unfinished", "Not over", unfinished, |unfinished| {
        let not_over = unfinished.communicators.len();
        html! {
            p {
                @if not_over == 0 { "In all communicators the ranks stand at the same operation, and all have ended." }
                @else {
                    (counted(not_over as u64, "communicator"))
                    @if not_over == 1 { " is" } @else { " are" } " not over; "
                    (counted(unfinished.over, "communicator")) " over."
                }
            }
            @for behind in unfinished.communicators.iter().take(COMMUNICATORS) { (one(behind, names)) }
            @if not_over > COMMUNICATORS { p.note { "And " (not_over - COMMUNICATORS) " more." } }
        }
    })
}

fn one(behind: &Behind, names: &ReportNames<'_>) -> Markup {
    let name = names.communicator(&behind.comm);
    let caption = format!("Where the ranks of {name} stand");
    let table = PageTable::of(caption, &tables::whereabouts(from_ref(behind), names));
    html! {
        h3 { "Communicator " (name) }
        @if !behind.behind.is_empty() { p { "Behind the others: rank " (behind.behind) "." } }
        @if let Some(differs) = &behind.differs {
            p {
                "Operation " (count(differs.order)) " differs first: rank " (differs.one.0) " has "
                b { (differs.one.1) }
                ", rank " (differs.other.0) " has " b { (differs.other.1) } "."
            }
        }
        @if behind.ranks.len() <= OPEN { (table.open()) } @else { (table) }
    }
}

/// Writes the section.
pub(super) fn completeness(complete: &Complete, names: &ReportNames<'_>) -> Markup {
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

/// Writes the chart and the tables; nothing where they are not known.
pub(super) fn transfers(report: &Report, names: &ReportNames<'_>) -> Markup {
    let Some(transfers) = report.transfers.known() else { return html! {} };
    let of_operations = PageTable::of("Transfers of an operation", &tables::transfers(transfers, names));
    html! {
        (states::of(transfers, names))
        (of_operations.without_unknown().first(ROWS))
    }
}
