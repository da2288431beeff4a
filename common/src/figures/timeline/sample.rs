//! The collectives that a process keeps for its summary: some of them, evenly spread over a run of any length.
//!
//! Ranks can be compared only if all processes keep the same collectives. So a collective is chosen by its communicator,
//! function, sequence number and occurrence ([`ArrivalShare`]), and once there are too many, every other one is left
//! out: of the rank with the most. Occurrences are counted of those sequence numbers that are left, so that the counts
//! are bounded, too.

use super::TimelineEntry;
use crate::event::name::NcclName;
use crate::figures::arrivals::{ArrivalShare, seed};
use crate::operation::Operation;
use crate::sums::run_sums::CommunicatorRank;
use rustc_hash::FxHashMap;

/// Bytes of a summary for each collective: a collective takes some 17, and four of a text for each three.
const BYTES_EACH: usize = 16;

/// A collective that is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct SampledCollective {
    pub(super) entry: TimelineEntry,
    /// Number of earlier operations of its rank with the same number.
    pub(super) occurrence: u32,
}

/// The operations of one sequence number.
#[derive(Debug, Clone, Copy)]
struct SampledNumber {
    count: u32,
    /// Place in the order of starts of the last one.
    last: u32,
}

/// The collectives of a rank that are kept.
#[derive(Debug, Default)]
struct RankSample {
    share: ArrivalShare,
    /// Seeds of the functions seen so far.
    seeds: Vec<(NcclName, u64)>,
    numbers: FxHashMap<(NcclName, u64), SampledNumber>,
    kept: Vec<SampledCollective>,
}

/// The sample.
#[derive(Debug)]
pub(super) struct TimelineSample {
    /// Bytes of the summary that they may take.
    pub(super) bytes: usize,
    /// Most collectives that are kept, and most sequence numbers whose operations are counted.
    most: usize,
    /// By place of the rank.
    lines: Vec<RankSample>,
}

impl RankSample {
    fn seed(&self, function: NcclName) -> Option<u64> {
        self.seeds.iter().find(|(known, _)| *known == function).map(|&(_, seed)| seed)
    }

    /// Adds a collective.
    fn add(&mut self, rank: CommunicatorRank, entry: TimelineEntry) {
        let function = entry.function;
        let seed = self.seed(function).unwrap_or_else(|| {
            let seed = seed(rank, function);
            self.seeds.push((function, seed));
            seed
        });
        if !self.share.has_number(seed, entry.sequence) {
            return;
        }
        let key = (function, entry.sequence);
        let number = self.numbers.entry(key).or_insert(SampledNumber { count: 0, last: entry.order });
        let occurrence = number.count;
        number.count = number.count.saturating_add(1);
        // settled behind operations that started after it: their occurrences are wrong, and its own is unknown
        if occurrence > 0 && is_behind(number.last, entry.order) {
            self.kept.retain(|kept| {
                (kept.entry.function, kept.entry.sequence) != key || !is_behind(kept.entry.order, entry.order)
            });
            return;
        }
        number.last = entry.order;
        if self.share.has_operation(seed, entry.sequence, occurrence) {
            self.kept.push(SampledCollective { entry, occurrence });
        }
    }

    fn thin(&mut self, share: ArrivalShare) {
        self.share = share;
        let Self { seeds, numbers, kept, .. } = self;
        let seed = |function: NcclName| seeds.iter().find(|(known, _)| *known == function).map_or(0, |&(_, seed)| seed);
        numbers.retain(|&(function, sequence), _| share.has_number(seed(function), sequence));
        kept.retain(|SampledCollective { entry, occurrence }| {
            let seed = seed(entry.function);
            share.has_number(seed, entry.sequence) && share.has_operation(seed, entry.sequence, *occurrence)
        });
    }
}

/// Returns whether a place in the order of starts, of which the lowest 32 bits are known, is behind another.
fn is_behind(order: u32, other: u32) -> bool {
    order.wrapping_sub(other).cast_signed() > 0
}

impl TimelineSample {
    /// Makes an empty sample of as many collectives as fit into this many bytes of a summary; `None` if none does.
    pub(super) fn of_bytes(bytes: usize) -> Option<Self> {
        let most = bytes / BYTES_EACH;
        (most > 0).then(|| Self { bytes, most, lines: Vec::new() })
    }

    /// Returns whether an operation may be one that is kept.
    pub(super) fn may_take(&self, place: Option<u8>, operation: &Operation) -> bool {
        let Some(place) = place.filter(|_| operation.is_collective()) else { return false };
        let known = self.lines.get(usize::from(place));
        let seed = known.and_then(|line| Some((line.share, line.seed(operation.function)?)));
        seed.is_none_or(|(share, seed)| share.has_number(seed, operation.sequence))
    }

    /// Adds a collective of a rank.
    pub(super) fn add(&mut self, rank: CommunicatorRank, entry: TimelineEntry) {
        let place = usize::from(entry.place);
        if self.lines.len() <= place {
            self.lines.resize_with(place + 1, RankSample::default);
        }
        let Some(line) = self.lines.get_mut(place) else { return };
        line.add(rank, entry);
        self.shrink(|line| line.numbers.len(), ArrivalShare::of_half_the_numbers);
        self.shrink(|line| line.kept.len(), ArrivalShare::of_half_the_operations);
    }

    /// Takes the next share of the rank with the most of what is counted, until there are few enough.
    fn shrink(&mut self, count: impl Fn(&RankSample) -> usize, next: impl Fn(ArrivalShare) -> Option<ArrivalShare>) {
        while self.lines.iter().map(&count).sum::<usize>() > self.most {
            let fullest = self.lines.iter_mut().max_by_key(|line| count(line));
            let Some((line, share)) = fullest.and_then(|line| next(line.share).map(|share| (line, share))) else {
                return;
            };
            line.thin(share);
        }
    }

    /// Returns what is kept of the rank at a place, in no order, and which of its collectives those are.
    pub(super) fn of(&self, place: usize) -> (ArrivalShare, &[SampledCollective]) {
        self.lines.get(place).map_or((ArrivalShare::ALL, &[]), |line| (line.share, &line.kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::arrivals::{Arrival, Arrivals, Collective, KnownTime, RankArrivals};
    use crate::figures::timeline::NO_ROOT;
    use crate::operation::TimeSource;

    const RANK: CommunicatorRank = CommunicatorRank { comm: 7, rank: 3 };

    fn entry(place: u8, order: u32, sequence: u64) -> TimelineEntry {
        let function = NcclName::of(Some(c"AllReduce"));
        TimelineEntry {
            start: u64::from(order) * 1000,
            stop: u64::from(order) * 1000 + 10,
            bytes: 8,
            sequence,
            peer: -1,
            root: NO_ROOT,
            place,
            order,
            launched: 0,
            function,
            algorithm: function,
            protocol: function,
            source: TimeSource::Stamps,
            alone: true,
        }
    }

    fn sample(most: usize) -> TimelineSample {
        TimelineSample::of_bytes(most * BYTES_EACH).unwrap()
    }

    /// Returns (sequence number, occurrence, order) of what is kept, sorted.
    fn kept(sample: &TimelineSample, place: usize) -> Vec<(u64, u32, u32)> {
        let mut kept: Vec<_> =
            sample.of(place).1.iter().map(|it| (it.entry.sequence, it.occurrence, it.entry.order)).collect();
        kept.sort_unstable();
        kept
    }

    /// Returns the same of all collectives, thinned as one.
    fn of_all(orders: impl Iterator<Item = (u32, u64)>, share: ArrivalShare) -> Vec<(u64, u32, u32)> {
        let collectives = orders.map(|(order, sequence)| Collective {
            function: NcclName::of(Some(c"AllReduce")),
            sequence,
            order,
            arrival: Arrival { bytes: order.into(), known: KnownTime::Nothing, ..Arrival::default() },
        });
        let mut all = Arrivals { ranks: vec![RankArrivals::new(RANK, collectives.collect())], ..Arrivals::default() };
        all.thin(share);
        all.ranks[0].arrivals.iter().map(|it| (it.sequence, it.occurrence, it.bytes as u32)).collect()
    }

    #[test]
    fn a_million_collectives_leave_a_bounded_part_that_every_process_chooses() {
        let mut sample = sample(4096);
        let all = || (0..1_000_000_u32).map(|order| (order, u64::from(order)));
        all().for_each(|(order, sequence)| sample.add(RANK, entry(0, order, sequence)));
        let (share, own) = sample.of(0);
        assert!((2000..=4096).contains(&own.len()) && sample.lines[0].numbers.len() <= 4096, "{}", own.len());
        assert_eq!((share.operations, share.numbers), (1, 256));
        assert_eq!(kept(&sample, 0), of_all(all(), share));
    }

    /// A CUDA graph of 100 collectives, replayed again and again.
    #[test]
    fn replays_are_counted_although_most_are_left_out() {
        let mut sample = sample(1000);
        let all = || (0..200_000_u32).map(|order| (order, u64::from(order % 100)));
        all().for_each(|(order, sequence)| sample.add(RANK, entry(0, order, sequence)));
        let (share, own) = sample.of(0);
        assert!((400..=1000).contains(&own.len()), "{}", own.len());
        assert_eq!((share.operations, share.numbers), (256, 1));
        assert_eq!(kept(&sample, 0), of_all(all(), share));
    }

    #[test]
    fn a_communicator_with_few_collectives_keeps_them() {
        let mut sample = sample(1000);
        for order in 0..100_000 {
            sample.add(RANK, entry(0, order, order.into()));
            if order % 1000 == 0 {
                sample.add(CommunicatorRank { comm: 8, rank: 0 }, entry(1, order / 1000, (order / 1000).into()));
            }
        }
        assert_eq!((sample.of(1).0, sample.of(1).1.len()), (ArrivalShare::ALL, 100));
        assert!(sample.of(0).1.len() > 400);
    }

    /// The second of four replays settles last: those behind it have been counted one too few.
    #[test]
    fn a_replay_that_settles_late_leaves_those_behind_it_out() {
        let mut sample = sample(100);
        for order in [10, 30, 40, 20, 50] {
            sample.add(RANK, entry(0, order, 5));
        }
        assert_eq!(kept(&sample, 0), [(5, 0, 10), (5, 4, 50)]);
        // another number is as it was
        sample.add(RANK, entry(0, 35, 6));
        assert_eq!(kept(&sample, 0).last(), Some(&(6, 0, 35)));
    }

    #[test]
    fn without_room_there_is_no_sample() {
        assert!(TimelineSample::of_bytes(BYTES_EACH - 1).is_none());
    }
}
