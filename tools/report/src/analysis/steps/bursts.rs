//! Steps of one function, all of whose calls are alike: a step is a burst of them, and a pause after it.
//!
//! Layers of equal size reduce equal buckets, or gather equal shards. Their calls repeat one by one, so that a period
//! says nothing of the steps. But a step goes forward and runs its optimizer once, between its last call and the next
//! step's first one. So a step is the least number of calls at which one pause comes again and again that is longer
//! than all others. A checkpoint that comes as regularly, after steps of one call each, looks alike.

use super::pattern::{Candidate, Repetition};
use super::sequence::Sequence;
use super::token::Detail;
use crate::analysis::robust::{median_of, quantile_reached};
use rustc_hash::FxHashMap;

/// How many times as long as the others the pause between two steps is at least, and nanoseconds more.
const MIN_PAUSE_RATIO: f64 = 1.5;
const MIN_PAUSE_NS: f64 = 20_000.0;
/// What a pause is of another one at least that it may come after a step later.
const MIN_REPEATED_SHARE: f64 = 0.6;
/// Calls of a step, at most.
const MAX_STEP_CALLS: usize = 4096;
/// Steps that show it, at least.
const MIN_STEPS: usize = 5;
/// Share of the steps that have the pause after them at least, and of the other calls that have one as long at most.
const REGULAR_SHARES: (f64, f64) = (0.9, 0.05);
/// What a pause that a fifth of the steps do not reach is at least of one that a fifth exceed: otherwise two steps are
/// one.
const MIN_ALIKE_RATIO: f64 = 0.5;

/// Returns the steps of a GPU whose smallest period says nothing of them.
pub(super) fn steps(sequence: &Sequence, period: &Candidate) -> Option<Repetition> {
    let length = period.pattern.len();
    let calls: Vec<usize> = period.copies.iter().flat_map(|&copy| copy..copy + length).collect();
    let functions = &sequence.tokens[Detail::WithoutCounts as usize];
    let first = functions.get(*calls.first()?)?;
    if !calls.iter().take(length).all(|&call| functions.get(call) == Some(first)) {
        return None;
    }
    let times = |call: usize| sequence.times.get(call).copied().unwrap_or_default();
    let pauses: Vec<f64> =
        calls.windows(2).map(|pair| times(pair[1])[0].saturating_sub(times(pair[0])[1]) as f64).collect();
    let (count, last) = apart(&pauses, length)?;
    let begin = (last + 1) % count;
    let mut pattern = period.pattern.to_vec();
    pattern.rotate_left(begin % length);
    Some(Repetition { pattern: pattern.repeat(count / length).into(), from: *calls.get(begin)?, micro: None })
}

/// Returns the number of calls of a step, a multiple of `period`, and the place of a step's last one.
fn apart(pauses: &[f64], period: usize) -> Option<(usize, usize)> {
    let mut distances: FxHashMap<usize, usize> = FxHashMap::default();
    for (at, &pause) in pauses.iter().enumerate() {
        let behind = pauses.iter().skip(at + 1).take(MAX_STEP_CALLS);
        if let Some(distance) = behind.clone().position(|&next| next >= MIN_REPEATED_SHARE * pause) {
            *distances.entry(distance + 1).or_default() += 1;
        }
    }
    let is_often = |&(count, times): &(usize, usize)| {
        count > 1 && count % period == 0 && times * count * 2 > pauses.len() && count * MIN_STEPS <= pauses.len()
    };
    let mut counts: Vec<usize> = distances.into_iter().filter(is_often).map(|(count, _)| count).collect();
    counts.sort_unstable();
    counts.into_iter().find_map(|count| Some((count, last_of_step(pauses, count)?)))
}

/// Returns the place of the last of so many calls, if they are a step.
fn last_of_step(pauses: &[f64], count: usize) -> Option<usize> {
    let at = |place: usize| pauses.iter().skip(place).step_by(count).copied();
    let mut usual: Vec<(f64, usize)> = (0..count).map(|it| (median_of(at(it)), it)).collect();
    usual.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
    let &[(longest, last), (next, _), ..] = &usual[..] else { return None };
    let [short, long] = [0.2, 0.8].map(|share| quantile_reached(&at(last).collect::<Vec<f64>>(), share));
    if longest < MIN_PAUSE_RATIO * next + MIN_PAUSE_NS || short < MIN_ALIKE_RATIO * long {
        return None;
    }
    let limit = (longest * next.max(MIN_PAUSE_NS / 2.0)).sqrt();
    let share = |place: usize| at(place).filter(|&pause| pause > limit).count() as f64 / at(place).count() as f64;
    let others = (0..count).filter(|&place| place != last).map(share).sum::<f64>() / (count - 1) as f64;
    (share(last) >= REGULAR_SHARES.0 && others <= REGULAR_SHARES.1).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::super::pattern::Periods;
    use super::super::sequence::Mark;
    use super::*;

    /// Calls of one function of 100 us, each so many microseconds after the one before, and two counts in turn.
    fn found(pauses: &[u64], counts: u32) -> Option<(usize, usize)> {
        let mut sequence = Sequence::default();
        let mut now = 0;
        for (number, pause) in (0..).zip(pauses) {
            now += pause * 1000;
            sequence.tokens[0].push(10 + number % counts);
            sequence.tokens[1].push(7);
            sequence.bytes.push(1 << 20);
            sequence.marks.push(Mark::Other);
            sequence.times.push([now, now + 100_000]);
            now += 100_000;
        }
        let periods = Periods::find(&sequence.tokens[0], &sequence.bytes);
        let found = steps(&sequence, periods.best()?)?;
        Some((found.pattern.len(), found.from))
    }

    /// Steps of so many calls, whose pauses differ by a tenth, and the first calls of the program.
    fn of_steps(first: &[u64], step: &[u64], steps: usize) -> Vec<u64> {
        let mut random = fastrand::Rng::with_seed(3);
        let all = std::iter::repeat_n(step, steps).flatten();
        first.iter().copied().chain(all.map(|pause| pause + random.u64(0..=pause / 10))).collect()
    }

    #[test]
    fn a_pause_sets_steps_apart() {
        let layers = |calls: usize| [vec![9000], vec![900; calls - 1]].concat();
        for calls in [2, 6, 24, 80] {
            assert_eq!(found(&of_steps(&[], &layers(calls), 30), 1), Some((calls, 0)), "{calls}");
            // after the first calls of a program; a stall in a step changes nothing
            let mut pauses = of_steps(&[40, 50_000, 70], &layers(calls), 30);
            pauses[3 + 11 * calls + calls / 2] = 300_000;
            assert_eq!(found(&pauses, 1), Some((calls, 3 % calls)), "{calls} behind others");
        }
        assert_eq!(found(&of_steps(&[20], &layers(24), 30), 2), Some((24, 1)), "two sizes in turn");
        // one layer is longer than the others, and calls that queue have no pause
        assert_eq!(found(&of_steps(&[], &[9000, 300, 300, 2000, 300, 300], 30), 1), Some((6, 0)));
        assert_eq!(found(&of_steps(&[], &[4000, 0, 1, 0, 2, 0, 0, 5], 30), 1), Some((8, 0)));
    }

    #[test]
    fn alike_or_irregular_pauses_do_not() {
        let mut random = fastrand::Rng::with_seed(5);
        assert_eq!(found(&[50; 400], 1), None);
        assert_eq!(found(&(0..400).map(|_| random.u64(10..1000)).collect::<Vec<u64>>(), 1), None);
        let at_times = (0..400).map(|_| if random.u64(0..8) == 0 { 9000 } else { 100 });
        assert_eq!(found(&at_times.collect::<Vec<u64>>(), 1), None);
    }
}
