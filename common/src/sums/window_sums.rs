//! Transfers of one window: to each rank, and in all.

use crate::sums::run_sums::PairSum;
use crate::sums::services::Services;
use std::collections::BTreeMap;

/// The transfers of a window.
#[derive(Debug, Default)]
pub struct Traffic {
    peers: BTreeMap<i32, PairSum>,
    /// `active` is the time with a transfer to any rank under way; the other fields are summed over the ranks at the
    /// end.
    all: PairSum,
    /// Service times by rank and channel; kept if they are wanted.
    channels: BTreeMap<(i32, u8), Services>,
}

impl Traffic {
    /// Returns the sums of the transfers to this rank.
    pub fn to(&mut self, peer: i32) -> &mut PairSum {
        self.peers.entry(peer).or_default()
    }

    /// Returns the service times of the transfers to this rank by this channel.
    pub fn by(&mut self, peer: i32, channel: u8) -> &mut Services {
        self.channels.entry((peer, channel)).or_default()
    }

    /// Takes the service times of all channels, when nothing more comes.
    pub fn take_channels(&mut self) -> BTreeMap<(i32, u8), Services> {
        std::mem::take(&mut self.channels)
    }

    /// Adds an interval with a transfer to any rank under way, ticks.
    #[inline]
    pub fn under_way(&mut self, start: u64, stop: u64) {
        self.all.active.add(start, stop);
    }

    /// Returns the final sums: in all, if there was any transfer, and to each rank.
    pub fn sums(self) -> impl Iterator<Item = (Option<i32>, PairSum)> {
        let Self { peers, mut all, .. } = self;
        // the time with any transfer under way is known: the ranks' times must not be added up
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
    use crate::sums::run_sums::TransferKey;

    #[test]
    fn all_is_the_sum_over_the_ranks_and_times_under_way_count_once() {
        let transfer =
            |peer: i32, start: u64| TransferKey { start, stop: start + 10, bytes: 8 + start, peer, channel: 0 };
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
