//! What one window transferred: to each rank, and in all.

use crate::sums::run_sums::PairSum;
use crate::sums::services::Services;
use std::collections::BTreeMap;

/// The transfers of a window.
#[derive(Debug, Default)]
pub struct Traffic {
    peers: BTreeMap<i32, PairSum>,
    /// When any was under way; what else is said of all is the sum over the ranks.
    all: PairSum,
    /// By rank and channel, where that is wanted.
    channels: BTreeMap<(i32, u8), Services>,
}

impl Traffic {
    /// The transfers to that rank.
    pub fn to(&mut self, peer: i32) -> &mut PairSum {
        self.peers.entry(peer).or_default()
    }

    /// Service times of the transfers to that rank by that channel.
    pub fn by(&mut self, peer: i32, channel: u8) -> &mut Services {
        self.channels.entry((peer, channel)).or_default()
    }

    /// All of these, when nothing more comes.
    pub fn take_channels(&mut self) -> BTreeMap<(i32, u8), Services> {
        std::mem::take(&mut self.channels)
    }

    /// Transfers, whoever to, were under way between these times, ticks.
    #[inline]
    pub fn under_way(&mut self, start: u64, stop: u64) {
        self.all.active.add(start, stop);
    }

    /// The sums when nothing more comes: in all if there was any transfer, and to each rank.
    pub fn sums(self) -> impl Iterator<Item = (Option<i32>, PairSum)> {
        let Self { peers, mut all, .. } = self;
        // of each it is known when it was under way, of all together too
        let active = all.active.clone();
        peers.values().for_each(|pair| all.merge(pair));
        all.active = active;
        let any = !peers.is_empty();
        any.then_some((None, all)).into_iter().chain(peers.into_iter().map(|(peer, pair)| (Some(peer), pair)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::run_sums::Transfer;

    #[test]
    fn all_is_the_sum_over_the_ranks_and_times_under_way_count_once() {
        let transfer = |peer: i32, start: u64| Transfer { start, stop: start + 10, bytes: 8 + start, peer, channel: 0 };
        let mut traffic = Traffic::default();
        let mut expected = PairSum::default();
        for transfer in [transfer(1, 0), transfer(2, 5), transfer(1, 30), transfer(2, 31)] {
            traffic.under_way(transfer.start, transfer.stop);
            traffic.to(transfer.peer).add(&transfer);
            expected.add(&transfer);
        }
        let sums: Vec<_> = traffic.sums().collect();
        assert_eq!(sums.iter().map(|(peer, _)| *peer).collect::<Vec<_>>(), [None, Some(1), Some(2)]);
        assert_eq!(sums[0].1, expected);
        assert_eq!((sums[1].1.transfers, sums[2].1.active.total()), (2, 20));
        assert_eq!(Traffic::default().sums().count(), 0);
    }
}
