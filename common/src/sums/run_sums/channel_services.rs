//! Service times of each channel of each pair of ranks, for as many channels as there is room for.

use super::CommunicatorRank;
use crate::sums::services::Services;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of buckets over all channels of the process: 2 MiB, or 8 MiB if each channel has a single one. A pair
/// that would need more has none of its channels kept from then on, and the others go on.
pub(crate) const MOST_CHANNEL_BUCKETS: usize = 32_768;

/// A pair: the sender, and the rank of the receiver.
type Pair = (CommunicatorRank, i32);

/// Service times by pair and channel.
#[derive(Debug, Clone, Default)]
pub struct ChannelServices {
    kept: BTreeMap<(CommunicatorRank, i32, u8), Services>,
    /// Buckets of all of them.
    buckets: usize,
    /// Pairs that found no room.
    without_room: BTreeSet<Pair>,
}

impl ChannelServices {
    /// Adds service times of a channel.
    pub(crate) fn add(&mut self, (rank, peer): Pair, channel: u8, services: &Services) {
        if self.without_room.contains(&(rank, peer)) {
            return;
        }
        let of_channel = self.kept.entry((rank, peer, channel)).or_default();
        let before = of_channel.buckets();
        of_channel.merge(services);
        self.buckets += of_channel.buckets() - before;
        if self.buckets > MOST_CHANNEL_BUCKETS {
            self.remove((rank, peer));
            self.without_room.insert((rank, peer));
        }
    }

    /// Returns the channels of a pair, in ascending order; none if there was no room.
    pub(crate) fn of(&self, (rank, peer): Pair) -> impl Iterator<Item = (u8, &Services)> {
        let channels = self.kept.range((rank, peer, 0)..=(rank, peer, u8::MAX));
        channels.map(|(&(_, _, channel), services)| (channel, services))
    }

    /// Removes all pairs of a rank, whose sums are merged with those of other communicators: their paths may differ.
    pub(crate) fn remove_rank(&mut self, rank: CommunicatorRank) {
        let first = (rank, i32::MIN, 0);
        let peers: BTreeSet<i32> =
            self.kept.range(first..).map(|(key, _)| key).take_while(|key| key.0 == rank).map(|key| key.1).collect();
        peers.into_iter().for_each(|peer| self.remove((rank, peer)));
        self.without_room.retain(|(of, _)| *of != rank);
    }

    fn remove(&mut self, (rank, peer): Pair) {
        let channels: Vec<u8> = self.of((rank, peer)).map(|(channel, _)| channel).collect();
        for channel in channels {
            let removed = self.kept.remove(&(rank, peer, channel));
            self.buckets -= removed.map_or(0, |services| services.buckets());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::services::Service;

    fn services(sizes: std::ops::Range<u64>) -> Services {
        let mut services = Services::default();
        sizes.for_each(|bytes| services.add(Service { bytes, ticks: 10, in_flight: 1 }));
        services
    }

    #[test]
    fn a_pair_without_room_leaves_the_others_theirs() {
        let rank = |comm| CommunicatorRank { comm, rank: 0 };
        let mut all = ChannelServices::default();
        all.add((rank(1), 1), 0, &services(0..100));
        all.add((rank(1), 1), 3, &services(0..50));
        for channel in 0..8 {
            all.add((rank(2), 1), channel, &services(0..5000));
        }
        let channels = |comm, peer| all.of((rank(comm), peer)).map(|(channel, _)| channel).collect::<Vec<_>>();
        assert_eq!((channels(1, 1), channels(2, 1)), (vec![0, 3], vec![]));
        assert_eq!(all.buckets, 150);
        all.add((rank(2), 1), 9, &services(0..1));
        assert_eq!(all.of((rank(2), 1)).count(), 0, "it stays without");
        all.add((rank(2), 2), 0, &services(0..7));
        all.remove_rank(rank(2));
        assert_eq!((all.buckets, all.of((rank(2), 2)).count(), all.without_room.len()), (150, 0, 0));
    }
}
