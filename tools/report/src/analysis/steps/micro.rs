//! A period as several micro-steps, or steps, and small calls after them.

use super::pattern::Candidate;
use super::run::z_function;
use super::sequence::{MAX_SMALL_BYTES, Mark, Sequence};
use super::token::Detail;
use crate::analysis::robust::median_of;

/// Least length of the optimizer's pause, as a multiple of the pause between micro-steps.
const MIN_PAUSE_RATIO: f64 = 1.5;

/// A step as its micro-steps and the calls after them.
#[derive(Debug)]
pub(super) struct Split {
    /// The step, which ends with the small calls.
    pub(super) step: Candidate,
    /// Calls of a micro-step.
    pub(super) micro: usize,
    /// Micro-steps of a step.
    pub(super) times: usize,
    /// Whether they reduce gradients into shards.
    pub(super) has_shards: bool,
}

impl Split {
    pub(super) fn split_period(sequence: &Sequence, candidate: &Candidate) -> Option<Self> {
        let (period, first) = (candidate.pattern.len(), *candidate.copies.first()?);
        let marks = sequence.marks.get(first..first + period)?;
        let bytes = sequence.bytes.get(first..first + period)?;
        // a period may begin anywhere in a step: places go round
        let is_small = |place: usize| bytes.get(place % period).is_some_and(|&bytes| bytes <= MAX_SMALL_BYTES);
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
        let step = Candidate::find(&pattern, &sequence.tokens[Detail::Exact as usize], &sequence.bytes)?;
        Some(Self { step, micro, times: body.len() / micro, has_shards })
    }

    /// Returns whether the pause between two micro-steps is longer than those between their calls.
    fn is_apart(&self, sequence: &Sequence) -> bool {
        // before the call at each place of a micro-step, and before the next micro-step
        let pause = |place: usize| {
            let of_step = |step: &usize| {
                let before = sequence.times.get(*step..step + place)?;
                let (end, begin) = (before.iter().map(|times| times[1]).max()?, sequence.times.get(step + place)?[0]);
                Some(begin.saturating_sub(end) as f64)
            };
            median_of(self.step.copies.iter().filter_map(of_step))
        };
        pause(self.micro) >= MIN_PAUSE_RATIO * (1..self.micro).map(pause).fold(0.0, f64::max)
    }

    /// Returns whether the pause after a step is that of an optimizer.
    pub(super) fn has_pause(&self, sequence: &Sequence) -> bool {
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
        median_of(behind) >= MIN_PAUSE_RATIO * median_of(within)
    }
}

/// Returns the number of calls of a step where a period is several of them and then small calls: a log of every tenth
/// step, an evaluation. All of this holds: gradients are whole on each rank, so that a small sum is no step's end; a
/// step has several calls; and the pause between two steps, in which the optimizer runs, is longer than those within
/// one, as the pause between two layers is not.
pub(super) fn logged(sequence: &Sequence, candidate: &Candidate) -> Option<usize> {
    let split = Split::split_period(sequence, candidate).filter(|split| !split.has_shards && split.micro > 2)?;
    split.is_apart(sequence).then_some(split.micro)
}
