//! Sums over a communicator's operations.

use super::{Late, Matched};
use crate::summary::{Lateness, hexadecimal};

/// Sums of a communicator.
#[derive(Debug)]
pub(super) struct Sums {
    pub(super) comm: u64,
    operations: u64,
    ranks: Vec<OfRank>,
}

/// Sums of a rank, nanoseconds.
#[derive(Debug)]
struct OfRank {
    rank: i32,
    /// How late it was, where it was.
    late: Vec<f64>,
    /// Operations in which it was last.
    last: u64,
    error: f64,
    likely: f64,
}

impl Sums {
    /// Those of the first operation.
    pub(super) fn of(matched: &Matched) -> Self {
        let of_rank = |late: &Late| OfRank { rank: late.rank, late: Vec::new(), last: 0, error: 0.0, likely: 0.0 };
        let mut sums = Self { comm: matched.comm, operations: 0, ranks: matched.ranks.iter().map(of_rank).collect() };
        sums.add(matched);
        sums
    }

    /// Takes in a further one, of the same ranks.
    pub(super) fn add(&mut self, matched: &Matched) {
        self.operations += 1;
        for (sums, &Late { rank, late, error, likely }) in self.ranks.iter_mut().zip(&matched.ranks) {
            if late > likely {
                sums.late.push(late);
            }
            sums.last += u64::from(matched.last == Some(rank));
            sums.error += error;
            sums.likely += likely;
        }
    }

    /// Rows of the summary, in the order of ranks; one in so many operations was looked at.
    pub(super) fn into_rows(self, one_in: u32) -> impl Iterator<Item = Lateness> {
        let Self { comm, operations, ranks } = self;
        let resolved = ranks.iter().map(|rank| rank.last).sum();
        let microseconds = |nanoseconds: f64| nanoseconds / 1e3;
        ranks.into_iter().map(move |mut rank| Lateness {
            comm: hexadecimal(comm),
            rank: rank.rank,
            operations,
            resolved,
            one_in,
            error_us: microseconds(rank.error / operations as f64),
            estimated_error_us: microseconds(rank.likely / operations as f64),
            mean_us: rank.mean(operations).map(microseconds),
            p99_us: rank.p99(operations).map(microseconds),
            last: rank.last,
        })
    }
}

impl OfRank {
    /// Mean lateness of so many operations; `None` when it was never late.
    fn mean(&self, operations: u64) -> Option<f64> {
        (!self.late.is_empty()).then(|| self.late.iter().sum::<f64>() / operations as f64)
    }

    /// What its lateness is at most in 99 of 100 operations; `None` when it was never late.
    fn p99(&mut self, operations: u64) -> Option<f64> {
        if self.late.is_empty() {
            return None;
        }
        let above = (operations / 100) as usize;
        // it was late in fewer: then in 99 of 100 it was not
        let Some(place) = self.late.len().checked_sub(above + 1) else { return Some(0.0) };
        Some(*self.late.select_nth_unstable_by(place, f64::total_cmp).1)
    }
}
