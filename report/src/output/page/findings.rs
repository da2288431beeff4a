//! The section on a watch's findings.

use super::super::sentences::about_findings;
use super::super::tables;
use super::section::part;
use super::table::PageTable;
use super::unbroken::unbroken;
use crate::answer::{Part, WatchFindings};
use maud::{Markup, html};

/// Largest number of findings in the table.
const ROWS: usize = 50;
/// Largest number of sentences on hangs and dead processes, and of letters of each.
const LISTED: usize = 25;
const LETTERS: usize = 2000;

/// Writes the section.
pub(super) fn of(findings: &Part<WatchFindings>) -> Markup {
    part("findings", "Findings of a watch", findings, |findings| {
        let causes: Vec<String> = findings.rows.iter().filter(|row| row.is_cause()).map(|row| cut(&row.text)).collect();
        html! {
            p { (unbroken(&about_findings(findings))) }
            @if !causes.is_empty() {
                ul { @for cause in causes.iter().take(LISTED) { li { (unbroken(cause)) } } }
            }
            @if !findings.rows.is_empty() {
                (PageTable::of("Findings of a watch", &tables::findings(findings)).first(ROWS).without_unknown())
            }
        }
    })
}

fn cut(text: &str) -> String {
    text.chars().take(LETTERS).collect()
}
