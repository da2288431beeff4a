//! Tables about inputs, communicators, where their ranks stand, and the operations by tag.

use super::super::Chapter;
use super::super::names::{ReportNames, origin};
use super::super::sheet::ReportTable;
use super::super::units::{bytes, count, time};
use report::answer::{
    Behind, Communicators, Complete, Input, MissingRanks, ReportedCommunicator, TaggedOperations, Tags, Whereabouts,
};

/// The inputs.
pub(crate) fn inputs(complete: &Complete) -> ReportTable<'_, &Input> {
    ReportTable::new(Chapter::Complete.name(), &complete.inputs)
        .column("input", "input", |row| row.path.as_str(), str::to_owned)
        .column("kind", "kind", |row| row.kind.as_str(), str::to_owned)
        .column("processes", "processes", |row| row.processes, count)
        .names("state", |row| if row.problem.is_some() { "left out" } else { "read" }.to_owned())
        .value("problem", |row| row.problem.as_deref())
}

/// The communicators that lack ranks or have one twice. They have no sheet.
pub(crate) fn lacking<'a>(complete: &'a Complete, names: &'a ReportNames<'a>) -> ReportTable<'a, &'a MissingRanks> {
    let text = |ranks: &str| if ranks.is_empty() { "none".into() } else { ranks.to_owned() };
    ReportTable::new("lacking", &complete.communicators)
        .names("communicator", |row| names.communicator(&row.comm))
        .figures("ranks", |row| row.nranks.to_string())
        .figures("found", |row| count(row.here))
        .names("missing", move |row| text(&row.missing))
        .names("in two processes", move |row| text(&row.repeated))
}

/// The communicators, in the order in which they were made.
pub(crate) fn communicators<'a>(
    communicators: &'a Communicators,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, &'a ReportedCommunicator> {
    let ranks = |ranks: i64, row: &ReportedCommunicator| match row.here {
        here if i64::try_from(here) == Ok(ranks) => count(here),
        here => format!("{} of {ranks}", count(here)),
    };
    ReportTable::new(Chapter::Communicators.name(), &communicators.rows)
        .column("communicator", "communicator", |row| row.comm.as_str(), str::to_owned)
        .column("name", "name", |row| row.name.as_str(), str::to_owned)
        .column_by_row("ranks", "ranks", |row| i64::from(row.nranks), ranks)
        .value("found", |row| row.here)
        .column("nodes", "nodes", |row| Some(i64::from(row.nnodes)).filter(|&it| it > 0), |it| it.to_string())
        .column("members", "members", |row| row.members.as_str(), shortened)
        .column("made at", "made_us", |row| row.made_us, time)
        .column("first to last init", "init_us", |row| row.init_us, time)
        .column("split from", "parent", |row| row.parent.as_deref(), |comm| names.communicator(comm))
        .column("dimension", "dimension", |row| row.dimension.name.as_str(), str::to_owned)
        .column("known from", "origin", |row| origin(row.dimension.origin), str::to_owned)
        .column("operations", "operations", |row| row.operations, count)
        .column("bytes", "bytes", |row| row.bytes, |it| bytes(it as f64))
        .without(["split from", "made at", "bytes", "operations", "known from", "first to last init", "nodes", "name"])
}

/// Shortens a long list of members.
fn shortened(members: &str) -> String {
    const LETTERS: usize = 40;
    match members.char_indices().nth(LETTERS) {
        None => members.to_owned(),
        Some((end, _)) => {
            let kept = members.get(..end).and_then(|kept| kept.rsplit_once(',')).map_or("", |(kept, _)| kept);
            format!("{kept}, …")
        }
    }
}

/// Where the ranks of communicators stand that are not over.
pub(crate) fn whereabouts<'a>(
    communicators: &'a [Behind],
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, (&'a Behind, &'a Whereabouts)> {
    type Last = Option<(String, Option<u64>, u64)>;
    fn function(last: &Last) -> Option<&str> {
        Some(last.as_ref()?.0.as_str())
    }
    let sequence = |last: &Last| last.as_ref()?.1;
    let size = |last: &Last| Some(last.as_ref()?.2);
    let operation = |last: &Last| {
        let Some((function, number, size)) = last else { return "none".into() };
        let number = number.map_or_else(String::new, |number| format!(" {number}"));
        format!("{function}{number} of {}", bytes(*size as f64))
    };
    let rows = communicators.iter().flat_map(|behind| behind.ranks.iter().map(move |row| (behind, row)));
    ReportTable::new(Chapter::Unfinished.name(), rows)
        .value("communicator", |(behind, _)| behind.comm.as_str())
        .column("rank", "rank", |(_, row)| i64::from(row.rank), |rank| rank.to_string())
        .column("GPU", "gpu", |(_, row)| names.known(row.gpu), str::to_owned)
        .column("begun", "begun", |(_, row)| row.begun, count)
        .column("ended", "ended", |(_, row)| row.ended, count)
        .figures("last begun", move |(_, row)| operation(&row.last_begun))
        .value("last_begun", |(_, row)| function(&row.last_begun))
        .value("last_begun_sequence", move |(_, row)| sequence(&row.last_begun))
        .value("last_begun_bytes", move |(_, row)| size(&row.last_begun))
        .figures("last ended", move |(_, row)| operation(&row.last_ended))
        .value("last_ended", |(_, row)| function(&row.last_ended))
        .value("last_ended_sequence", move |(_, row)| sequence(&row.last_ended))
        .value("last_ended_bytes", move |(_, row)| size(&row.last_ended))
        .without(["GPU", "ended"])
}

/// The operations by tag.
pub(crate) fn tags(tags: &Tags) -> ReportTable<'_, &TaggedOperations> {
    ReportTable::new(Chapter::Tags.name(), &tags.rows)
        .column("tag", "tag", |row| row.tag.as_str(), str::to_owned)
        .column("functions", "functions", |row| row.functions.join(", "), |functions| functions)
        .column("operations", "operations", |row| row.operations, count)
        .column("bytes", "bytes", |row| row.bytes, |it| bytes(it as f64))
        .column("timed", "timed", |row| row.timed, count)
        .column("time", "time_us", |row| row.time_us, time)
        .without(["functions", "timed"])
}
