//! Sums over a communicator's operations.

use super::matched::{Late, Matched};
use crate::summary::Lateness;
use crate::sums::enough::speaks_for_all;
use crate::sums::run_sums::hexadecimal;

/// Sums of a communicator.
#[derive(Debug)]
pub(super) struct Sums {
    pub(super) comm: u64,
    /// All of them, and those that the GPU has timed on all ranks.
    count: u64,
    timed: u64,
    /// Those of which it is known when all ranks began.
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
        let mut sums = Self { comm: matched.comm, count: 0, timed: 0, operations: 0, ranks: Vec::new() };
        sums.add(matched);
        sums
    }

    /// Takes in a further one, of the same ranks.
    pub(super) fn add(&mut self, matched: &Matched) {
        self.count += 1;
        self.timed += u64::from(matched.lengths.is_some());
        if matched.ranks.is_empty() {
            return;
        }
        if self.ranks.is_empty() {
            let of_rank = |late: &Late| OfRank { rank: late.rank, late: Vec::new(), last: 0, error: 0.0, likely: 0.0 };
            self.ranks = matched.ranks.iter().map(of_rank).collect();
        }
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
