//! Sums per communicator, rank and function, per rank pair, per channel, and per state of a step.

mod adding;
mod channel_services;
mod moved;
mod operations;
mod sends;
mod states;
mod transfers;

use crate::event::name::NcclName;
use crate::launch::Untimed;
use crate::operation::Operation;
use crate::operation::verdict::JudgedTime;
use crate::operation::verdict::StampVerdict;
use std::collections::{BTreeMap, BTreeSet};

pub use channel_services::ChannelServices;
pub use moved::{MovedBytes, OverNvlink};
pub use operations::OperationSum;
pub use sends::SendsSum;
pub(crate) use states::RoundStates;
pub use states::{Direction, StateSum, StepState};
pub use transfers::{ChannelSum, PairSum, TransferKey};

/// One rank of one communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommunicatorRank {
    /// Communicator id.
    pub comm: u64,
    /// Rank in it.
    pub rank: i32,
}

/// The key that an operation is summed under: (communicator and rank, whether it is a collective, function, peer).
pub type OperationKey = (CommunicatorRank, bool, NcclName, Option<i32>);

/// All sums of the process.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Sums of operations by rank, kind, function and peer.
    pub operations: BTreeMap<OperationKey, OperationSum>,
    /// Sums of transfers by rank and peer.
    pub pairs: BTreeMap<(CommunicatorRank, i32), PairSum>,
    /// Sums of transfers by rank, peer and channel.
    pub channels: BTreeMap<(CommunicatorRank, i32, u8), ChannelSum>,
    /// Sums of transfers by state, by rank, other rank and direction.
    pub states: BTreeMap<(CommunicatorRank, i32, Direction), StateSum>,
    /// Sums of operations that sent over the network, by rank, kind, function and class of size.
    pub sends: BTreeMap<(CommunicatorRank, bool, NcclName, u8), SendsSum>,
    /// Service times of transfers by rank, peer and channel.
    pub channel_services: ChannelServices,
    /// Bytes that operations should have moved over NVLink, if they are wanted.
    pub moved: Option<OverNvlink>,
    /// Number of operations of which something never ended.
    pub unfinished: u64,
    /// Number of API calls that NCCL reported no further.
    pub invisible: u64,
    /// Number of operations with stamps that are not believed.
    pub out_of_step: u64,
    /// Number of operations that the GPU has not timed, by the number of the cause less one.
    pub untimed: [u64; Untimed::ALL.len()],
    /// Number of windows processed.
    pub windows: u64,
    /// Number of children whose parent could not be found.
    pub orphans: u64,
    /// Number of communicators' ranks that are summed up as [`OTHERS`].
    pub others: u64,
    /// Ranks that keep sums of their own after their communicator has ended.
    own: BTreeSet<CommunicatorRank>,
    handed_over: Vec<CommunicatorRank>,
    /// Sums of the latest operations, which go to `operations` together.
    late: Vec<(OperationKey, OperationSum)>,
}

/// Communicator id that stands for all ended communicators after the first hundred. NCCL's own ids are hashes.
pub const OTHERS: u64 = u64::MAX;
/// Returns a communicator's id as the summary shows it.
pub(crate) fn hexadecimal(comm: u64) -> String {
    if comm == OTHERS { "others".into() } else { format!("{comm:016x}") }
}

/// Number of ranks of communicators that keep sums of their own.
const KEPT: usize = 100;
/// Largest number of sums in `late`.
const LATE: usize = 8;

impl Totals {
    /// Notes a rank of a communicator. The first hundred keep sums of their own for good.
    pub fn meet(&mut self, rank: CommunicatorRank) {
        if self.own.len() < KEPT {
            self.own.insert(rank);
        }
    }

    /// Notes the numbers of ranks and nodes of a rank's communicator, for [`Totals::moved`].
    pub fn count_members(&mut self, rank: CommunicatorRank, members: (i32, i32)) {
        if let Some(moved) = &mut self.moved {
            moved.count_members(rank, members);
        }
    }

    /// Returns whether the rank keeps sums of its own after its communicator has ended.
    pub fn has_sums_of_its_own(&self, rank: CommunicatorRank) -> bool {
        self.own.contains(&rank)
    }

    /// Notes that a communicator has ended. Of its transfers' intervals, only the total length is kept. Unless it is
    /// among the first hundred, its sums are merged into the others', since a job may make communicators for as long as
    /// it runs. `gpu` is its GPU, if that is known.
    pub fn close(&mut self, rank: CommunicatorRank, gpu: Option<String>) {
        self.sum_up();
        for pair in self.pairs.range_mut((rank, i32::MIN)..=(rank, i32::MAX)).map(|(_, pair)| pair) {
            pair.active.close();
            pair.services.close();
        }
        if let Some(moved) = &mut self.moved {
            moved.close(rank, gpu);
        }
        if self.own.contains(&rank) {
            return;
        }
        let others = CommunicatorRank { comm: OTHERS, ..rank };
        let first = (rank, false, NcclName::from_bits(0), None);
        hand_over(
            &mut self.operations,
            first,
            |key| key.0 == rank,
            |key| (others, key.1, key.2, key.3),
            OperationSum::merge,
        );
        hand_over(&mut self.pairs, (rank, i32::MIN), |key| key.0 == rank, |key| (others, key.1), PairSum::merge);
        let first = (rank, i32::MIN, 0);
        hand_over(&mut self.channels, first, |key| key.0 == rank, |key| (others, key.1, key.2), ChannelSum::merge);
        let first = (rank, i32::MIN, Direction::Send);
        hand_over(&mut self.states, first, |key| key.0 == rank, |key| (others, key.1, key.2), StateSum::merge);
        let first = (rank, false, NcclName::from_bits(0), 0);
        hand_over(&mut self.sends, first, |key| key.0 == rank, |key| (others, key.1, key.2, key.3), SendsSum::merge);
        self.channel_services.remove_rank(rank);
        self.others += 1;
        self.handed_over.push(rank);
    }

    /// Adds the steps of a round.
    pub(crate) fn steps(&mut self, rank: CommunicatorRank, round: RoundStates) {
        for ((peer, direction), sum) in round.into_sums() {
            self.states.entry((rank, peer, direction)).or_default().merge(&sum);
        }
    }

    /// Takes the ranks whose sums were merged into the others' since the last call.
    pub fn take_handed_over(&mut self) -> Vec<CommunicatorRank> {
        std::mem::take(&mut self.handed_over)
    }

    /// Moves the latest operations to their sums: one look-up for many operations.
    pub fn sum_up(&mut self) {
        let Self { operations, late, .. } = self;
        late.drain(..).for_each(|(key, sum)| operations.entry(key).or_default().merge(&sum));
    }

    /// Adds an operation with its final time; see [`Totals::sum_up`].
    pub fn operation(
        &mut self,
        rank: CommunicatorRank,
        operation: &Operation,
        judged: JudgedTime,
        nanoseconds_per_tick: f64,
    ) {
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
            let class = operation.bytes.max(1).ilog2() as u8;
            self.sends.entry((rank, key.1, operation.function, class)).or_default().add(sends);
        }
        if let Some(moved) = &mut self.moved {
            moved.of(rank).add(operation, rank.rank);
        }
        self.unfinished += u64::from(operation.unfinished);
        self.out_of_step += u64::from(operation.span().is_some() && judged.verdict == StampVerdict::OutOfStep);
    }
}

/// Moves sums to renamed keys: from the key `first` on, for as long as keys are `wanted`.
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
    use crate::operation::kernels::CountedKernels;
    use crate::operation::{Sends, Timing};
    use crate::record::slot::StepTimes;
    use crate::sums::services::Service;

    #[test]
    fn ended_communicators_past_those_kept_are_summed_up_as_others() {
        let mut totals = Totals::default();
        let ranks = (0..KEPT as u64 + 20).map(|comm| CommunicatorRank { comm, rank: 1 });
        for rank in ranks {
            let transfer = TransferKey { start: rank.comm, stop: rank.comm + 10, bytes: 8, peer: 0, channel: 3 };
            let pair = totals.pairs.entry((rank, 0)).or_default();
            pair.add(&transfer);
            pair.services.add(Service { bytes: 8, ticks: 10, in_flight: 1 });
            totals.channels.entry((rank, 0, 3)).or_default().add(&transfer, 1.0);
            let mut round = RoundStates::default();
            round.add(0, Direction::Send, &StepTimes { ticks: [4, 1, 2, 3], bytes: 8 }, 1.0);
            totals.steps(rank, round);
            let of_size = (rank, true, NcclName::of(Some(c"AllReduce")), 2);
            totals.sends.entry(of_size).or_default().add(Sends { count: 3, bytes: 24, ticks: 30 });
            let key = (rank, true, NcclName::of(Some(c"AllReduce")), None);
            totals.meet(rank);
            totals.moved.get_or_insert_default().count_members(rank, (4, 1));
            let counted = CountedKernels { in_function: true, at_all: true };
            totals.operations.entry(key).or_default().add(
                4,
                Timing::Stamps { start: 0, stop: rank.comm },
                counted,
                1.0,
            );
            totals.close(rank, Some(format!("gpu {}", rank.comm % 2)));
        }
        let others = CommunicatorRank { comm: OTHERS, rank: 1 };
        let pair = &totals.pairs[&(others, 0)];
        assert_eq!((pair.transfers, pair.bytes, pair.active.total(), pair.services.count()), (20, 160, 200, 20));
        assert_eq!(
            totals.channels[&(others, 0, 3)],
            ChannelSum { transfers: 20, bytes: 160, ticks: 200, spread: None }
        );
        let states = StateSum { steps: 20, bytes: 160, times: [80, 20, 40, 60] };
        assert_eq!(totals.states[&(others, 0, Direction::Send)], states);
        let sends = SendsSum { operations: 20, transfers: 60, bytes: 480, ticks: 600 };
        assert_eq!(totals.sends[&(others, true, NcclName::of(Some(c"AllReduce")), 2)], sends);
        let operations = &totals.operations[&(others, true, NcclName::of(Some(c"AllReduce")), None)];
        assert_eq!((operations.count, operations.min, operations.max), (20, Some(100), Some(119)));
        assert_eq!(
            [
                totals.pairs.len(),
                totals.channels.len(),
                totals.operations.len(),
                totals.states.len(),
                totals.sends.len()
            ],
            [KEPT + 1; 5]
        );
        assert_eq!((totals.others, totals.take_handed_over().len(), totals.take_handed_over().len()), (20, 20, 0));
        let gpus: Vec<_> = totals.moved.unwrap().by_gpu(|_| None).into_keys().flatten().collect();
        assert_eq!(gpus, ["gpu 0", "gpu 1"], "a GPU outlives its communicators");
    }
}
