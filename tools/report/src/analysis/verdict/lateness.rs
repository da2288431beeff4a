//! Who is late, by sums alone.
//!
//! Sums have no waits, but how much later than the first rank each rank begins, in the mean. In a job of equal ranks
//! these means are alike, and none of them is a fault. A rank is an **outlier** if its mean is beyond its
//! communicator's median by more than 5 robust standard deviations over the ranks (1.4826 x the median of the distances
//! from the median), and by more than its error.

use crate::analysis::robust::spread;
use crate::answer::{AnswerVerdict, Late, RankLateness};
use std::collections::BTreeMap;

/// Least robust z.
const MIN_Z: f64 = 5.0;
/// Least number of ranks among which one can be an outlier.
pub const MIN_RANKS: usize = 4;

/// A rank beside the others of its communicator.
#[derive(Debug)]
pub struct RankBesideOthers<'a> {
    /// Its row.
    pub row: &'a RankLateness,
    /// How much later than the first rank it begins, in the mean, microseconds.
    pub mean: f64,
    /// The median of that over the ranks, microseconds.
    pub median: f64,
}

impl RankBesideOthers<'_> {
    /// The time that the communicator's operations have lost, as far as they were compared.
    fn weight(&self) -> f64 {
        (self.mean - self.median) * self.row.operations as f64 * f64::from(self.row.one_in.max(1))
    }
}

/// What the sums say.
#[derive(Debug)]
pub enum LatenessFinding<'a> {
    /// These ranks are outliers, the one that costs most first.
    StandOut(Vec<RankBesideOthers<'a>>),
    /// The begins of too few collectives are known.
    FewBegins,
    /// No rank began later than the others by more than the clocks' error.
    NoneLate,
    /// No communicator has enough ranks to compare one with the others.
    FewRanks,
    /// All are as late as their peers.
    Alike,
}

impl<'a> LatenessFinding<'a> {
    /// Compares the ranks of each communicator; `None` if there is no lateness.
    pub fn find(late: &'a Late) -> Option<Self> {
        let mut communicators: BTreeMap<&str, Vec<&RankLateness>> = BTreeMap::new();
        for row in late.lateness.iter().filter(|row| row.operations > 0) {
            communicators.entry(&row.comm).or_default().push(row);
        }
        let most = communicators.values().map(Vec::len).max()?;
        let mut found: Vec<RankBesideOthers<'_>> = communicators.values().flat_map(|rows| beside(rows)).collect();
        found.sort_by(|one, other| other.weight().total_cmp(&one.weight()));
        let are_unknown = late.lateness.iter().all(|row| row.mean_us.is_none());
        Some(match are_unknown {
            _ if !found.is_empty() => Self::StandOut(found),
            true if late.resolved > 0 => Self::FewBegins,
            true => Self::NoneLate,
            false if most < MIN_RANKS => Self::FewRanks,
            false => Self::Alike,
        })
    }

    /// Returns the verdict.
    pub fn verdict(&self) -> AnswerVerdict {
        match self {
            Self::StandOut(_) => AnswerVerdict::Look,
            Self::FewBegins | Self::FewRanks => AnswerVerdict::Unknown,
            Self::NoneLate | Self::Alike => AnswerVerdict::Fine,
        }
    }
}

/// Returns the ranks of a communicator that are outliers. A rank without a mean was never late.
fn beside<'a>(rows: &[&'a RankLateness]) -> Vec<RankBesideOthers<'a>> {
    if rows.len() < MIN_RANKS || rows.iter().all(|row| row.mean_us.is_none()) {
        return vec![];
    }
    let mean = |row: &RankLateness| row.mean_us.unwrap_or(0.0);
    let [middle, deviation] = spread(&rows.iter().map(|row| mean(row)).collect::<Vec<_>>());
    let beside = |row: &&'a RankLateness| RankBesideOthers { row, mean: mean(row), median: middle };
    let stands_out = |it: &RankBesideOthers<'_>| {
        let excess = it.mean - it.median;
        excess > MIN_Z * deviation && excess > it.row.error_us
    };
    rows.iter().map(beside).filter(stands_out).collect()
}
