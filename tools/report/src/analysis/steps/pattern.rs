//! The calls of one step, and how a sequence of calls goes along them.
//!
//! Layers repeat within a step, and steps repeat between two checkpoints: several periods are there at a time. A layer
//! leaves out the sum of gradients, which is of many bytes or of many calls. A step leaves out the checkpoint, or a sum
//! of losses for the log every tenth step, which is neither. So the step is the smallest period that covers nearly as
//! much as any.

use super::run::{runs_across, z_function};
use super::token::CallToken;

/// Steps in a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repetition {
    /// The calls of a step.
    pub(super) pattern: Box<[CallToken]>,
    /// The first step's place.
    pub(super) from: usize,
    /// Micro-steps of a step, where it has several (`accumulation.rs`).
    pub(super) micro: Option<usize>,
}

/// A period that may be that of the steps.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) pattern: Box<[CallToken]>,
    pub(super) copies: Vec<usize>,
    /// Bytes of the calls in copies.
    bytes: u128,
}

impl Candidate {
    /// Looks for the copies of a pattern; `None` where they are too few.
    pub(super) fn find(pattern: &[CallToken], tokens: &[CallToken], bytes: &[u64]) -> Option<Self> {
        let mut text = pattern.to_vec();
        text.push(CallToken::MAX);
        text.extend_from_slice(tokens);
        let fits = z_function(&text);
        let fits_at = |at: usize| fits.get(pattern.len() + 1 + at).is_some_and(|&fits| fits as usize >= pattern.len());
        let least = if pattern.len() >= MIN_DISTINCT_CALLS { 1 } else { MIN_COPIES };
        let (mut at, mut copies, mut sum) = (0, vec![], 0u128);
        while at < tokens.len() {
            let here = (0..).map(|copy| at + copy * pattern.len()).take_while(|&at| fits_at(at));
            let known = copies.len();
            copies.extend(here);
            let end = at + (copies.len() - known) * pattern.len();
            if copies.len() - known >= least {
                sum += bytes.get(at..end).unwrap_or_default().iter().map(|&bytes| u128::from(bytes)).sum::<u128>();
            } else {
                copies.truncate(known);
            }
            at = end.max(at + 1);
        }
        (copies.len() >= MIN_COPIES).then(|| Self { pattern: pattern.into(), copies, bytes: sum })
    }

    /// Returns the pattern as it begins where the first copies do: a period found between others may begin at any of
    /// its calls.
    fn begun_early(&self, tokens: &[CallToken]) -> Vec<CallToken> {
        let mut pattern = self.pattern.to_vec();
        let before = self.copies.first().and_then(|&first| tokens.get(..first)).unwrap_or_default();
        let calls =
            before.iter().rev().zip(self.pattern.iter().rev().cycle()).take_while(|(one, other)| one == other).count();
        pattern.rotate_right(calls % self.pattern.len().max(1));
        pattern
    }

    /// Returns the number of calls in copies.
    pub(super) fn calls(&self) -> usize {
        self.copies.len() * self.pattern.len()
    }

    /// Returns its copies as steps, of so many micro-steps each.
    pub(super) fn repetition(&self, micro: Option<usize>) -> Option<Repetition> {
        Some(Repetition { pattern: self.pattern.clone(), from: *self.copies.first()?, micro })
    }
}

/// Least number of copies.
const MIN_COPIES: usize = 3;
/// Calls of a pattern that other sequences do not have in this order by chance. Of shorter patterns, only three copies
/// in a row count.
const MIN_DISTINCT_CALLS: usize = 4;
/// The finest parts of the sequence between which runs are looked for, and the parts that are enough if a period covers
/// 95 % of the calls.
const PART_LIMITS: [usize; 2] = [32, 4];
/// Parts of a period between which shorter periods are looked for.
const PARTS_OF_PERIOD: usize = 8;

/// The periods of a sequence that cover more than half of its calls.
#[derive(Debug)]
pub(super) struct Periods(Vec<Candidate>);

impl Periods {
    /// Looks for them in the beginning of a sequence of calls and their bytes.
    pub(super) fn find(tokens: &[CallToken], bytes: &[u64]) -> Self {
        let mut found: Vec<Candidate> = vec![];
        let look = |found: &mut Vec<Candidate>, within: &[CallToken], middle: usize| {
            for run in runs_across(within, middle) {
                if found.iter().all(|known| known.pattern.len() != run.period) {
                    let pattern = within.get(run.start..run.start + run.period).unwrap_or_default();
                    let candidate = Candidate::find(pattern, tokens, bytes);
                    found.extend(candidate.and_then(|it| Candidate::find(&it.begun_early(tokens), tokens, bytes)));
                }
            }
        };
        let mut parts = 2;
        while parts <= PART_LIMITS[0] {
            (1..parts).step_by(2).for_each(|part| look(&mut found, tokens, tokens.len() * part / parts));
            if parts >= PART_LIMITS[1] && found.iter().any(|it| 20 * it.calls() >= 19 * tokens.len()) {
                break;
            }
            parts *= 2;
        }
        // what regularly comes between steps may lie at all of these places: the longest period is looked through, too
        if let Some(longest) = found.iter().map(|it| it.pattern.clone()).max_by_key(|pattern| pattern.len()) {
            (1..PARTS_OF_PERIOD).for_each(|part| look(&mut found, &longest, longest.len() * part / PARTS_OF_PERIOD));
        }
        found.retain(|it| 2 * it.calls() > tokens.len());
        found.sort_by_key(|it| it.pattern.len());
        Self(found)
    }

    /// Returns the steps: the smallest period of those that cover 99 % of the calls and 99.9 % of the bytes that any
    /// covers.
    pub(super) fn best(&self) -> Option<&Candidate> {
        let calls = self.0.iter().map(Candidate::calls).max()?;
        let bytes = self.0.iter().map(|it| it.bytes).max()?;
        let is_enough = |it: &&Candidate| 100 * it.calls() >= 99 * calls && 1000 * it.bytes >= 999 * bytes;
        self.0.iter().find(is_enough).or_else(|| self.0.iter().find(|it| it.calls() == calls))
    }

    /// Returns the periods that are shorter than this one, shortest first.
    pub(super) fn shorter_than(&self, period: usize) -> impl Iterator<Item = &Candidate> {
        self.0.iter().filter(move |it| it.pattern.len() < period)
    }

    /// Returns the periods that are longer than this one, shortest first.
    pub(super) fn longer_than(&self, period: usize) -> impl Iterator<Item = &Candidate> {
        self.0.iter().filter(move |it| it.pattern.len() > period)
    }
}

/// A way along the pattern, over and over.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Walk {
    at: u32,
}

/// What a call is to its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Met {
    /// It belongs to a step. Others lie between steps, or interrupt one: the step goes on with the next call that it
    /// waits for.
    pub(super) fits: bool,
    /// Its place in the step, if it belongs to one.
    pub(super) place: u32,
    /// It is a step's first.
    pub(super) is_first: bool,
    /// It is a step's last.
    pub(super) is_last: bool,
}

impl Walk {
    pub(super) fn meet(&mut self, pattern: &[CallToken], token: CallToken) -> Met {
        let at = self.at as usize;
        if pattern.get(at) != Some(&token) {
            return Met { fits: false, place: 0, is_first: false, is_last: false };
        }
        let is_last = at + 1 == pattern.len();
        self.at = if is_last { 0 } else { self.at + 1 };
        Met { fits: true, place: at as u32, is_first: at == 0, is_last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repetition(tokens: &[CallToken], bytes: &[u64]) -> Option<Repetition> {
        Periods::find(tokens, bytes).best()?.repetition(None)
    }

    #[test]
    fn a_random_sequence_has_none() {
        for (seed, kinds) in [(1, 2), (2, 3), (3, 5), (4, 20)] {
            let mut random = fastrand::Rng::with_seed(seed);
            let tokens: Vec<CallToken> = (0..1000).map(|_| random.u32(0..kinds)).collect();
            assert_eq!(repetition(&tokens, &[8; 1000]), None, "{kinds} kinds");
        }
    }

    #[test]
    fn a_warm_up_ends_where_the_first_step_begins() {
        let mut tokens = vec![5, 1, 6, 1, 2, 7];
        tokens.extend([1, 2, 3].repeat(5));
        tokens.push(8);
        tokens.extend([1, 2, 3].repeat(6));
        let found = repetition(&tokens, &vec![8; tokens.len()]).unwrap();
        assert_eq!((&found.pattern[..], found.from), (&[1, 2, 3][..], 6));
    }

    fn repeat(parts: &[(&[CallToken], usize)]) -> Vec<CallToken> {
        parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect()
    }

    /// Period and first step of tokens, each of which has as many bytes as it is large.
    fn found(tokens: &[CallToken]) -> Option<(usize, usize)> {
        let bytes: Vec<u64> = tokens.iter().map(|&token| token.into()).collect();
        repetition(tokens, &bytes).map(|found| (found.pattern.len(), found.from))
    }

    #[test]
    fn layers_are_no_steps() {
        // 24 layers of 4 calls: one more call is a hundredth
        let few = repeat(&[(&[10, 11, 12, 13], 24), (&[9], 1)]);
        assert_eq!(found(&repeat(&[(&[7, 7, 8], 2), (&few, 10)])), Some((97, 6)));
        // 200 layers: it is less, but has a hundredth of the bytes
        let large = repeat(&[(&[10, 11, 12, 13], 200), (&[100], 1)]);
        assert_eq!(found(&repeat(&[(&large, 10)])), Some((801, 0)));
        // three layers of 3 calls, two more calls, and sometimes another one
        let step = [10, 11, 11, 10, 11, 11, 10, 11, 11, 12, 13];
        let tokens = repeat(&[(&[10], 3), (&step, 2), (&[1], 1), (&step, 1), (&[1], 1), (&step, 3)]);
        assert_eq!(found(&tokens), Some((11, 3)));
    }

    #[test]
    fn a_checkpoint_or_a_log_is_no_step() {
        let step = [50, 60, 60, 70, 51, 52, 53, 54, 55, 56];
        for steps in [[10; 5], [20, 9, 30, 9, 11]] {
            let tokens: Vec<CallToken> = steps.iter().flat_map(|&steps| repeat(&[(&step, steps), (&[1], 1)])).collect();
            assert_eq!(found(&tokens), Some((10, 0)), "{steps:?}");
        }
        assert_eq!(found(&[5; 40]), Some((1, 0)));
    }

    #[test]
    fn a_sweep_of_sizes_has_no_steps() {
        assert_eq!(found(&repeat(&[(&[1], 4), (&[2], 4), (&[3], 4), (&[4], 4)])), None);
        assert_eq!(found(&repeat(&[(&[1], 20), (&[2], 20)])), None);
        assert_eq!((found(&[]), found(&[1]), found(&[1, 2, 1, 2])), (None, None, None));
    }

    #[test]
    fn a_walk_goes_on_behind_what_does_not_belong() {
        let mut walk = Walk::default();
        let met: Vec<Met> = [1, 9, 2, 3, 9, 1, 2, 3].iter().map(|&token| walk.meet(&[1, 2, 3], token)).collect();
        let places = |of: fn(&Met) -> bool| (0..met.len()).filter(|&at| of(&met[at])).collect::<Vec<_>>();
        assert_eq!(places(|met| met.is_first), [0, 5]);
        assert_eq!(places(|met| met.is_last), [3, 7]);
        assert_eq!(places(|met| !met.fits), [1, 4]);
        assert_eq!(Walk::default().meet(&[4], 4), Met { fits: true, place: 0, is_first: true, is_last: true });
    }
}
