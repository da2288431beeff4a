//! The table of operations by tag.

use super::super::Chapter;
use super::super::sheet::ReportTable;
use super::super::units::{bytes, count, time};
use crate::answer::{TaggedOperations, Tags};

/// The operations by tag.
pub(in crate::output) fn tags(tags: &Tags) -> ReportTable<'_, &TaggedOperations> {
    ReportTable::new(Chapter::Tags.name(), &tags.rows)
        .column("tag", "tag", |row| row.tag.as_str(), str::to_owned)
        .column("functions", "functions", |row| row.functions.join(", "), |functions| functions)
        .column("operations", "operations", |row| row.operations, count)
        .column("bytes", "bytes", |row| row.bytes, |it| bytes(it as f64))
        .column("timed", "timed", |row| row.timed, count)
        .column("time", "time_us", |row| row.time_us, time)
        .without(["functions", "timed"])
}
