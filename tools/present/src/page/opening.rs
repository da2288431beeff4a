//! The beginning of the page: whether all is there, and the filters of the pictures.

use super::super::names::ReportNames;
use super::super::sentences;
use super::unbroken::unbroken;
use maud::{Markup, html};
use report::answer::Report;
use std::collections::BTreeSet;

/// Writes the first line.
pub(super) fn first_line(report: &Report) -> Markup {
    let text = sentences::complete(report);
    let (verdict, rest) = text.split_once(':').unwrap_or((&text, ""));
    let class = if verdict == "Not complete" { "complete lacking" } else { "complete" };
    let rest = unbroken(rest.trim_start());
    html! { p class=(class) { strong { (verdict) ":" } " " (rest) " " a href="#complete" { "Details" } } }
}

/// Writes how many fallbacks of NCCL there are, if there is one.
pub(super) fn fallback(report: &Report) -> Markup {
    let Some(text) = sentences::choices(report) else { return html! {} };
    html! { p.complete.lacking { (unbroken(&text)) " " a href="#nccl" { "Details" } } }
}

/// Writes the filters of the pictures. The script shows them, since they do nothing without it.
pub(super) fn filters(report: &Report, names: &ReportNames<'_>) -> Markup {
    let Some(swim) = report.swim.known() else { return html! {} };
    let lanes = || swim.usual.iter().flat_map(|usual| &usual.lanes).chain(&swim.lanes);
    let dimensions: BTreeSet<&str> = lanes().map(|lane| &*lane.dimension).filter(|it| !it.is_empty()).collect();
    let comms: BTreeSet<String> = lanes().map(|lane| names.communicator(&lane.comm)).collect();
    html! {
        form #filters hidden="" autocomplete="off" {
            label { "Rank "
                select #filter-rank {
                    option value="" { "all" }
                    @for gpu in 0..names.len() { option value=(gpu) { (names.gpu(gpu)) } }
                }
            }
            label { "Communicator "
                select #filter-comm {
                    option value="" { "all" }
                    @for dimension in dimensions { option value={ "d" (dimension) } { "dimension " (dimension) } }
                    @for comm in comms { option value={ "c" (comm) } { (comm) } }
                }
            }
        }
    }
}
