//! The calls by which a step is known to be over.
//!
//! An evaluation or a checkpoint after every n-th step repeats as exactly as the steps do, and may have as many calls
//! as some of them. But a period with a sum of a few numbers, a norm or a loss, is a step already, if all that comes
//! between its copies is small or is what the period itself does: an evaluation goes forward as a step does, a
//! checkpoint is a barrier. Where something large comes that the period lacks, as the gradients after micro-batches
//! whose losses were summed, the step is longer.

use super::micro;
use super::pattern::{Candidate, Periods};
use super::sequence::{MAX_SMALL_BYTES, Mark, Sequence};
use super::token::{CallToken, Detail};
use rustc_hash::FxHashSet;

/// Returns the steps of a GPU: the smallest period that covers enough, or a smaller one that is known to be whole.
pub(super) fn period<'a>(sequence: &Sequence, periods: &'a Periods) -> Option<&'a Candidate> {
    let best = periods.best()?;
    let shorter = || periods.shorter_than(best.pattern.len());
    let logged = || {
        let length = micro::logged(sequence, best)?;
        shorter().find(|period| period.pattern.len() == length)
    };
    Some(shorter().find(|period| is_whole(sequence, period)).or_else(logged).unwrap_or(best))
}

/// Returns whether a period is a step whatever else there is.
fn is_whole(sequence: &Sequence, period: &Candidate) -> bool {
    let length = period.pattern.len();
    let Some(&first) = period.copies.first() else { return false };
    let marks = sequence.marks.get(first..first + length).unwrap_or_default();
    if !marks.contains(&Mark::Sum) {
        return false;
    }
    let tokens = &sequence.tokens[Detail::Exact as usize];
    let own: FxHashSet<CallToken> = period.pattern.iter().copied().collect();
    let is_usual = |place: usize| {
        let is_small = sequence.bytes.get(place).is_some_and(|&bytes| bytes <= MAX_SMALL_BYTES);
        is_small || tokens.get(place).is_some_and(|token| own.contains(token))
    };
    let ends = period.copies.iter().map(|copy| copy + length);
    let begins = period.copies.iter().skip(1).copied().chain([tokens.len()]);
    ends.zip(begins).all(|(end, begin)| (end..begin).all(is_usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: u64 = 1 << 26;

    /// Finds the period of calls: token, bytes, and whether it is a sum.
    fn found(calls: &[(u32, u64, bool)]) -> Option<(usize, usize)> {
        let mut sequence = Sequence::default();
        for &(token, bytes, is_sum) in calls {
            sequence.tokens.iter_mut().for_each(|tokens| tokens.push(token));
            sequence.bytes.push(bytes);
            sequence.marks.push(if is_sum { Mark::Sum } else { Mark::Other });
            sequence.times.push([0, 0]);
        }
        let periods = Periods::find(&sequence.tokens[0], &sequence.bytes);
        period(&sequence, &periods).map(|found| (found.pattern.len(), found.copies[0]))
    }

    /// Four buckets and the loss; after every n-th step something else.
    fn every(n: u32, sum: bool, behind: &[(u32, u64, bool)]) -> Vec<(u32, u64, bool)> {
        let mut calls = vec![(9, LARGE, false); 12];
        for step in 1..=120 {
            calls.extend([(1, LARGE / 8, false), (2, LARGE, false), (2, LARGE, false), (2, LARGE, false)]);
            calls.extend(sum.then_some((3, 16, true)));
            calls.extend(behind.iter().filter(|_| step % n == 0));
        }
        calls
    }

    #[test]
    fn an_evaluation_or_a_checkpoint_is_no_step_however_regular() {
        let evaluation = [(3, 16, true); 10];
        let forward = [(2, LARGE, false), (2, LARGE, false), (4, 8, true)];
        for n in [6, 9, 11, 20] {
            for behind in [&evaluation[..], &forward, &[(5, 2, true), (5, 2, true)]] {
                assert_eq!(found(&every(n, true, behind)), Some((5, 12)), "every {n}: {behind:?}");
            }
        }
    }

    /// Micro-batches whose losses are summed, then the gradients; and layers.
    #[test]
    fn what_something_large_follows_is_no_step() {
        assert_eq!(found(&every(4, true, &[(7, LARGE, false)])), Some((21, 12)));
        assert_eq!(found(&every(4, false, &[(7, 2 << 10, false)])), Some((17, 12)));
    }
}
