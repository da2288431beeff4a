//! The section on operations that are not over.

use super::super::names::ReportNames;
use super::super::units::{bytes, count, counted};
use super::section::part;
use super::table::PageTable;
use crate::answer::{Behind, Part, Unfinished, Whereabouts};
use maud::{Markup, html};

/// Largest number of communicators that are described.
const COMMUNICATORS: usize = 50;

/// Largest number of ranks whose table is shown from the beginning.
const OPEN: usize = 16;

/// Writes the section.
pub(super) fn of(unfinished: &Part<Unfinished>, names: &ReportNames<'_>) -> Markup {
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
        @if behind.ranks.len() <= OPEN { (table(behind, &name, names).open()) } @else { (table(behind, &name, names)) }
    }
}

fn table(behind: &Behind, name: &str, names: &ReportNames<'_>) -> PageTable {
    let operation = |operation: &Option<(String, Option<u64>, u64)>| match operation {
        Some((function, number, size)) => {
            let number = number.map_or_else(String::new, |number| format!(" {number}"));
            format!("{function}{number} of {}", bytes(*size as f64))
        }
        None => "none".into(),
    };
    let row = |at: &Whereabouts| {
        vec![
            at.rank.to_string(),
            names.gpu(at.gpu),
            operation(&at.last_begun),
            operation(&at.last_ended),
            count(at.begun),
            count(at.ended),
        ]
    };
    let columns = ["rank", "GPU", "last begun", "last ended", "begun", "ended"];
    PageTable::new(format!("Where the ranks of {name} stand"), &columns, 4, behind.ranks.iter().map(row))
}
