//! Micro-steps: with gradient accumulation a rank goes forward and backward several times before its optimizer runs
//! once.
//!
//! The smallest period is then a micro-step, since all that a step adds is a sum of a few bytes: the gradients' norm. A
//! job that sums its losses for the log every tenth step looks alike: the same calls ten times, and a small sum. So a
//! period is a micro-step if all of this holds:
//!
//! - It reduces gradients into shards (`ReduceScatter`): each rank has a part of them, and the norm that every step of
//!   such an optimizer needs is a sum over the ranks. Where gradients are whole on each rank (`AllReduce` alone), the
//!   norm needs no call, and the small sum is a log's.
//! - It has no small sum itself. One that has is a step, and what comes now and then is a log, an evaluation or a
//!   checkpoint.
//! - The longer period is exactly k of it and then small calls with a sum. It covers as much as the shorter one does: a
//!   sum that sometimes comes sooner or later is none of a step.
//! - The pause after these calls, their own time left out, is at least half as long again as between two micro-steps:
//!   the optimizer runs there, and there alone. Steps that are logged have an optimizer each, so that their pauses are
//!   alike.

use super::closing;
use super::micro::Split;
use super::pattern::{Candidate, Periods, Repetition};
use super::sequence::Sequence;

/// Returns the steps of a GPU that have several micro-steps; `None` if its steps have one.
pub(super) fn steps(sequence: &Sequence, periods: &Periods) -> Option<Repetition> {
    let best = closing::period(sequence, periods)?;
    let of_best = |it: &Candidate| 100 * (it.calls() + 2 * it.pattern.len()) >= 99 * best.calls();
    let longer = periods.longer_than(best.pattern.len()).filter(|it| of_best(it));
    std::iter::once(best).chain(longer).find_map(|candidate| {
        let split = Split::split_period(sequence, candidate)?;
        // the best period itself may be the step; of a longer one, the best is the micro-step
        let is_of_best = candidate.pattern.len() == best.pattern.len() || split.micro == best.pattern.len();
        (is_of_best && split.has_shards && split.has_pause(sequence))
            .then(|| split.step.repetition(Some(split.times)))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::steps::sequence::Mark;

    const LARGE: u64 = 1 << 26;

    /// Calls of 100 ns, each `pause` after the one before.
    #[derive(Default)]
    struct Calls(Sequence, u64);

    impl Calls {
        fn add(&mut self, pause: u64, token: u32, bytes: u64, mark: Mark) {
            let Self(sequence, now) = self;
            *now += pause;
            sequence.tokens.iter_mut().for_each(|tokens| tokens.push(token));
            sequence.bytes.push(bytes);
            sequence.marks.push(mark);
            sequence.times.push([*now, *now + 100]);
            *now += 100;
        }

        /// Parameters of so many layers are gathered, forward and back, and their gradients reduced.
        fn micro(&mut self, pause: u64, layers: u64, reduce: Mark) {
            for layer in 0..2 * layers {
                self.add(if layer > 0 { 50 } else { pause }, 1, LARGE, Mark::Other);
            }
            (0..layers).for_each(|_| self.add(50, 2, LARGE, reduce));
        }

        fn found(&self) -> Option<(usize, usize, usize)> {
            let Self(sequence, _) = self;
            let found = steps(sequence, &Periods::find(&sequence.tokens[0], &sequence.bytes))?;
            Some((found.pattern.len(), found.micro?, found.from))
        }
    }

    /// Steps of micro-steps, of a norm, and of the optimizer.
    fn accumulated(layers: u64, times: u64, steps: u64) -> Calls {
        let mut calls = Calls::default();
        for _ in 0..steps {
            (0..times).for_each(|micro| calls.micro(if micro == 0 { 5_000 } else { 10 }, layers, Mark::Shards));
            calls.add(10, 3, 16, Mark::Sum);
        }
        calls
    }

    #[test]
    fn micro_steps_before_a_norm_are_one_step() {
        for layers in [2, 12, 80] {
            for times in [2, 3, 4, 7, 16] {
                let period = 3 * layers as usize * times as usize + 1;
                let expected = Some((period, times as usize, 0));
                assert_eq!(accumulated(layers, times, 4).found(), expected, "{layers} layers, {times} micro-steps");
            }
        }
        // a norm after each is a step already
        assert_eq!(accumulated(12, 1, 20).found(), None);
        // what comes first is no step, nor is an evaluation
        let mut calls = Calls::default();
        (0..5).for_each(|token| calls.add(10, 20 + token, LARGE, Mark::Other));
        for _ in 0..2 {
            for _ in 0..6 {
                (0..4).for_each(|micro| calls.micro(if micro == 0 { 5_000 } else { 10 }, 12, Mark::Shards));
                calls.add(10, 3, 16, Mark::Sum);
            }
            (0..24).for_each(|_| calls.add(50, 1, LARGE, Mark::Other));
        }
        assert_eq!(calls.found(), Some((145, 4, 5)));
    }

    /// Steps with an optimizer each, and a sum for the log after every tenth.
    fn logged(reduce: Mark, norm: bool, log: impl Fn(u64) -> bool) -> Calls {
        let mut calls = Calls::default();
        for step in 1..=60 {
            calls.micro(5_000, 12, reduce);
            if norm {
                calls.add(10, 3, 16, Mark::Sum);
            }
            if log(step) {
                calls.add(10, 4, 4, Mark::Sum);
            }
        }
        calls
    }

    #[test]
    fn a_log_or_a_checkpoint_is_no_end_of_a_step() {
        let every = |distance: u64| move |step: u64| step.is_multiple_of(distance);
        for distance in [2, 4, 10] {
            assert_eq!(logged(Mark::Shards, true, every(distance)).found(), None, "behind norms, every {distance}");
            assert_eq!(logged(Mark::Shards, false, every(distance)).found(), None, "without, every {distance}");
            assert_eq!(logged(Mark::Other, false, every(distance)).found(), None, "whole gradients, every {distance}");
        }
        // a checkpoint of gradients that are whole, with a pause
        let mut calls = Calls::default();
        for step in 0..60 {
            calls.micro(if step % 4 == 0 { 90_000 } else { 5_000 }, 12, Mark::Other);
            if step % 4 == 3 {
                calls.add(10, 4, 4, Mark::Sum);
            }
        }
        assert_eq!(calls.found(), None);
    }

    #[test]
    fn sums_now_and_then_are_no_step() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut calls = Calls::default();
        for _ in 0..12 {
            (0..random.u64(1..9)).for_each(|micro| calls.micro(if micro == 0 { 5_000 } else { 10 }, 12, Mark::Shards));
            calls.add(10, 3, 16, Mark::Sum);
        }
        assert_eq!(calls.found(), None);
        assert_eq!(Calls::default().found(), None);
    }
}
