//! Sums per communicator, rank and function, per rank pair, and per channel.

use crate::fastest::Fastest;
use crate::fit::Fit;
use crate::intervals::Intervals;
use crate::name::Name;
use crate::operation::{Operation, Timing};
use std::collections::BTreeMap;

/// One rank of one communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Communicator id.
    pub comm: u64,
    /// Rank in it.
    pub rank: i32,
}

/// Operations of one kind, function and peer of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationSum {
    /// Operations.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Operations timed by the GPU; the next three are theirs, in nanoseconds.
    pub gpu_timed: u64,
    /// Sum of times.
    pub time: u64,
    /// Shortest.
    pub min: Option<u64>,
    /// Longest.
    pub max: Option<u64>,
    /// Operations timed by the last proxy operation's stop.
    pub proxy_timed: u64,
    /// Sum of their times, ticks.
    pub proxy_ticks: u64,
    /// Operations timed by their enqueue.
    pub enqueue_timed: u64,
    /// Sum of their times, ticks.
    pub enqueue_ticks: u64,
}

impl OperationSum {
    /// Takes an operation in.
    pub fn add(&mut self, bytes: u64, timing: Timing) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        match timing {
            Timing::Gpu { start, stop } => {
                let time = stop.saturating_sub(start);
                self.gpu_timed += 1;
                self.time += time;
                self.min = Some(self.min.map_or(time, |min| min.min(time)));
                self.max = Some(self.max.map_or(time, |max| max.max(time)));
            }
            Timing::Proxy(ticks) => {
                self.proxy_timed += 1;
                self.proxy_ticks += ticks;
            }
            Timing::Enqueue(ticks) => {
                self.enqueue_timed += 1;
                self.enqueue_ticks += ticks;
            }
        }
    }
}

/// A transfer over the network, seen from the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transfer {
    /// When its data went to the network, ticks.
    pub start: u64,
    /// When it was done, ticks.
    pub stop: u64,
    /// Size.
    pub bytes: u64,
    /// The receiving rank.
    pub peer: i32,
    /// Channel id.
    pub channel: u8,
}

/// Disjoint times of transfers that a pair keeps.
const MOST_APART: usize = 1024;

/// Transfers of one pair of ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PairSum {
    /// Transfers.
    pub transfers: u64,
    /// Bytes.
    pub bytes: u64,
    /// Regression over all transfers.
    pub all: Fit,
    /// The fastest of each size.
    pub fastest: Fastest,
    /// Time with at least one transfer under way, ticks.
    pub active: Intervals<MOST_APART>,
}

impl PairSum {
    /// Takes a transfer in.
    pub fn add(&mut self, transfer: &Transfer) {
        let time = transfer.stop.saturating_sub(transfer.start);
        self.transfers += 1;
        self.bytes = self.bytes.saturating_add(transfer.bytes);
        self.all.add(transfer.bytes, time);
        self.fastest.add(transfer.bytes, time);
        self.active.add(transfer.start, transfer.stop);
    }
}

/// Transfers of one pair of ranks over one channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChannelSum {
    /// Transfers.
    pub transfers: u64,
    /// Bytes.
    pub bytes: u64,
    /// Sum of their times, ticks.
    pub ticks: u64,
}

impl ChannelSum {
    /// Takes a transfer in.
    pub fn add(&mut self, transfer: &Transfer) {
        self.transfers += 1;
        self.bytes = self.bytes.saturating_add(transfer.bytes);
        self.ticks += transfer.stop.saturating_sub(transfer.start);
    }
}

/// What an operation is summed under: (communicator and rank, whether Coll, function, peer).
pub type OperationKey = (Rank, bool, Name, Option<i32>);

/// All sums of the process.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// By kind, function and peer.
    pub operations: BTreeMap<OperationKey, OperationSum>,
    /// By rank and peer.
    pub pairs: BTreeMap<(Rank, i32), PairSum>,
    /// By rank, peer and channel.
    pub channels: BTreeMap<(Rank, i32, u8), ChannelSum>,
    /// Operations of which something never ended.
    pub unfinished: u64,
    /// API calls that NCCL reported no further.
    pub invisible: u64,
    /// Operations with kernel stamps that are not believed.
    pub out_of_step: u64,
    /// Windows processed.
    pub windows: u64,
    /// Children whose parent could not be found.
    pub orphans: u64,
}

impl Totals {
    /// A communicator has ended: of when its transfers were under way, only for how long is kept.
    pub fn close(&mut self, rank: Rank) {
        for pair in self.pairs.range_mut((rank, i32::MIN)..=(rank, i32::MAX)).map(|(_, pair)| pair) {
            pair.active.close();
        }
    }

    /// Takes an operation in, with its final time.
    pub fn operation(&mut self, rank: Rank, operation: &Operation, timing: Timing) {
        let key = (rank, operation.is_collective(), operation.function, operation.peer);
        self.operations.entry(key).or_default().add(operation.bytes, timing);
        self.unfinished += u64::from(operation.unfinished);
        let stamped = operation.span.is_some();
        self.out_of_step += u64::from(stamped && !matches!(timing, Timing::Gpu { .. }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_summed_by_what_timed_them() {
        let mut sum = OperationSum::default();
        sum.add(10, Timing::Gpu { start: 100, stop: 150 });
        sum.add(10, Timing::Gpu { start: 100, stop: 130 });
        sum.add(10, Timing::Proxy(7));
        sum.add(10, Timing::Enqueue(3));
        assert_eq!((sum.count, sum.bytes, sum.gpu_timed, sum.time), (4, 40, 2, 80));
        assert_eq!((sum.min, sum.max), (Some(30), Some(50)));
        assert_eq!((sum.proxy_timed, sum.proxy_ticks, sum.enqueue_timed, sum.enqueue_ticks), (1, 7, 1, 3));
    }

    #[test]
    fn a_pair_keeps_all_of_its_transfers() {
        let mut sum = PairSum::default();
        for (start, stop, bytes) in [(0, 10, 8), (5, 20, 8), (30, 31, 0)] {
            sum.add(&Transfer { start, stop, bytes, peer: 1, channel: 0 });
        }
        assert_eq!((sum.transfers, sum.bytes, sum.active.total()), (3, 16, 21));
        assert_eq!((sum.all.count(), sum.fastest.sizes()), (3, 2));
    }
}
