//! Transfers that a round found, by receiving rank, on their way into the sums of the run and of a window.

use crate::sums::intervals;
use crate::sums::run_sums::{ChannelSum, PairSum, TransferKey};
use rustc_hash::FxHashMap;

/// Transfers to one rank.
#[derive(Debug, Default)]
pub struct ToPeer {
    /// The rank.
    pub peer: i32,
    /// Sums, without the time with a transfer under way.
    pub sum: PairSum,
    /// Sums by channel.
    pub channels: Vec<ChannelSum>,
    /// Intervals with a transfer under way, ticks; only their union counts.
    pub under_way: Vec<(u64, u64)>,
}

impl ToPeer {
    #[inline]
    fn add(&mut self, transfer: &TransferKey, nanoseconds_per_tick: f64) {
        self.sum.count(transfer);
        let channel = usize::from(transfer.channel);
        if self.channels.len() <= channel {
            self.channels.resize(channel + 1, ChannelSum::default());
        }
        self.channels[channel].add(transfer, nanoseconds_per_tick);
        intervals::push(&mut self.under_way, transfer.start, transfer.stop);
    }
}

/// All transfers of a round.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    peers: Vec<ToPeer>,
    /// The transfers whose service times are still to be worked out.
    transfers: Vec<TransferKey>,
    places: FxHashMap<i32, usize>,
    /// Place in `peers` of the last transfer's rank.
    last: usize,
}

impl Sent {
    /// Adds a transfer.
    #[inline]
    pub(crate) fn add(&mut self, transfer: &TransferKey, nanoseconds_per_tick: f64) {
        if self.peers.get(self.last).is_none_or(|last| last.peer != transfer.peer) {
            self.last = *self.places.entry(transfer.peer).or_insert(self.peers.len());
        }
        if self.last == self.peers.len() {
            self.peers.push(ToPeer { peer: transfer.peer, ..ToPeer::default() });
        }
        self.peers[self.last].add(transfer, nanoseconds_per_tick);
        self.transfers.push(*transfer);
    }

    /// Returns the sums by rank, in no order, and the transfers.
    pub(crate) fn into_parts(self) -> (Vec<ToPeer>, Vec<TransferKey>) {
        (self.peers, self.transfers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_kept_by_rank_and_channel() {
        let mut sent = Sent::default();
        for (start, stop, peer, channel) in
            [(10, 20, 3, 0), (0, 5, 1, 2), (15, 30, 3, 1), (40, 40, 3, 0), (50, 60, 3, 0), (45, 50, 3, 1)]
        {
            sent.add(&TransferKey { start, stop, bytes: 8, peer, channel }, 1.0);
        }
        let (peers, transfers) = sent.into_parts();
        assert_eq!(transfers.iter().map(|transfer| transfer.start).collect::<Vec<_>>(), [10, 0, 15, 40, 50, 45]);
        let [three, one] = <[ToPeer; 2]>::try_from(peers).unwrap();
        assert_eq!((three.peer, three.sum.transfers, three.sum.bytes, three.sum.span), (3, 5, 40, Some((10, 60))));
        assert_eq!(three.channels.iter().map(|channel| channel.transfers).collect::<Vec<_>>(), [3, 2]);
        assert_eq!(three.under_way, [(10, 30), (45, 60)]);
        assert_eq!((one.peer, one.channels.len(), &one.under_way[..]), (1, 3, &[(0, 5)][..]));
    }
}
