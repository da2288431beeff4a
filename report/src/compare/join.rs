//! Rows of two reports that are of the same operations.

use crate::answer::SeriesRow;
use std::collections::BTreeMap;

/// Rows of two reports.
#[derive(Debug, Default)]
pub(super) struct JoinedRows<'a> {
    pub(super) both: Vec<[&'a SeriesRow; 2]>,
    pub(super) only: [Vec<&'a SeriesRow>; 2],
}

/// What joins rows. Numbers of ranks and nodes are `None` where the dimension says enough.
type JoinKey<'a> = (&'a str, Option<[i32; 2]>, &'a str, [u64; 2]);

fn exact(row: &SeriesRow) -> JoinKey<'_> {
    (&row.dimension, Some([row.nranks, row.nnodes]), &row.function, [row.from_bytes, row.to_bytes])
}

fn by_dimension(row: &SeriesRow) -> JoinKey<'_> {
    let shape = (row.dimension == "unknown").then_some([row.nranks, row.nnodes]);
    (&row.dimension, shape, &row.function, [row.from_bytes, row.to_bytes])
}

/// Joins rows whose communicators have the same dimension, ranks and nodes. Of the others, those of a known dimension
/// are joined whatever their communicators' size, if there is one such row in each report.
pub(super) fn of<'a>(reports: [&'a [SeriesRow]; 2]) -> JoinedRows<'a> {
    let mut joined = JoinedRows { both: vec![], only: reports.map(|rows| rows.iter().collect()) };
    join(&mut joined, exact);
    join(&mut joined, by_dimension);
    joined
}

fn join<'a>(joined: &mut JoinedRows<'a>, key: impl Fn(&'a SeriesRow) -> JoinKey<'a>) {
    let mut found: BTreeMap<JoinKey<'a>, [Vec<&'a SeriesRow>; 2]> = BTreeMap::new();
    let [first, second] = std::mem::take(&mut joined.only);
    first.into_iter().for_each(|row| found.entry(key(row)).or_default()[0].push(row));
    second.into_iter().for_each(|row| found.entry(key(row)).or_default()[1].push(row));
    for rows in found.into_values() {
        match rows.each_ref().map(Vec::as_slice) {
            [[first], [second]] => joined.both.push([first, second]),
            _ => joined.only.iter_mut().zip(rows).for_each(|(only, rows)| only.extend(rows)),
        }
    }
}
