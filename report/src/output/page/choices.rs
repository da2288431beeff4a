//! The section on NCCL's own choices.

use super::super::names::ReportNames;
use super::super::sentences::{about_log, fallback};
use super::super::tables;
use super::section::part;
use super::table::PageTable;
use super::unbroken::unbroken;
use crate::answer::Report;
use maud::{Markup, html};

/// Largest number of fallbacks that are listed.
const LISTED: usize = 50;

/// Writes the section.
pub(super) fn of(report: &Report, names: &ReportNames<'_>) -> Markup {
    part("nccl", "NCCL's own choices", &report.choices, |choices| {
        html! {
            p { (unbroken(&about_log(choices))) }
            @if !choices.findings.is_empty() {
                ul {
                    @for finding in choices.findings.iter().take(LISTED) { li { (unbroken(&fallback(finding, names))) } }
                }
            }
            @if !choices.communicators.is_empty() {
                (PageTable::of("Communicators of NCCL's log", &tables::choices(choices, names)).without_unknown())
            }
        }
    })
}
