//! Micro-steps: with gradient accumulation a rank goes forward and backward several times before its optimizer runs once.
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
//! - The pause behind these calls, their own time left out, is at least half as long again as between two micro-steps:
//!   the optimizer runs there, and there alone. Steps that are logged have an optimizer each, so that their pauses are
//!   alike.

use super::closing;
use super::figures::median;
use super::mark::{Mark, SMALL};
use super::pattern::{Candidate, Periods, Repetition};
use super::run::z_function;
use super::sequence::Sequence;
use super::token::Detail;

/// Least length of the optimizer's pause, as a multiple of the pause between micro-steps.
const PAUSE: f64 = 1.5;

/// Returns the steps of a GPU that have several micro-steps; `None` if its steps have one.
pub(super) fn steps(sequence: &Sequence, periods: &Periods) -> Option<Repetition> {
    let best = closing::period(sequence, periods)?;
    let of_best = |it: &Candidate| 100 * (it.calls() + 2 * it.pattern.len()) >= 99 * best.calls();
    let longer = periods.longer_than(best.pattern.len()).filter(|it| of_best(it));
    std::iter::once(best).chain(longer).find_map(|candidate| {
        let split = Split::of(sequence, candidate)?;
        // the best period itself may be the step; of a longer one, the best is the micro-step
        let is_of_best = candidate.pattern.len() == best.pattern.len() || split.micro == best.pattern.len();
        (is_of_best && split.has_shards && split.has_pause(sequence))
            .then(|| split.step.repetition(Some(split.times)))?
    })
}

/// Returns the number of calls of a step where a period is several of them and then small calls: a log of every tenth step,
/// an evaluation. All of this holds: gradients are whole on each rank, so that a small sum is no step's end; a step has
/// several calls; and the pause between two steps, in which the optimizer runs, is longer than those within one, as the
/// pause between two layers is not.
pub(super) fn logged(sequence: &Sequence, candidate: &Candidate) -> Option<usize> {
    let split = Split::of(sequence, candidate).filter(|split| !split.has_shards && split.micro > 2)?;
    split.is_apart(sequence).then_some(split.micro)
}

/// A step as its micro-steps and the calls behind them.
#[derive(Debug)]
struct Split {
    /// The step, which ends with the small calls.
    step: Candidate,
    /// Calls of a micro-step.
    micro: usize,
    /// Micro-steps of a step.
    times: usize,
    /// Whether they reduce gradients into shards.
    has_shards: bool,
}

impl Split {
    /// Splits a period.
    fn of(sequence: &Sequence, candidate: &Candidate) -> Option<Self> {
        let (period, first) = (candidate.pattern.len(), *candidate.copies.first()?);
        let marks = sequence.marks.get(first..first + period)?;
        let bytes = sequence.bytes.get(first..first + period)?;
        // a period may begin anywhere in a step: places go round
        let is_small = |place: usize| bytes.get(place % period).is_some_and(|&bytes| bytes <= SMALL);
        let sum = marks.iter().position(|mark| *mark == Mark::Sum)?;
        let end = (sum..sum + period).find(|&place| !is_small(place))?;
        let begin = (0..period).map(|back| end - 1 + period - back).find(|&place| !is_small(place))? + 1;
        let small = end + period - begin;
        let is_closing = |place: usize| (place + period - begin % period) % period < small;
        let sums = (0..period).filter(|&place| marks.get(place) == Some(&Mark::Sum));
        if !sums.clone().all(is_closing) {
            return None;
        }
        let mut pattern = candidate.pattern.to_vec();
        pattern.rotate_left(end % period);
        let body = pattern.get(..period - small)?;
        let fits = z_function(body);
        let repeats = |&length: &usize| {
            body.len().is_multiple_of(length)
                && fits.get(length).is_some_and(|&fits| fits as usize + length == body.len())
        };
        let micro = (1..=body.len() / 2).find(repeats)?;
        let has_shards = (end..end + micro).any(|place| marks.get(place % period) == Some(&Mark::Shards));
        let step = Candidate::of(&pattern, &sequence.tokens[Detail::Exact as usize], &sequence.bytes)?;
        Some(Self { step, micro, times: body.len() / micro, has_shards })
    }

    /// Returns whether the pause between two micro-steps is longer than those between their calls.
    fn is_apart(&self, sequence: &Sequence) -> bool {
        let pauses = |from: usize| {
            let pause = |step: &usize| {
                let micro = sequence.times.get(step + from - from % self.micro..step + from)?;
                let (end, begin) = (micro.iter().map(|times| times[1]).max()?, sequence.times.get(step + from)?[0]);
                Some(begin.saturating_sub(end) as f64)
            };
            median(&self.step.copies.iter().filter_map(pause).collect::<Vec<f64>>())
        };
        let between = |step: &usize| {
            let [micro, next] =
                [sequence.times.get(*step..step + self.micro)?, sequence.times.get(step + self.micro..)?];
            Some(next.first()?[0].saturating_sub(micro.iter().map(|times| times[1]).max()?) as f64)
        };
        let between = median(&self.step.copies.iter().filter_map(between).collect::<Vec<f64>>());
        between >= PAUSE * (1..self.micro).map(pauses).fold(0.0, f64::max)
    }

    /// Returns whether the pause behind a step is that of an optimizer.
    fn has_pause(&self, sequence: &Sequence) -> bool {
        let (period, body) = (self.step.pattern.len(), self.micro * self.times);
        let begin = |place: usize| sequence.times.get(place).map_or(0, |times| times[0]);
        let calls = |from: usize, to: usize| sequence.times.get(from..to).unwrap_or_default().iter();
        let end = |from: usize| calls(from, from + self.micro).map(|times| times[1]).max().unwrap_or(0);
        let between = |micro: usize, next: usize| begin(next).saturating_sub(end(micro));
        let (mut within, mut behind) = (vec![], vec![]);
        for &step in &self.step.copies {
            let micros = (step..step + body).step_by(self.micro);
            within.extend(micros.clone().zip(micros.skip(1)).map(|(micro, next)| between(micro, next) as f64));
            if step + period < sequence.len() {
                let small: u64 = calls(step + body, step + period).map(|[begin, end]| end.saturating_sub(*begin)).sum();
                behind.push(between(step + body - self.micro, step + period).saturating_sub(small) as f64);
            }
        }
        median(&behind) >= PAUSE * median(&within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: u64 = 1 << 26;

    /// Calls of 100 ns, each `pause` behind the one before.
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
            let found = steps(sequence, &Periods::of(&sequence.tokens[0], &sequence.bytes))?;
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
        // a norm behind each is a step already
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

    /// Steps with an optimizer each, and a sum for the log behind every tenth.
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
