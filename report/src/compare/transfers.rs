//! Transfers of one function and size in both runs.

use super::join;
use super::verdict::{ChangeVerdict, Changed};
use crate::answer::SeriesRow;
use serde::{Deserialize, Serialize};

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
    fn of(row: &SeriesRow) -> Self {
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
pub(super) fn of(rows: [&[SeriesRow]; 2], threshold: f64) -> (Vec<ComparedTransfers>, [Vec<Subject>; 2]) {
    let joined = join::of(rows);
    let compared = |[before, after]: [&SeriesRow; 2]| ComparedTransfers {
        subject: Subject::of(after),
        transfer: Changed::of([&before.medians_us, &after.medians_us], threshold, before.nranks == after.nranks),
    };
    let mut both: Vec<ComparedTransfers> = joined.both.into_iter().map(compared).collect();
    let order = |row: &ComparedTransfers| -> (ChangeVerdict, f64) {
        (row.transfer.verdict, -row.transfer.change.unwrap_or(0.0))
    };
    both.sort_by(|one, other| {
        let ((verdict, change), (other, than)) = (order(one), order(other));
        verdict.cmp(&other).then(change.total_cmp(&than))
    });
    (both, joined.only.map(|rows| rows.into_iter().map(Subject::of).collect()))
}
