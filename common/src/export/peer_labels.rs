//! The rank pairs that have labels of their own: the first ones up to a limit. A pair among the others stays there,
//! since a sum must never fall.

use crate::sums::run_sums::CommunicatorRank;
use std::collections::BTreeSet;

/// A rank, and a rank that it sends to.
pub(crate) type PeerPair = (CommunicatorRank, i32);

/// The pairs with labels of their own.
#[derive(Debug)]
pub(crate) struct PeerLabels {
    most: usize,
    own: BTreeSet<PeerPair>,
}

impl PeerLabels {
    /// Makes an empty set for at most `most` pairs.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, own: BTreeSet::new() }
    }

    /// Adds new pairs while there is room. A pair once added stays for good.
    pub(crate) fn meet(&mut self, pairs: impl Iterator<Item = PeerPair>) {
        for pair in pairs {
            if self.own.len() < self.most {
                self.own.insert(pair);
            }
        }
    }

    /// Returns the peer for its label; `None` for a pair among the others.
    pub(crate) fn label(&self, rank: CommunicatorRank, peer: i32) -> Option<i32> {
        self.own.contains(&(rank, peer)).then_some(peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_come_first_have_labels_of_their_own_for_good() {
        let rank = CommunicatorRank { comm: 1, rank: 0 };
        let pair = |peer| (rank, peer);
        let mut peers = PeerLabels::new(2);
        peers.meet([pair(5), pair(3)].into_iter());
        peers.meet([pair(5), pair(3), pair(1)].into_iter());
        assert_eq!([1, 3, 5].map(|peer| peers.label(rank, peer)), [None, Some(3), Some(5)]);
    }
}
