//! Transfers over the network, in the section on pairs: the chart of their states, and the rows of the tables that
//! matter most. A job has many more, which are in the files of `--csv` and `--parquet`.

use super::super::names::ReportNames;
use super::super::tables;
use super::states::{self, ROWS};
use super::table::PageTable;
use crate::answer::Report;
use maud::{Markup, html};

/// Writes the chart and the tables; nothing where they are not known.
pub(super) fn of(report: &Report, names: &ReportNames<'_>) -> Markup {
    let Some(transfers) = report.transfers.known() else { return html! {} };
    let of_operations = PageTable::of("Transfers of an operation", &tables::transfers(transfers, names));
    html! {
        (states::of(transfers, names))
        (of_operations.without_unknown().first(ROWS))
    }
}
