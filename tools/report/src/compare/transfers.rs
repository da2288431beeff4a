//! Transfers of one function and size in both runs.

use super::verdict::{ChangeVerdict, Changed};
use crate::answer::SeriesRow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The operations that a row is of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Dimension, or `unknown`.
    pub dimension: String,
    /// Number of ranks of each communicator.
    pub nranks: i32,
    /// Number of nodes of each communicator; 0 where it is unknown.
    pub nnodes: i32,
    /// Function.
    pub function: String,
    /// Smallest bytes.
    pub from_bytes: u64,
    /// Largest bytes.
    pub to_bytes: u64,
}

impl Subject {
    fn from_row(row: &SeriesRow) -> Self {
        Self {
            dimension: row.dimension.clone(),
            nranks: row.nranks,
            nnodes: row.nnodes,
            function: row.function.clone(),
            from_bytes: row.from_bytes,
            to_bytes: row.to_bytes,
        }
    }
}

/// A row that is in both reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedTransfers {
    /// The operations, as the second report has them.
    #[serde(flatten)]
    pub subject: Subject,
    /// Their transfer: median over steps.
    #[serde(flatten)]
    pub transfer: Changed,
}

/// Compares rows. Returns those that are in both, worst first, and those that are in one report alone. Transfers among
/// different numbers of ranks are not judged.
pub(super) fn compare(rows: [&[SeriesRow]; 2], threshold: f64) -> (Vec<ComparedTransfers>, [Vec<Subject>; 2]) {
    let joined = joined(rows);
    let compared = |[before, after]: [&SeriesRow; 2]| ComparedTransfers {
        subject: Subject::from_row(after),
        transfer: Changed::medians([&before.medians_us, &after.medians_us], threshold, before.nranks == after.nranks),
    };
    let mut both: Vec<ComparedTransfers> = joined.both.into_iter().map(compared).collect();
    let order = |row: &ComparedTransfers| -> (ChangeVerdict, f64) {
        (row.transfer.verdict, -row.transfer.change.unwrap_or(0.0))
    };
    both.sort_by(|one, other| {
        let ((verdict, change), (other, than)) = (order(one), order(other));
        verdict.cmp(&other).then(change.total_cmp(&than))
    });
    (both, joined.only.map(|rows| rows.into_iter().map(Subject::from_row).collect()))
}

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
fn joined<'a>(reports: [&'a [SeriesRow]; 2]) -> JoinedRows<'a> {
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
