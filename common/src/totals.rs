//! Sums per communicator, rank and function, per rank pair, and per channel.

use crate::assembly::Judged;
use crate::in_step::Verdict;
use crate::intervals::Intervals;
use crate::kernels::Counted;
use crate::launch::Untimed;
use crate::name::Name;
use crate::operation::{Operation, Sends, Source, Timing};
use crate::services::Services;
use crate::spread::{self, Kept, OfOperations, OfTransfers, OfWindows};
use std::collections::{BTreeMap, BTreeSet};

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
    /// Those of them that CUDA's events timed.
    pub event_timed: u64,
    /// Sum of times.
    pub time: u64,
    /// Sum of the times of their kernels, each of which counts with the first of its operations of the function.
    pub kernel_time: u64,
    /// The same, each with the first of all of its operations.
    pub kernel_once: u64,
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
    /// How their sizes and times are spread.
    pub spread: Kept<OfOperations>,
}

/// Nanoseconds, as what a tick is worth is known now.
fn scaled(ticks: u64, nanoseconds_per_tick: f64) -> u64 {
    (ticks as f64 * nanoseconds_per_tick).round() as u64
}

impl OperationSum {
    /// Takes in what an operation sent over the network, if it did.
    fn sent(&mut self, sends: Sends, nanoseconds_per_tick: f64) {
        let nanoseconds = scaled(sends.ticks, nanoseconds_per_tick);
        let means = [sends.bytes, nanoseconds].map(|sum| sum.checked_div(sends.count));
        if let [Some(size), Some(time)] = means {
            spread::keep(&mut self.spread, |spread| spread.sends.add(sends.count, [size, time]));
        }
    }

    /// Takes an operation in, with which sums of kernels' times may count its kernel.
    pub fn add(&mut self, bytes: u64, timing: Timing, counted: Counted, nanoseconds_per_tick: f64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        let time = timing.nanoseconds(nanoseconds_per_tick);
        spread::keep(&mut self.spread, |spread| {
            spread.sizes.add(bytes);
            spread.times[timing.source() as usize].add(time);
        });
        match timing {
            Timing::Stamps { .. } | Timing::Events(_) => {
                self.gpu_timed += 1;
                self.event_timed += u64::from(timing.source() == Source::Events);
                self.time += time;
                self.kernel_time += if counted.in_function { time } else { 0 };
                self.kernel_once += if counted.at_all { time } else { 0 };
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

    /// Takes in all of another.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.gpu_timed += other.gpu_timed;
        self.event_timed += other.event_timed;
        self.time += other.time;
        self.kernel_time += other.kernel_time;
        self.kernel_once += other.kernel_once;
        self.min = self.min.into_iter().chain(other.min).min();
        self.max = self.max.max(other.max);
        self.proxy_timed += other.proxy_timed;
        self.proxy_ticks += other.proxy_ticks;
        self.enqueue_timed += other.enqueue_timed;
        self.enqueue_ticks += other.enqueue_ticks;
        spread::merge(&mut self.spread, &other.spread, OfOperations::merge);
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

impl Transfer {
    /// How long it took.
    pub(crate) fn ticks(&self) -> u64 {
        self.stop.saturating_sub(self.start)
    }
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
    /// Service times: of a transfer, once all is read that stopped before it.
    pub services: Services,
    /// Time with at least one transfer under way, ticks.
    pub active: Intervals<MOST_APART>,
    /// Begin of the first and end of the last, ticks.
    pub span: Option<(u64, u64)>,
    /// How rates and latencies of its windows are spread.
    pub windows: Kept<OfWindows>,
}

impl PairSum {
    /// Takes a transfer in.
    pub fn add(&mut self, transfer: &Transfer) {
        self.count(transfer);
        self.active.add(transfer.start, transfer.stop);
    }

    /// Takes a transfer in, but for when any was under way.
    #[inline]
    pub(crate) fn count(&mut self, transfer: &Transfer) {
        self.transfers += 1;
        self.bytes = self.bytes.saturating_add(transfer.bytes);
        self.cover((transfer.start, transfer.stop));
    }

    fn cover(&mut self, (start, stop): (u64, u64)) {
        let span = self.span.get_or_insert((start, stop));
        *span = (span.0.min(start), span.1.max(stop));
    }

    /// Takes in all of another, of which nothing more comes; the times that both were under way count twice.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.transfers += other.transfers;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.services.merge(&other.services);
        self.active.extend(other.active.total());
        other.span.into_iter().for_each(|span| self.cover(span));
        spread::merge(&mut self.windows, &other.windows, OfWindows::merge);
    }
}

/// Transfers of one pair of ranks over one channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelSum {
    /// Transfers.
    pub transfers: u64,
    /// Bytes.
    pub bytes: u64,
    /// Sum of their times, ticks.
    pub ticks: u64,
    /// How their sizes and times are spread.
    pub spread: Kept<OfTransfers>,
}

impl ChannelSum {
    /// Takes a transfer in.
    #[inline]
    pub fn add(&mut self, transfer: &Transfer, nanoseconds_per_tick: f64) {
        self.transfers += 1;
        self.bytes = self.bytes.saturating_add(transfer.bytes);
        self.ticks += transfer.ticks();
        spread::keep(&mut self.spread, |spread| {
            spread.sizes.add(transfer.bytes);
            spread.times.add(scaled(transfer.ticks(), nanoseconds_per_tick));
        });
    }

    /// Takes in all of another.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.transfers += other.transfers;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.ticks += other.ticks;
        spread::merge(&mut self.spread, &other.spread, OfTransfers::merge);
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
    /// Operations that the GPU has not timed, by the number of the cause less one.
    pub untimed: [u64; Untimed::ALL.len()],
    /// Windows processed.
    pub windows: u64,
    /// Children whose parent could not be found.
    pub orphans: u64,
    /// Ranks of communicators that are summed up as [`OTHERS`].
    pub others: u64,
    /// Those that keep sums of their own when they have ended.
    own: BTreeSet<Rank>,
    handed_over: Vec<Rank>,
    /// Operations of late, which go to `operations` together.
    late: Vec<(OperationKey, OperationSum)>,
}

/// Stands for the ended communicators but the first hundred that there were, taken together. NCCL's own ids are hashes.
pub const OTHERS: u64 = u64::MAX;
/// Ranks of communicators that keep sums of their own.
const KEPT: usize = 100;
/// Sums that operations of late are kept under.
const LATE: usize = 8;

impl Totals {
    /// There is such a communicator. The first hundred keep sums of their own for good.
    pub fn meet(&mut self, rank: Rank) {
        if self.own.len() < KEPT {
            self.own.insert(rank);
        }
    }

    /// Whether it keeps sums of its own when it has ended.
    pub fn has_sums_of_its_own(&self, rank: Rank) -> bool {
        self.own.contains(&rank)
    }

    /// A communicator has ended: of when its transfers were under way, only for how long is kept. But for the first hundred, its sums
    /// go to the others', since a job may make communicators for as long as it runs.
    pub fn close(&mut self, rank: Rank) {
        self.sum_up();
        for pair in self.pairs.range_mut((rank, i32::MIN)..=(rank, i32::MAX)).map(|(_, pair)| pair) {
            pair.active.close();
            pair.services.close();
        }
        if self.own.contains(&rank) {
            return;
        }
        let others = Rank { comm: OTHERS, ..rank };
        let first = (rank, false, Name::from_bits(0), None);
        hand_over(&mut self.operations, first, |key| key.0 == rank, |key| (others, key.1, key.2, key.3), OperationSum::merge);
        hand_over(&mut self.pairs, (rank, i32::MIN), |key| key.0 == rank, |key| (others, key.1), PairSum::merge);
        let first = (rank, i32::MIN, 0);
        hand_over(&mut self.channels, first, |key| key.0 == rank, |key| (others, key.1, key.2), ChannelSum::merge);
        self.others += 1;
        self.handed_over.push(rank);
    }

    /// Ranks of communicators whose sums went to the others', since the last call.
    pub fn take_handed_over(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.handed_over)
    }

    /// The operations that were taken in are in their sums from here on: one look for many.
    pub fn sum_up(&mut self) {
        let Self { operations, late, .. } = self;
        late.drain(..).for_each(|(key, sum)| operations.entry(key).or_default().merge(&sum));
    }

    /// Takes an operation in, with what is known of its time in the end; see [`Totals::sum_up`].
    pub fn operation(&mut self, rank: Rank, operation: &Operation, judged: Judged, nanoseconds_per_tick: f64) {
        let key = (rank, operation.is_collective(), operation.function, operation.peer());
        let place = self.late.iter().position(|(of, _)| *of == key).unwrap_or_else(|| {
            if self.late.len() >= LATE {
                self.sum_up();
            }
            self.late.push((key, OperationSum::default()));
            self.late.len() - 1
        });
        let (_, sum) = &mut self.late[place];
        let counted = judged.kernel.counted(operation.distance, operation.function);
        sum.add(operation.bytes, judged.timing(operation), counted, nanoseconds_per_tick);
        if let Some(&sends) = operation.sends.as_deref() {
            sum.sent(sends, nanoseconds_per_tick);
        }
        self.unfinished += u64::from(operation.unfinished);
        self.out_of_step += u64::from(operation.span().is_some() && judged.verdict == Verdict::OutOfStep);
    }
}

/// Moves the sums from the key `first` on, as long as they are `wanted`, to where `renamed` says.
fn hand_over<K: Ord + Copy, V: Default>(
    sums: &mut BTreeMap<K, V>,
    first: K,
    wanted: impl Fn(&K) -> bool,
    renamed: impl Fn(K) -> K,
    merge: impl Fn(&mut V, &V),
) {
    let keys: Vec<K> = sums.range(first..).map(|(&key, _)| key).take_while(wanted).collect();
    for key in keys {
        if let Some(sum) = sums.remove(&key) {
            merge(sums.entry(renamed(key)).or_default(), &sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::Service;

    #[test]
    fn operations_are_summed_by_what_timed_them() {
        let mut sum = OperationSum::default();
        let counted = |in_function, at_all| Counted { in_function, at_all };
        sum.add(10, Timing::Stamps { start: 100, stop: 150 }, counted(true, true), 1.0);
        sum.add(10, Timing::Stamps { start: 100, stop: 130 }, counted(true, false), 1.0);
        sum.add(10, Timing::Stamps { start: 100, stop: 102 }, counted(false, false), 1.0);
        sum.add(10, Timing::Proxy(7), counted(true, true), 1.0);
        sum.add(10, Timing::Enqueue(3), counted(true, true), 1.0);
        assert_eq!((sum.count, sum.bytes, sum.gpu_timed), (5, 50, 3));
        assert_eq!((sum.time, sum.kernel_time, sum.kernel_once), (82, 80, 50));
        assert_eq!((sum.min, sum.max), (Some(2), Some(50)));
        assert_eq!((sum.proxy_timed, sum.proxy_ticks, sum.enqueue_timed, sum.enqueue_ticks), (1, 7, 1, 3));
    }

    #[test]
    fn a_pair_keeps_all_of_its_transfers() {
        let mut sum = PairSum::default();
        for (start, stop, bytes) in [(0, 10, 8), (5, 20, 8), (30, 31, 0)] {
            sum.add(&Transfer { start, stop, bytes, peer: 1, channel: 0 });
        }
        assert_eq!((sum.transfers, sum.bytes, sum.active.total()), (3, 16, 21));
    }

    #[test]
    fn ended_communicators_past_those_kept_are_summed_up_as_others() {
        let mut totals = Totals::default();
        let ranks = (0..KEPT as u64 + 20).map(|comm| Rank { comm, rank: 1 });
        for rank in ranks {
            let transfer = Transfer { start: rank.comm, stop: rank.comm + 10, bytes: 8, peer: 0, channel: 3 };
            let pair = totals.pairs.entry((rank, 0)).or_default();
            pair.add(&transfer);
            pair.services.add(Service { bytes: 8, ticks: 10, in_flight: 1 });
            totals.channels.entry((rank, 0, 3)).or_default().add(&transfer, 1.0);
            let key = (rank, true, Name::of(Some(c"AllReduce")), None);
            totals.meet(rank);
            let counted = Counted { in_function: true, at_all: true };
            totals.operations.entry(key).or_default().add(4, Timing::Stamps { start: 0, stop: rank.comm }, counted, 1.0);
            totals.close(rank);
        }
        let others = Rank { comm: OTHERS, rank: 1 };
        let pair = &totals.pairs[&(others, 0)];
        assert_eq!((pair.transfers, pair.bytes, pair.active.total(), pair.services.count()), (20, 160, 200, 20));
        assert_eq!(totals.channels[&(others, 0, 3)], ChannelSum { transfers: 20, bytes: 160, ticks: 200, spread: None });
        let operations = &totals.operations[&(others, true, Name::of(Some(c"AllReduce")), None)];
        assert_eq!((operations.count, operations.min, operations.max), (20, Some(100), Some(119)));
        assert_eq!((totals.pairs.len(), totals.channels.len(), totals.operations.len()), (KEPT + 1, KEPT + 1, KEPT + 1));
        assert_eq!((totals.others, totals.take_handed_over().len(), totals.take_handed_over().len()), (20, 20, 0));
    }
}
