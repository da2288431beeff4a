//! The calls of one step, and how a sequence of calls goes along them.

use super::run::{longest_run, z_function};
use super::token::Token;

/// Steps in a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repetition {
    /// The calls of a step.
    pub(super) pattern: Box<[Token]>,
    /// The first step's place.
    pub(super) from: usize,
}

/// Calls of a pattern that a warm-up does not have in this order by chance.
const NO_CHANCE: usize = 4;

/// Finds the steps in the beginning of a sequence; `None` if nothing repeats, or what does is less than half of the
/// calls behind its first copy, or less than a quarter of all. Only three copies in a row count for that.
pub(super) fn repetition(tokens: &[Token]) -> Option<Repetition> {
    let run = longest_run(tokens)?;
    let pattern = tokens.get(run.start..run.start + run.period)?;
    let mut text = pattern.to_vec();
    text.push(Token::MAX);
    text.extend_from_slice(tokens);
    let fits = z_function(&text);
    let fits_at = |at: usize| fits.get(pattern.len() + 1 + at).is_some_and(|&fits| fits as usize >= pattern.len());
    let (mut at, mut from, mut covered) = (0, None, 0);
    while at < tokens.len() {
        let copies = (0..).take_while(|copy| fits_at(at + copy * pattern.len())).count();
        if copies >= 3 {
            covered += copies * pattern.len();
        }
        if copies >= if pattern.len() >= NO_CHANCE { 1 } else { 3 } {
            from.get_or_insert(at);
        }
        at += (copies * pattern.len()).max(1);
    }
    let from = from?;
    let is_enough = 2 * covered >= tokens.len() - from && 4 * covered >= tokens.len();
    is_enough.then(|| Repetition { pattern: pattern.into(), from })
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
    /// It is a step's first.
    pub(super) is_first: bool,
    /// It is a step's last.
    pub(super) is_last: bool,
}

impl Walk {
    pub(super) fn meet(&mut self, pattern: &[Token], token: Token) -> Met {
        let at = self.at as usize;
        if pattern.get(at) != Some(&token) {
            return Met { fits: false, is_first: false, is_last: false };
        }
        let is_last = at + 1 == pattern.len();
        self.at = if is_last { 0 } else { self.at + 1 };
        Met { fits: true, is_first: at == 0, is_last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_sequence_has_none() {
        for (seed, kinds) in [(1, 2), (2, 3), (3, 5), (4, 20)] {
            let mut random = fastrand::Rng::with_seed(seed);
            let tokens: Vec<Token> = (0..1000).map(|_| random.u32(0..kinds)).collect();
            assert_eq!(repetition(&tokens), None, "{kinds} kinds");
        }
    }

    #[test]
    fn a_warm_up_ends_where_the_first_step_begins() {
        let mut tokens = vec![5, 1, 6, 1, 2, 7];
        tokens.extend([1, 2, 3].repeat(5));
        tokens.push(8);
        tokens.extend([1, 2, 3].repeat(6));
        let found = repetition(&tokens).unwrap();
        assert_eq!((&found.pattern[..], found.from), (&[1, 2, 3][..], 6));
    }

    #[test]
    fn a_walk_goes_on_behind_what_does_not_belong() {
        let mut walk = Walk::default();
        let met: Vec<Met> = [1, 9, 2, 3, 9, 1, 2, 3].iter().map(|&token| walk.meet(&[1, 2, 3], token)).collect();
        let places = |of: fn(&Met) -> bool| (0..met.len()).filter(|&at| of(&met[at])).collect::<Vec<_>>();
        assert_eq!(places(|met| met.is_first), [0, 5]);
        assert_eq!(places(|met| met.is_last), [3, 7]);
        assert_eq!(places(|met| !met.fits), [1, 4]);
        assert_eq!(Walk::default().meet(&[4], 4), Met { fits: true, is_first: true, is_last: true });
    }
}
