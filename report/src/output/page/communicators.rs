//! The section on communicators.

use super::super::names::ReportNames;
use super::super::tables;
use super::super::units::{counted, time};
use super::section::part;
use super::table::PageTable;
use crate::answer::{Communicators, Part};
use maud::{Markup, html};

/// Writes the section.
pub(super) fn of(communicators: &Part<Communicators>, names: &ReportNames<'_>) -> Markup {
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
