//! The section on communicators.

use super::super::names::ReportNames;
use super::super::units::{UNKNOWN, bytes, count, counted, known, time};
use super::section::part;
use super::table::PageTable;
use crate::answer::{Communicators, Dimension, Origin, Part, ReportedCommunicator};
use maud::{Markup, html};

/// Writes the section.
pub(super) fn of(communicators: &Part<Communicators>, names: &ReportNames<'_>) -> Markup {
    part("communicators", "Communicators", communicators, |communicators| {
        let table = table(&communicators.rows, names);
        let init = communicators.rows.iter().filter_map(|made| made.init_us).fold(0.0, f64::max);
        html! {
            p {
                (counted(communicators.rows.len() as u64, "communicator")) ", in the order in which they were made."
                @if init > 0.0 { " The slowest took " (time(init)) " from the first to the last rank's init." }
            }
            (table)
        }
    })
}

fn table(rows: &[ReportedCommunicator], names: &ReportNames<'_>) -> PageTable {
    let text = |text: &str| if text.is_empty() { UNKNOWN.to_owned() } else { text.to_owned() };
    let row = |made: &ReportedCommunicator| {
        vec![
            text(&made.name),
            made.comm.clone(),
            dimension(&made.dimension),
            members(&made.members),
            made.parent.as_deref().map_or_else(|| UNKNOWN.into(), |parent| names.communicator(parent)),
            if made.here == made.nranks.max(0) as u64 {
                count(made.here)
            } else {
                format!("{} of {}", count(made.here), made.nranks)
            },
            known((made.nnodes > 0).then_some(made.nnodes), |nodes| nodes.to_string()),
            known(made.made_us, time),
            known(made.init_us, time),
            count(made.operations),
            bytes(made.bytes as f64),
        ]
    };
    let columns = [
        "name",
        "id",
        "dimension",
        "GPUs",
        "split from",
        "ranks",
        "nodes",
        "made at",
        "init, first to last",
        "operations",
        "bytes",
    ];
    PageTable::new("Communicators", &columns, 5, rows.iter().map(row)).without_unknown()
}

/// Writes a dimension and where it is from.
fn dimension(dimension: &Dimension) -> String {
    let origin = match dimension.origin {
        _ if dimension.name.is_empty() => return UNKNOWN.into(),
        Origin::Unknown => return dimension.name.clone(),
        Origin::File => "the user's file",
        Origin::Name => "by its name",
        Origin::Guessed => "guessed",
    };
    format!("{} ({origin})", dimension.name)
}

/// Shortens a long list of members.
fn members(members: &str) -> String {
    const LETTERS: usize = 40;
    match members.char_indices().nth(LETTERS) {
        None => members.to_owned(),
        Some((end, _)) => {
            let kept = members.get(..end).and_then(|kept| kept.rsplit_once(',')).map_or("", |(kept, _)| kept);
            format!("{kept}, …")
        }
    }
}
