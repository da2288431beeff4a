//! Sends and receives that belong together. Between two ranks of a communicator, messages come in the order in which
//! they are sent, so the k-th send is the k-th receive, as every reader of the records takes it. A reader that finds
//! another number of sends than of receives would draw wrong lines; such a pair gets no record.

use super::speaker::SpokenMoment;
use std::collections::BTreeMap;

/// A communicator's place, the sender and the receiver.
type SenderReceiver = (usize, i32, i32);
/// Times and bytes, ticks.
type Moments = Vec<(u64, u64)>;

/// All sends and receives of an archive.
#[derive(Debug, Default)]
pub(super) struct Messages(BTreeMap<SenderReceiver, [Moments; 2]>);

/// Those that belong together.
#[derive(Debug, Default)]
pub(super) struct MatchedMessages {
    /// Pairs whose sends are its receives.
    pairs: std::collections::BTreeSet<SenderReceiver>,
    alone: u64,
    /// Receives that end before their send begins, and by how many ticks at most.
    reversed: (u64, u64),
}

impl Messages {
    /// Takes in a moment of a rank.
    pub(super) fn hear(&mut self, place: usize, rank: i32, time: u64, said: SpokenMoment) {
        match said {
            SpokenMoment::Send { to, bytes } => self.0.entry((place, rank, to)).or_default()[0].push((time, bytes)),
            SpokenMoment::Receive { from, bytes } => {
                self.0.entry((place, from, rank)).or_default()[1].push((time, bytes))
            }
            SpokenMoment::Begin { .. } | SpokenMoment::End { .. } => {}
        }
    }

    /// Decides which belong together.
    pub(super) fn matched(self) -> MatchedMessages {
        let mut matched = MatchedMessages::default();
        for (pair, [mut sends, mut receives]) in self.0 {
            // a rank may have several lanes
            sends.sort_unstable();
            receives.sort_unstable();
            let [sizes, received] = [&sends, &receives].map(|moments| moments.iter().map(|(_, bytes)| bytes));
            if !sizes.eq(received) {
                matched.alone += (sends.len() + receives.len()) as u64;
                continue;
            }
            matched.pairs.insert(pair);
            for ((sent, _), (received, _)) in sends.into_iter().zip(receives) {
                if received < sent {
                    matched.reversed.0 += 1;
                    matched.reversed.1 = matched.reversed.1.max(sent - received);
                }
            }
        }
        matched
    }
}

impl MatchedMessages {
    /// Returns whether a moment of a rank gets a record.
    pub(super) fn has(&self, place: usize, rank: i32, said: &SpokenMoment) -> bool {
        match *said {
            SpokenMoment::Send { to, .. } => self.pairs.contains(&(place, rank, to)),
            SpokenMoment::Receive { from, .. } => self.pairs.contains(&(place, from, rank)),
            SpokenMoment::Begin { .. } | SpokenMoment::End { .. } => true,
        }
    }

    /// Returns the number of sends and receives without a record.
    pub(super) fn alone(&self) -> u64 {
        self.alone
    }

    /// Returns the number of messages that end before they begin, and by how many ticks at most.
    pub(super) fn reversed(&self) -> (u64, u64) {
        self.reversed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_with_a_message_that_has_one_side_gets_no_record() {
        let mut messages = Messages::default();
        let [send, receive] = [SpokenMoment::Send { to: 1, bytes: 8 }, SpokenMoment::Receive { from: 0, bytes: 8 }];
        for time in [10, 30] {
            messages.hear(0, 0, time, send);
            messages.hear(0, 1, time + 5, receive);
        }
        messages.hear(0, 1, 40, SpokenMoment::Send { to: 0, bytes: 8 });
        let matched = messages.matched();
        assert!(matched.has(0, 0, &send) && matched.has(0, 1, &receive));
        assert!(!matched.has(0, 1, &SpokenMoment::Send { to: 0, bytes: 8 }) && !matched.has(1, 0, &send));
        assert_eq!((matched.alone(), matched.reversed()), (1, (0, 0)));
    }

    #[test]
    fn messages_that_end_before_they_begin_are_counted() {
        let mut messages = Messages::default();
        for (sent, received) in [(10, 5), (20, 21), (40, 33)] {
            messages.hear(0, 0, sent, SpokenMoment::Send { to: 1, bytes: sent });
            messages.hear(0, 1, received, SpokenMoment::Receive { from: 0, bytes: sent });
        }
        assert_eq!(messages.matched().reversed(), (2, 7));
    }
}
