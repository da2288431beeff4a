//! Which operations each of NCCL's own kernels ran.
//!
//! A profiler names a kernel and its stream, but not its operations. Those have a time of their own, by NCCL's stamps or
//! by CUDA events, which is some microseconds off. A kernel belongs to the operations that ran nearest to it, if its
//! name fits them and no other kernel is nearer to them. That is decided twice: the first time shows by how much the two
//! clocks differ, and which stream is which.

use super::own::{KernelLane, OwnKernel};
use crate::archive::nccl_kernel::Runs;
use common::name::NcclName;
use report::job::{ProcessOperations, RankOperation, Time, TimedBy};
use std::collections::{BTreeMap, HashMap};

/// Most nanoseconds between the begin or the end of a kernel and that of its operations. Of 1,700 operations on H200s,
/// both differed by at most 12 us, but for first launches of a kernel, whose begin by events is early.
pub(super) const APART: u64 = 30_000;

/// Most kernels that are looked at near a time. More run there only in a damaged trace.
const MOST_NEAR: usize = 64;

/// Communicator, rank, and number of the kernel among those of the rank.
type KernelKey = (u64, i32, u64);

/// The operations of a kernel, as their own time shows it.
#[derive(Debug)]
pub(super) struct LaunchedKernel {
    key: KernelKey,
    pub(super) span: [u64; 2],
    source: TimedBy,
    stream: u64,
    functions: Vec<NcclName>,
    has_messages: bool,
}

/// Times of a process' operations by NCCL's own kernels.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MatchedTimes {
    spans: HashMap<KernelKey, [u64; 2]>,
    /// Number of kernels without operations.
    pub(super) unmatched: usize,
}

impl MatchedTimes {
    /// Looks for the kernels of a process' operations, with the clocks of both on the process' clock. Of a table that
    /// cannot be read to its end, the operations before the damage count.
    pub(super) fn of(kernels: Vec<OwnKernel>, operations: ProcessOperations<'_>) -> Self {
        let count = kernels.len();
        let lanes = KernelLanes::of(kernels);
        let launched = launched(operations, lanes.span(), APART);
        let near = lanes.pairs(&launched, &KnownClocks::default());
        let known = KnownClocks::of(&near, &launched);
        let pairs = lanes.pairs(&launched, &known);
        let spans: HashMap<KernelKey, [u64; 2]> =
            pairs.into_iter().filter_map(|(at, kernel)| Some((launched.get(at)?.key, kernel.span))).collect();
        Self { unmatched: count - spans.len(), spans }
    }

    /// Number of kernels whose operations are known.
    pub(super) fn count(&self) -> usize {
        self.spans.len()
    }

    /// Returns an operation with the time of its kernel, if that is known.
    ///
    /// The clock is known as well as before, and to the difference of both begins.
    pub(super) fn timed(&self, operation: RankOperation) -> RankOperation {
        let Some((time, &[start, stop])) = operation.time.zip(self.spans.get(&key(&operation))) else {
            return operation;
        };
        let clock = time.clock.map(|clock| clock.saturating_add(start.abs_diff(time.start)));
        operation.with_time(TimedBy::Kernels, Time { start, stop, clock, ahead: 0 })
    }
}

fn key(operation: &RankOperation) -> KernelKey {
    (operation.comm, operation.rank, operation.kernel)
}

/// Returns the kernels of the operations that the GPU has timed within a span, or `apart` nanoseconds beside it.
pub(super) fn launched(operations: ProcessOperations<'_>, [from, to]: [u64; 2], apart: u64) -> Vec<LaunchedKernel> {
    let mut launched: Vec<LaunchedKernel> = Vec::new();
    let mut places: HashMap<KernelKey, usize> = HashMap::new();
    for operation in operations.map_while(Result::ok) {
        let Some(time) = operation.time.filter(|_| operation.source.is_gpu()) else { continue };
        if time.stop.saturating_add(apart) < from || time.start > to.saturating_add(apart) {
            continue;
        }
        let key = key(&operation);
        let place = *places.entry(key).or_insert(launched.len());
        if place == launched.len() {
            launched.push(LaunchedKernel {
                key,
                span: [time.start, time.stop],
                source: operation.source,
                stream: operation.stream,
                functions: Vec::new(),
                has_messages: false,
            });
        }
        let Some(known) = launched.get_mut(place) else { continue };
        known.has_messages |= operation.is_message();
        if !known.functions.contains(&operation.function) {
            known.functions.push(operation.function);
        }
    }
    launched
}

/// What is known of both clocks and of the streams.
#[derive(Debug, Default)]
struct KnownClocks {
    /// Nanoseconds that kernels begin and end later than their operations, by the source of the operations' times.
    later: BTreeMap<TimedBy, [i64; 2]>,
    /// The lanes of streams.
    lanes: HashMap<u64, KernelLane>,
}

impl KnownClocks {
    /// Takes the median of the differences, and the lane of most kernels of a stream.
    fn of(pairs: &[(usize, OwnKernel)], launched: &[LaunchedKernel]) -> Self {
        let mut differences: BTreeMap<TimedBy, [Vec<i64>; 2]> = BTreeMap::new();
        let mut votes: BTreeMap<(u64, KernelLane), usize> = BTreeMap::new();
        for (at, kernel) in pairs {
            let Some(of) = launched.get(*at) else { continue };
            let both = differences.entry(of.source).or_default();
            for ((all, own), seen) in both.iter_mut().zip(of.span).zip(kernel.span) {
                all.push(seen.cast_signed().wrapping_sub(own.cast_signed()));
            }
            *votes.entry((of.stream, kernel.lane)).or_default() += 1;
        }
        let median = |mut all: Vec<i64>| {
            let middle = all.len() / 2;
            all.sort_unstable();
            all.get(middle).copied().unwrap_or(0)
        };
        let mut most: HashMap<u64, (usize, KernelLane)> = HashMap::new();
        // stream 0 is any stream that is not known
        for ((stream, lane), count) in votes.into_iter().filter(|((stream, _), _)| *stream != 0) {
            let known = most.entry(stream).or_insert((count, lane));
            *known = (count, lane).max(*known);
        }
        Self {
            later: differences.into_iter().map(|(source, both)| (source, both.map(median))).collect(),
            lanes: most.into_iter().map(|(stream, (_, lane))| (stream, lane)).collect(),
        }
    }

    /// Returns where a profiler most likely shows the kernel of some operations.
    fn expected(&self, launched: &LaunchedKernel) -> [u64; 2] {
        let [begin, end] = self.later.get(&launched.source).copied().unwrap_or_default();
        [launched.span[0].saturating_add_signed(begin), launched.span[1].saturating_add_signed(end)]
    }
}

/// The kernels of a process by lane, in the order of their begins.
struct KernelLanes(BTreeMap<KernelLane, Vec<OwnKernel>>);

impl KernelLanes {
    fn of(kernels: Vec<OwnKernel>) -> Self {
        let mut lanes: BTreeMap<KernelLane, Vec<OwnKernel>> = BTreeMap::new();
        kernels.into_iter().for_each(|kernel| lanes.entry(kernel.lane).or_default().push(kernel));
        lanes.values_mut().for_each(|lane| lane.sort_by_key(|kernel| kernel.span));
        Self(lanes)
    }

    /// Returns the time from the first begin to the last end.
    fn span(&self) -> [u64; 2] {
        let spans = || self.0.values().flatten().map(|kernel| kernel.span);
        [spans().map(|span| span[0]).min().unwrap_or(u64::MAX), spans().map(|span| span[1]).max().unwrap_or(0)]
    }

    /// Returns operations and kernels that are nearest to each other.
    fn pairs(&self, launched: &[LaunchedKernel], known: &KnownClocks) -> Vec<(usize, OwnKernel)> {
        // of each kernel, by lane and place, the nearest operations
        let mut nearest: HashMap<(KernelLane, usize), (u64, usize)> = HashMap::new();
        let mut chosen = Vec::new();
        for (at, of) in launched.iter().enumerate() {
            let mut best: Option<(u64, (KernelLane, usize))> = None;
            self.near(of, known, |distance, place| {
                let rival = nearest.entry(place).or_insert((distance, at));
                *rival = (distance, at).min(*rival);
                best = Some(best.map_or((distance, place), |best| best.min((distance, place))));
            });
            chosen.extend(best.map(|(_, place)| (at, place)));
        }
        let mutual =
            |&(at, place): &(usize, (KernelLane, usize))| nearest.get(&place).is_some_and(|&(_, rival)| rival == at);
        let kernel = |(lane, place): (KernelLane, usize)| self.0.get(&lane).and_then(|lane| lane.get(place)).copied();
        chosen.into_iter().filter(mutual).filter_map(|(at, place)| Some((at, kernel(place)?))).collect()
    }

    /// Passes the distance and the place of each kernel that may be that of some operations.
    fn near(&self, of: &LaunchedKernel, known: &KnownClocks, mut pass: impl FnMut(u64, (KernelLane, usize))) {
        let wanted = known.lanes.get(&of.stream);
        let expected = known.expected(of);
        for (&lane, kernels) in self.0.iter().filter(|(lane, _)| wanted.is_none_or(|wanted| wanted == *lane)) {
            for side in [0, 1] {
                let from = expected[side].saturating_sub(APART);
                let first = kernels.partition_point(|kernel| kernel.span[side] < from);
                let to = expected[side].saturating_add(APART);
                let near = (first..).zip(kernels.get(first..).into_iter().flatten()).take(MOST_NEAR);
                for (place, kernel) in near.take_while(|(_, kernel)| kernel.span[side] <= to) {
                    if of.may_be_run_by(kernel.runs) {
                        let [begin, end] = [0, 1].map(|side| kernel.span[side].abs_diff(expected[side]));
                        pass(begin.saturating_add(end), (lane, place));
                    }
                }
            }
        }
    }
}

impl LaunchedKernel {
    pub(super) fn may_be_run_by(&self, runs: Runs) -> bool {
        match runs {
            Runs::Function(function) => self.functions.contains(&function),
            Runs::Messages => self.has_messages,
            Runs::Any => true,
        }
    }
}
