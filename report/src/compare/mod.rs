//! Two reports compared: is communication slower than it was?
//!
//! Rows are joined by dimension, function and size. The change of a row is the median transfer of the second report
//! over that of the first, less 1, with an interval of 95 % bootstrapped over steps. A row is worse if its change is
//! above the threshold and the interval leaves out 0.

mod change;
mod join;
mod table;
#[cfg(test)]
mod tests;

use crate::answer::{Report, SeriesRow};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Name of the comparison's schema.
pub const SCHEMA: &str = "scorep-nccl-comparison-1";

/// Threshold without a choice of the user's.
pub const THRESHOLD: f64 = 0.1;

/// The verdict on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Slower by more than the threshold, and the interval leaves out 0.
    Worse,
    /// Nobody knows: the change is above the threshold and the interval has 0 in it, or there are too few steps.
    Uncertain,
    /// Changed by no more than the threshold.
    Equal,
    /// Faster by more than the threshold, and the interval leaves out 0.
    Better,
}

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The operations, as the second report has them.
    #[serde(flatten)]
    pub subject: Subject,
    /// Median over steps of the transfer in each report, microseconds.
    pub medians_us: [f64; 2],
    /// Number of steps, or of slices of time, in each report.
    pub samples: [u64; 2],
    /// The second median over the first, less 1; `None` where the first is 0.
    pub change: Option<f64>,
    /// Bootstrapped 95 % interval of the change; `None` for fewer than five steps.
    pub interval: Option<[f64; 2]>,
    /// The verdict.
    pub verdict: Verdict,
}

/// The comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: String,
    /// Names of the two reports.
    pub names: [String; 2],
    /// Least change that counts, 0.1 for 10 %.
    pub threshold: f64,
    /// Rows that are in both, worst first.
    pub rows: Vec<Compared>,
    /// Rows that are in one report alone.
    pub only: [Vec<Subject>; 2],
    /// Remarks for people, a sentence each.
    pub notes: Vec<String>,
}

/// Reports that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Incomparable {
    /// A report has no transfers.
    #[error("{0} has no transfers to compare: no operation's ranks were compared. A report of recordings has them")]
    Empty(String),
    /// The two have no row in common.
    #[error("{0} and {1} have no dimension, function and size in common")]
    Different(String, String),
}

impl Comparison {
    /// Compares two reports, the earlier one first. The same reports always have the same comparison.
    ///
    /// # Errors
    /// A report has no transfers, or the two have no row in common.
    pub fn of(names: [String; 2], reports: [&Report; 2], threshold: f64) -> Result<Self, Incomparable> {
        let series = reports.map(|report| &report.series);
        for (name, series) in names.iter().zip(series) {
            if series.rows.is_empty() {
                return Err(Incomparable::Empty(name.clone()));
            }
        }
        let joined = join::of(series.map(|series| series.rows.as_slice()));
        if joined.both.is_empty() {
            let [first, second] = names;
            return Err(Incomparable::Different(first, second));
        }
        let mut rows: Vec<Compared> = joined.both.into_iter().map(|pair| compared(pair, threshold)).collect();
        let change = |row: &Compared| row.change.unwrap_or(0.0);
        rows.sort_by(|one, other| one.verdict.cmp(&other.verdict).then(change(other).total_cmp(&change(one))));
        let mut notes = vec![];
        for (name, series) in names.iter().zip(series) {
            if !series.of_steps {
                notes.push(format!("No steps were found in {name}: equally long slices of time stand for them."));
            }
        }
        let only = joined.only.map(|rows| rows.into_iter().map(Subject::of).collect());
        Ok(Self { schema: SCHEMA.into(), names, threshold, rows, only, notes })
    }

    /// Returns whether a row is worse: the exit status is 1 then, else 0.
    pub fn is_worse(&self) -> bool {
        self.rows.iter().any(|row| row.verdict == Verdict::Worse)
    }
}

fn compared([before, after]: [&SeriesRow; 2], threshold: f64) -> Compared {
    let change = change::of([&before.medians_us, &after.medians_us]);
    let verdict = match (change.change, change.interval) {
        (Some(change), _) if change.abs() <= threshold => Verdict::Equal,
        (Some(change), Some([low, _])) if change > 0.0 && low > 0.0 => Verdict::Worse,
        (Some(change), Some([_, high])) if change < 0.0 && high < 0.0 => Verdict::Better,
        _ => Verdict::Uncertain,
    };
    Compared {
        subject: Subject::of(after),
        medians_us: change.medians,
        samples: [before, after].map(|row| row.medians_us.len() as u64),
        change: change.change,
        interval: change.interval,
        verdict,
    }
}
