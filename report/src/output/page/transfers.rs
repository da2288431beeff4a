//! The tables of transfers over the network, in the section on pairs: the rows that matter most. A job has many more,
//! which are in the files of `--csv` and `--parquet`.

use super::super::names::ReportNames;
use super::super::tables;
use super::table::PageTable;
use crate::answer::Report;
use maud::{Markup, html};

/// Largest number of rows of each table.
const ROWS: usize = 10;

/// Writes both tables; nothing where they are not known.
pub(super) fn of(report: &Report, names: &ReportNames<'_>) -> Markup {
    let Some(transfers) = report.transfers.known() else { return html! {} };
    let states =
        PageTable::of("Transfers by state, those that took most time first", &tables::states(transfers, names));
    let of_operations = PageTable::of("Transfers of an operation", &tables::transfers(transfers, names));
    html! {
        (states.without_unknown().first(ROWS))
        (of_operations.without_unknown().first(ROWS))
    }
}
