//! The longest stretch of a sequence that repeats exactly.
//!
//! A run is a stretch in which each token equals the one a period later. All runs across a place are found in linear
//! time by two Z-functions, one to each side (Main and Lorentz, An O(n log n) algorithm for finding all repetitions in a
//! string, 1984). The places are the sequence's middle, its quarters, and so on to its 32nd parts, until a run covers
//! half of the sequence.

use super::token::Token;

/// A stretch that repeats at least three times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) period: usize,
}

impl Run {
    fn len(&self) -> usize {
        self.end - self.start
    }
}

/// Least number of repetitions.
const REPETITIONS: usize = 3;
/// The finest parts of the sequence between which runs are looked for.
const PARTS: usize = 32;

/// Returns the run of the smallest period that is at least half as long as the longest run. Layers in a step repeat,
/// too, but their run ends with the step: a run of steps is at least three times as long.
pub(super) fn longest_run(tokens: &[Token]) -> Option<Run> {
    let mut found = vec![];
    let mut parts = 2;
    while parts <= PARTS {
        for part in (1..parts).step_by(2) {
            found.extend(run_across(tokens, tokens.len() * part / parts));
        }
        if found.iter().any(|run: &Run| 2 * run.len() >= tokens.len()) {
            break;
        }
        parts *= 2;
    }
    smallest(&found)
}

fn smallest(runs: &[Run]) -> Option<Run> {
    let longest = runs.iter().map(Run::len).max()?;
    runs.iter().filter(|run| 2 * run.len() >= longest).min_by_key(|run| run.period).copied()
}

/// Returns the run of the smallest period, at least half as long as the longest one, in which `middle` and the place a
/// period behind it lie.
fn run_across(tokens: &[Token], middle: usize) -> Option<Run> {
    let (before, behind) = tokens.split_at_checked(middle)?;
    let to_right = z_function(behind);
    let mut mirrored: Vec<Token> = before.iter().rev().copied().collect();
    mirrored.push(Token::MAX);
    mirrored.extend(tokens.iter().rev());
    let to_left = z_function(&mirrored);
    let runs = (1..behind.len()).filter_map(|period| {
        let right = to_right.get(period).copied()? as usize;
        let left = to_left.get(middle + 1 + behind.len() - period).copied()? as usize;
        let run = Run { start: middle - left.min(middle), end: middle + period + right, period };
        (run.len() >= REPETITIONS * period).then_some(run)
    });
    smallest(&runs.collect::<Vec<_>>())
}

/// Returns for each place of a text how many tokens from there on equal the text's beginning (Gusfield, Algorithms on
/// Strings, Trees and Sequences, 1.4).
pub(super) fn z_function(text: &[Token]) -> Vec<u32> {
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

    fn repeat(parts: &[(&[Token], usize)]) -> Vec<Token> {
        parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect()
    }

    /// All runs by comparing everything with everything.
    fn plain(tokens: &[Token]) -> Option<Run> {
        let mut runs = vec![];
        for period in 1..tokens.len() {
            let mut start = 0;
            for at in 0..=tokens.len() - period {
                if at + period < tokens.len() && tokens[at] == tokens[at + period] {
                    continue;
                }
                let run = Run { start, end: at + period, period };
                if run.len() >= 3 * period {
                    runs.push(run);
                }
                start = at + 1;
            }
        }
        smallest(&runs)
    }

    #[test]
    fn layers_are_no_steps() {
        let mut step = repeat(&[(&[1, 2, 3], 24)]);
        step.push(9);
        let tokens = repeat(&[(&[7, 7, 8], 2), (&step, 10)]);
        assert_eq!(longest_run(&tokens), Some(Run { start: 6, end: tokens.len(), period: 73 }));
    }

    #[test]
    fn a_checkpoint_ends_a_run_and_no_more() {
        let step: &[Token] = &[1, 2, 2, 3];
        let tokens = repeat(&[(step, 20), (&[8], 1), (step, 30), (&[8], 1), (step, 11)]);
        assert_eq!(longest_run(&tokens), Some(Run { start: 81, end: 201, period: 4 }));
        assert_eq!(longest_run(&[5; 40]), Some(Run { start: 0, end: 40, period: 1 }));
        assert_eq!((longest_run(&[]), longest_run(&[1]), longest_run(&[1, 2, 1, 2])), (None, None, None));
    }

    #[test]
    fn long_runs_are_those_of_the_plain_search() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..200 {
            let step: Vec<Token> = (0..random.usize(1..9)).map(|_| random.u32(0..3)).collect();
            let noise: Vec<Token> = (0..random.usize(0..20)).map(|_| random.u32(0..4)).collect();
            let tokens = repeat(&[(&noise, 1), (&step, random.usize(8..30)), (&noise, 1)]);
            let (found, expected) = (longest_run(&tokens), plain(&tokens));
            assert_eq!(found.map(|run| run.period), expected.map(|run| run.period), "{tokens:?}");
        }
    }
}
