//! Which rank pairs have labels of their own: the first so many. Whoever is among the others stays there, since a sum must never fall.

use crate::totals::Rank;
use std::collections::{BTreeMap, BTreeSet};

/// A rank and another that it sends to.
pub(crate) type Pair = (Rank, i32);

/// The pairs seen so far.
#[derive(Debug)]
pub(crate) struct Peers {
    most: usize,
    /// Whether each has labels of its own.
    known: BTreeMap<Pair, bool>,
}

impl Peers {
    /// So many may have labels of their own.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, known: BTreeMap::new() }
    }

    /// These are the pairs there are: new ones find room or not, and those that are gone make room.
    pub(crate) fn meet(&mut self, pairs: impl Iterator<Item = Pair>) {
        let pairs: BTreeSet<Pair> = pairs.collect();
        self.known.retain(|pair, _| pairs.contains(pair));
        let mut own = self.known.values().filter(|own| **own).count();
        for pair in pairs {
            self.known.entry(pair).or_insert_with(|| {
                let room = own < self.most;
                own += usize::from(room);
                room
            });
        }
    }

    /// The peer, or `None` for one among the others.
    pub(crate) fn label(&self, rank: Rank, peer: i32) -> Option<i32> {
        self.known.get(&(rank, peer)).is_some_and(|own| *own).then_some(peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_come_first_have_labels_of_their_own_for_good() {
        let rank = Rank { comm: 1, rank: 0 };
        let pair = |peer| (rank, peer);
        let mut peers = Peers::new(2);
        peers.meet([pair(5), pair(3)].into_iter());
        peers.meet([pair(5), pair(3), pair(1)].into_iter());
        assert_eq!([1, 3, 5].map(|peer| peers.label(rank, peer)), [None, Some(3), Some(5)]);
        // one is gone: a new one takes its place, not one of the others
        peers.meet([pair(5), pair(1)].into_iter());
        peers.meet([pair(5), pair(1), pair(9)].into_iter());
        assert_eq!([1, 5, 9].map(|peer| peers.label(rank, peer)), [None, Some(5), Some(9)]);
    }
}
