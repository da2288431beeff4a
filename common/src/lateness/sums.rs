//! Sums over a communicator's operations.

use super::matched::{LateRank, MatchedOperation};
use crate::summary::Lateness;
use crate::sums::enough::speaks_for_all;
use crate::sums::run_sums::hexadecimal;

/// Sums of a communicator.
#[derive(Debug)]
pub(super) struct LatenessSums {
    pub(super) comm: u64,
    /// Number of operations.
    count: u64,
    /// Number of operations that the GPU has timed on all ranks.
    timed: u64,
    /// Number of operations for which all ranks' begins are known.
    operations: u64,
    ranks: Vec<OfRank>,
}

/// Sums of a rank, nanoseconds.
#[derive(Debug)]
struct OfRank {
    rank: i32,
    /// Its lateness at each operation at which it was late.
    late: Vec<f64>,
    /// Number of operations at which it was last.
    last: u64,
    error: f64,
    likely: f64,
}

impl LatenessSums {
    /// Makes the sums of a first operation.
    pub(super) fn of(matched: &MatchedOperation) -> Self {
        let mut sums = Self { comm: matched.comm, count: 0, timed: 0, operations: 0, ranks: Vec::new() };
        sums.add(matched);
        sums
    }

    /// Adds an operation of the same ranks.
    pub(super) fn add(&mut self, matched: &MatchedOperation) {
        self.count += 1;
        self.timed += u64::from(matched.lengths.is_some());
        if matched.ranks.is_empty() {
            return;
        }
        if self.ranks.is_empty() {
            let of_rank =
                |late: &LateRank| OfRank { rank: late.rank, late: Vec::new(), last: 0, error: 0.0, likely: 0.0 };
            self.ranks = matched.ranks.iter().map(of_rank).collect();
        }
        self.operations += 1;
        for (sums, &LateRank { rank, late, error, likely }) in self.ranks.iter_mut().zip(&matched.ranks) {
            if late > likely {
                sums.late.push(late);
            }
            sums.last += u64::from(matched.last == Some(rank));
            sums.error += error;
            sums.likely += likely;
        }
    }

    /// Returns the rows of the summary, in the order of ranks. One in `one_in` operations was looked at.
    pub(super) fn into_rows(self, one_in: u32) -> impl Iterator<Item = Lateness> {
        let Self { comm, count, timed, operations, ranks } = self;
        let resolved = ranks.iter().map(|rank| rank.last).sum();
        let microseconds = |nanoseconds: f64| nanoseconds / 1e3;
        let of_all = move |figure: Option<f64>| figure.filter(|_| speaks_for_all(operations, count)).map(microseconds);
        ranks.into_iter().map(move |mut rank| Lateness {
            comm: hexadecimal(comm),
            rank: rank.rank,
            count,
            timed,
            operations,
            resolved,
            one_in,
            error_us: microseconds(rank.error / operations as f64),
            estimated_error_us: microseconds(rank.likely / operations as f64),
            mean_us: of_all(rank.mean(operations)),
            p99_us: of_all(rank.p99(operations)),
            last: rank.last,
        })
    }
}

impl OfRank {
    /// Returns the mean lateness over this number of operations; `None` if it was never late.
    fn mean(&self, operations: u64) -> Option<f64> {
        (!self.late.is_empty()).then(|| self.late.iter().sum::<f64>() / operations as f64)
    }

    /// Returns the lateness that 99 of 100 operations do not exceed; `None` if it was never late.
    fn p99(&mut self, operations: u64) -> Option<f64> {
        if self.late.is_empty() {
            return None;
        }
        let above = (operations / 100) as usize;
        // late at fewer than one in 100: the other 99 were not late
        let Some(place) = self.late.len().checked_sub(above + 1) else { return Some(0.0) };
        Some(*self.late.select_nth_unstable_by(place, f64::total_cmp).1)
    }
}
