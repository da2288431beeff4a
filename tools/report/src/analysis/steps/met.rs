//! The periods of sequences that were met before. Ranks that run the same program make the same calls, whose periods
//! are looked for once.

use super::pattern::Periods;
use super::sequence::Sequence;
use super::token::{CallToken, Detail};

/// Sequences that are kept: neighbouring ranks are of few stages of a pipeline. They take 16 bytes a call.
const MAX_SEQUENCES: usize = 4;

/// The calls of a sequence without their times, and their periods.
#[derive(Debug)]
pub(super) struct MetCalls {
    tokens: [Vec<CallToken>; 2],
    bytes: Vec<u64>,
    /// Periods of exact calls.
    pub(super) exact: Periods,
    /// Periods of calls without their counts.
    pub(super) without_counts: Periods,
}

impl MetCalls {
    fn search(sequence: &Sequence) -> Self {
        let Sequence { tokens, bytes, .. } = sequence;
        let periods = |detail: Detail| Periods::find(&tokens[detail as usize], bytes);
        let (exact, without_counts) = (periods(Detail::Exact), periods(Detail::WithoutCounts));
        Self { tokens: tokens.clone(), bytes: bytes.clone(), exact, without_counts }
    }

    fn are_of(&self, sequence: &Sequence) -> bool {
        self.tokens == sequence.tokens && self.bytes == sequence.bytes
    }
}

/// The latest sequences with their periods, the last one that was met first.
#[derive(Debug, Default)]
pub(super) struct MetSequences(Vec<MetCalls>);

impl MetSequences {
    /// Returns the calls of a sequence with their periods.
    pub(super) fn meet(&mut self, sequence: &Sequence) -> &MetCalls {
        match self.0.iter().position(|calls| calls.are_of(sequence)) {
            Some(place) => self.0[..=place].rotate_right(1),
            None => {
                self.0.truncate(MAX_SEQUENCES - 1);
                self.0.insert(0, MetCalls::search(sequence));
            }
        }
        &self.0[0]
    }
}

#[cfg(test)]
mod tests {
    use super::super::sequence::Mark;
    use super::*;

    fn sequence(tokens: &[CallToken], bytes: u64) -> Sequence {
        let mut sequence = Sequence::default();
        for &token in tokens {
            sequence.tokens.iter_mut().for_each(|tokens| tokens.push(token));
            sequence.times.push([0; 2]);
            sequence.bytes.push(bytes);
            sequence.marks.push(Mark::Other);
        }
        sequence
    }

    /// Each of seven sequences, met in turn or by chance, has the periods that it has alone.
    #[test]
    fn sequences_that_were_met_have_their_own_periods() {
        let step = |length: CallToken| (0..length).collect::<Vec<_>>().repeat(12);
        let mut sequences: Vec<Sequence> = (1..7).map(|length| sequence(&step(length), 8)).collect();
        sequences.push(sequence(&step(3), 16));
        let mut met = MetSequences::default();
        let mut random = fastrand::Rng::with_seed(7);
        for turn in 0..200 {
            let next = &sequences[if turn < 50 { turn % sequences.len() } else { random.usize(..sequences.len()) }];
            let (found, alone) = (met.meet(next), MetCalls::search(next));
            assert!(found.are_of(next));
            assert_eq!(found.exact.best().unwrap().pattern.len(), next.tokens[0].len() / 12);
            assert_eq!(format!("{found:?}"), format!("{alone:?}"));
            assert!(met.0.len() <= MAX_SEQUENCES);
        }
    }
}
