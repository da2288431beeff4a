//! The section on operations that are not over.

use super::super::names::ReportNames;
use super::super::tables;
use super::super::units::{count, counted};
use super::section::part;
use super::table::PageTable;
use crate::answer::{Behind, Part, Unfinished};
use maud::{Markup, html};
use std::slice::from_ref;

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
