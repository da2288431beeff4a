//! A window: the work between two marks of equal numbers, of the ranks that run the same program in it.

use common::status::progress::ProgressMark;
use report::analysis::robust::{median, spread};
use report::analysis::stragglers::rules::{
    MIN_DEVIATION_OF_FEW, MIN_EXCESS_SHARE, MIN_RANKS, MIN_Z, UNKNOWN_DEVIATION,
};

/// Operations by which ranks of one program may differ: those of other communicators end at about the same time.
const FEW_OPERATIONS: u64 = 2;
/// Shares of operations and of bytes by which they may differ.
const OPERATIONS: f64 = 0.005;
const BYTES: f64 = 0.02;
/// Share of the window by which an own time may be longer than it. More does not fit: a clock has jumped.
const LONGER: f64 = 0.05;

/// Least ranks that are divided in halves of different sizes.
const UNEQUAL: usize = 7;

/// A rank in a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowRow {
    pub(super) rank: i32,
    /// Own time, nanoseconds.
    pub(super) own: f64,
    /// Length by this rank's clock, nanoseconds.
    pub(super) length: f64,
    /// Operations and bytes since some windows, by which programs are told apart.
    pub(super) program: [u64; 2],
}

impl WindowRow {
    /// Returns the row between two marks; `None` where a count goes back. Programs are told apart since `base`.
    pub(super) fn between(rank: i32, from: &ProgressMark, to: &ProgressMark, base: &ProgressMark) -> Option<Self> {
        Some(Self {
            rank,
            own: to.own.checked_sub(from.own)? as f64,
            length: to.time as f64 - from.time as f64,
            program: [to.operations.checked_sub(base.operations)?, to.bytes.checked_sub(base.bytes)?],
        })
    }
}

/// A rank's own time compared with that of its peers.
#[derive(Debug, Clone, Copy)]
pub(super) struct ComparedRank {
    pub(super) rank: i32,
    pub(super) own: f64,
    /// Own time beyond the median of its peers, nanoseconds.
    pub(super) excess: f64,
    /// Deviation of the ranks from each other in this window, nanoseconds.
    pub(super) deviation: f64,
    pub(super) peers: usize,
}

/// Returns the window's length, nanoseconds, and each rank that has peers; `None` where the clocks do not say how
/// long it is.
pub(super) fn compared(mut rows: Vec<WindowRow>) -> Option<(f64, Vec<ComparedRank>)> {
    let length = median(&mut rows.iter().map(|row| row.length).collect::<Vec<f64>>());
    if length <= 0.0 {
        return None;
    }
    rows.retain(|row| row.own <= (1.0 + LONGER) * length);
    let of_program = programs(rows).into_iter().filter(|of| of.len() > 1);
    Some((length, of_program.flat_map(|of| of_peers(&of, length)).collect()))
}

/// Divides ranks by the programs that they run.
fn programs(mut rows: Vec<WindowRow>) -> Vec<Vec<WindowRow>> {
    let apart = |one: u64, other: u64, few: u64, share: f64| {
        one.abs_diff(other) > few.max((share * one.max(other) as f64) as u64)
    };
    rows.sort_unstable_by_key(|row| row.program[0]);
    let by_operations =
        rows.chunk_by(|one, other| !apart(one.program[0], other.program[0], FEW_OPERATIONS, OPERATIONS));
    let by_bytes = by_operations.flat_map(|rows| {
        let mut rows = rows.to_vec();
        rows.sort_unstable_by_key(|row| row.program[1]);
        let parts = rows.chunk_by(|one, other| !apart(one.program[1], other.program[1], 0, BYTES));
        parts.map(<[WindowRow]>::to_vec).collect::<Vec<_>>()
    });
    by_bytes.collect()
}

fn of_peers(rows: &[WindowRow], length: f64) -> Vec<ComparedRank> {
    let mut sorted: Vec<f64> = rows.iter().map(|row| row.own).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let excess: Vec<f64> = rows.iter().map(|row| row.own - median_without(&sorted, row.own)).collect();
    let of_all = (rows.len() >= MIN_RANKS).then(|| deviation(&sorted, length));
    let each = rows.iter().zip(excess).map(|(row, excess)| {
        let deviation = of_all.unwrap_or_else(|| match rows.len() {
            2 => UNKNOWN_DEVIATION * row.own,
            _ => {
                let others = rows.iter().filter(|other| other.rank != row.rank).map(|other| other.own);
                let [_, of_others] = spread(&others.collect::<Vec<f64>>());
                of_others.max(MIN_DEVIATION_OF_FEW * row.own)
            }
        });
        ComparedRank { rank: row.rank, own: row.own, excess, deviation, peers: rows.len() - 1 }
    });
    each.collect()
}

/// Returns the median of sorted values without one of them.
fn median_without(sorted: &[f64], value: f64) -> f64 {
    let without = sorted.partition_point(|other| *other < value);
    let at = |index: usize| sorted[index + usize::from(index >= without)];
    let rest = sorted.len() - 1;
    if rest % 2 == 1 { at(rest / 2) } else { (at(rest / 2 - 1) + at(rest / 2)) / 2.0 }
}

/// Returns the deviation of sorted own times from each other. Where half of the ranks are apart from the others, it is
/// that within the halves: the deviation of all would be the distance of both. Large halves may differ by a rank, whose
/// file is late.
fn deviation(sorted: &[f64], length: f64) -> f64 {
    let [_, of_all] = spread(sorted);
    let within = |fast: usize| {
        let (fast, slow) = sorted.split_at(fast);
        let ([of_fast, in_fast], [of_slow, in_slow]) = (spread(fast), spread(slow));
        let within = in_fast.max(in_slow);
        (of_slow - of_fast > (MIN_Z * within).max(MIN_EXCESS_SHARE * length)).then_some(within)
    };
    let count = sorted.len();
    if !count.is_multiple_of(2) && count < UNEQUAL {
        return of_all;
    }
    [count / 2, count.div_ceil(2)].into_iter().filter_map(within).reduce(f64::min).unwrap_or(of_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rank: i32, own: f64, program: [u64; 2]) -> WindowRow {
        WindowRow { rank, own, length: 1000.0, program }
    }

    #[test]
    fn peers_are_those_of_one_program() {
        let programs = [[100, 50], [101, 50], [200, 50], [200, 70], [201, 71]];
        let rows = (0..5).zip(programs).map(|(rank, program)| row(rank, 100.0 + f64::from(rank), program)).collect();
        let (length, compared) = compared(rows).unwrap();
        let found: Vec<(i32, f64, usize)> = compared.iter().map(|it| (it.rank, it.excess, it.peers)).collect();
        assert_eq!(length, 1000.0);
        assert_eq!(found, [(0, -1.0, 1), (1, 1.0, 1), (3, -1.0, 1), (4, 1.0, 1)]);
    }

    #[test]
    fn a_slow_half_is_compared_with_the_faster_one() {
        let own = [100.0, 101.0, 102.0, 200.0, 201.0, 202.0];
        let rows = (0..6).zip(own).map(|(rank, own)| row(rank, own, [9, 9])).collect();
        let (_, compared) = compared(rows).unwrap();
        assert_eq!(compared[5].excess, 202.0 - 102.0);
        assert!(compared.iter().all(|it| it.deviation < 2.0));
    }

    #[test]
    fn halves_may_differ_by_a_rank() {
        for slow in [3, 4] {
            let own = |rank: i32| f64::from(rank) + if rank < slow { 200.0 } else { 100.0 };
            let rows = (0..7).map(|rank| row(rank, own(rank), [9, 9])).collect();
            let (_, compared) = compared(rows).unwrap();
            assert!(compared.iter().all(|it| it.deviation < 3.0), "{compared:?}");
        }
    }

    #[test]
    fn an_own_time_that_does_not_fit_is_left_out() {
        let rows = vec![row(0, 100.0, [1, 1]), row(1, 5000.0, [1, 1]), row(2, 100.0, [1, 1])];
        assert_eq!(compared(rows).unwrap().1.len(), 2);
        assert!(compared(vec![WindowRow { length: -5.0, ..row(0, 1.0, [1, 1]) }]).is_none());
    }
}
