//! Stretches of a sequence that repeat exactly.
//!
//! A run is a stretch in which each token equals the one a period later. All runs across a place are found in linear
//! time by two Z-functions, one to each side (Main and Lorentz, An O(n log n) algorithm for finding all repetitions in
//! a string, 1984).

use super::token::CallToken;

/// A stretch that repeats at least twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RepeatedStretch {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) period: usize,
}

impl RepeatedStretch {
    fn len(&self) -> usize {
        self.end - self.start
    }
}

/// Least number of repetitions.
const MIN_REPETITIONS: usize = 2;

/// Returns runs in which `middle` and the place a period after it lie: the longest one for each power of two of the
/// period.
pub(super) fn runs_across(tokens: &[CallToken], middle: usize) -> Vec<RepeatedStretch> {
    let Some((before, behind)) = tokens.split_at_checked(middle) else { return vec![] };
    let to_right = z_function(behind);
    let mut mirrored: Vec<CallToken> = before.iter().rev().copied().collect();
    mirrored.push(CallToken::MAX);
    mirrored.extend(tokens.iter().rev());
    let to_left = z_function(&mirrored);
    let mut longest: Vec<Option<RepeatedStretch>> = vec![None; usize::BITS as usize];
    for period in 1..behind.len() {
        let left = to_left.get(middle + 1 + behind.len() - period).map_or(0, |&left| (left as usize).min(middle));
        let right = to_right.get(period).map_or(0, |&right| right as usize);
        let run = RepeatedStretch { start: middle - left, end: middle + period + right, period };
        let Some(known) = longest.get_mut(period.ilog2() as usize) else { continue };
        if run.len() >= MIN_REPETITIONS * period && known.is_none_or(|known| run.len() > known.len()) {
            *known = Some(run);
        }
    }
    longest.into_iter().flatten().collect()
}

/// Returns for each place of a text how many tokens from there on equal the text's beginning (Gusfield, Algorithms on
/// Strings, Trees and Sequences, 1.4).
pub(super) fn z_function(text: &[CallToken]) -> Vec<u32> {
    let mut z = vec![0u32; text.len()];
    let (mut from, mut to) = (0, 0);
    for at in 1..text.len() {
        let known = if at < to { (z[at - from] as usize).min(to - at) } else { 0 };
        let more = text[at + known..].iter().zip(&text[known..]).take_while(|(one, other)| one == other).count();
        z[at] = (known + more) as u32;
        if at + known + more > to {
            (from, to) = (at, at + known + more);
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_exact_and_reach_as_far_as_they_can() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..200 {
            let step: Vec<CallToken> = (0..random.usize(1..9)).map(|_| random.u32(0..3)).collect();
            let noise: Vec<CallToken> = (0..random.usize(0..20)).map(|_| random.u32(0..4)).collect();
            let tokens = [&noise[..], &step.repeat(random.usize(8..30)), &noise[..]].concat();
            let runs = runs_across(&tokens, tokens.len() / 2);
            for &RepeatedStretch { start, end, period } in &runs {
                assert!((start..end - period).all(|at| tokens[at] == tokens[at + period]));
                assert!(start == 0 || tokens[start - 1] != tokens[start - 1 + period]);
                assert!(end == tokens.len() || tokens[end - period] != tokens[end]);
            }
            let is_step = |run: &RepeatedStretch| step.len().is_multiple_of(run.period) && run.start <= noise.len();
            assert!(runs.iter().any(is_step), "{tokens:?}: {runs:?}");
        }
    }

    #[test]
    fn short_sequences_have_no_runs() {
        assert_eq!((runs_across(&[], 0), runs_across(&[1], 0), runs_across(&[1, 2, 3], 1)), (vec![], vec![], vec![]));
        assert_eq!(runs_across(&[5; 8], 4)[0], RepeatedStretch { start: 0, end: 8, period: 1 });
    }
}
