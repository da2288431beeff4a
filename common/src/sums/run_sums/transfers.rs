//! Transfers, and their sums.

use super::adding::{grow, scaled};
use crate::sums::histograms::{self, IfHistograms, OfTransfers, OfWindows};
use crate::sums::intervals::Intervals;
use crate::sums::services::Services;

/// A transfer over the network, as the sender sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransferKey {
    /// Time at which its data went to the network, ticks.
    pub start: u64,
    /// Time at which it was done, ticks.
    pub stop: u64,
    /// Size.
    pub bytes: u64,
    /// The receiving rank.
    pub peer: i32,
    /// Channel id.
    pub channel: u8,
}

impl TransferKey {
    /// Returns its duration.
    pub(crate) fn ticks(&self) -> u64 {
        self.stop.saturating_sub(self.start)
    }
}

/// Largest number of disjoint intervals with transfers that a pair keeps.
const MOST_APART: usize = 1024;

/// Transfers of one pair of ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PairSum {
    /// Number of transfers.
    pub transfers: u64,
    /// Bytes.
    pub bytes: u64,
    /// Service times. A transfer's service time is added once everything that stopped before it was read.
    pub services: Services,
    /// Time with at least one transfer under way, ticks.
    pub active: Intervals<MOST_APART>,
    /// Begin of the first transfer and end of the last, ticks.
    pub span: Option<(u64, u64)>,
    /// Histograms of its windows' rates and latencies.
    pub windows: IfHistograms<OfWindows>,
}

impl PairSum {
    /// Adds a transfer.
    pub fn add(&mut self, transfer: &TransferKey) {
        self.count(transfer);
        self.active.add(transfer.start, transfer.stop);
    }

    /// Adds a transfer, except to `active`.
    #[inline]
    pub(crate) fn count(&mut self, transfer: &TransferKey) {
        self.transfers += 1;
        grow(&mut self.bytes, transfer.bytes);
        self.cover((transfer.start, transfer.stop));
    }

    fn cover(&mut self, (start, stop): (u64, u64)) {
        let span = self.span.get_or_insert((start, stop));
        *span = (span.0.min(start), span.1.max(stop));
    }

    /// Adds all transfers of another pair, of which nothing more comes. Time in which both had a transfer under way
    /// counts twice.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.transfers += other.transfers;
        grow(&mut self.bytes, other.bytes);
        self.services.merge(&other.services);
        self.active.extend(other.active.total());
        other.span.into_iter().for_each(|span| self.cover(span));
        histograms::merge(&mut self.windows, &other.windows, OfWindows::merge);
    }
}

/// Transfers of one pair of ranks over one channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelSum {
    /// Number of transfers.
    pub transfers: u64,
    /// Bytes.
    pub bytes: u64,
    /// Sum of the transfers' durations, ticks.
    pub ticks: u64,
    /// Histograms of their sizes and times.
    pub spread: IfHistograms<OfTransfers>,
}

impl ChannelSum {
    /// Adds a transfer.
    #[inline]
    pub fn add(&mut self, transfer: &TransferKey, nanoseconds_per_tick: f64) {
        self.transfers += 1;
        grow(&mut self.bytes, transfer.bytes);
        grow(&mut self.ticks, transfer.ticks());
        histograms::keep(&mut self.spread, |spread| {
            spread.sizes.add(transfer.bytes);
            spread.times.add(scaled(transfer.ticks(), nanoseconds_per_tick));
        });
    }

    /// Adds all transfers of another sum.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.transfers += other.transfers;
        grow(&mut self.bytes, other.bytes);
        grow(&mut self.ticks, other.ticks);
        histograms::merge(&mut self.spread, &other.spread, OfTransfers::merge);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_keeps_all_of_its_transfers() {
        let mut sum = PairSum::default();
        for (start, stop, bytes) in [(0, 10, 8), (5, 20, 8), (30, 31, 0)] {
            sum.add(&TransferKey { start, stop, bytes, peer: 1, channel: 0 });
        }
        assert_eq!((sum.transfers, sum.bytes, sum.active.total()), (3, 16, 21));
    }
}
