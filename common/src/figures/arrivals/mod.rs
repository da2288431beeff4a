//! The begins and durations of each rank's collectives in this process, as sent to the process that gathers.
//!
//! Ranks of two processes mean the same operation if communicator, function, sequence number and occurrence are the
//! same. If there are more than can be sent, every process leaves out the same operations without asking the others
//! ([`ArrivalShare`]). Operations that the GPU has not timed are sent, too, since figures must cover nearly all
//! operations.

mod encoding;
mod share;

use crate::event::name::NcclName;
use crate::sums::run_sums::CommunicatorRank;

pub(crate) use share::seed;
pub use share::{ArrivalShare, is_kept};

/// What is known of the time of a collective.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownTime {
    /// Nothing: the GPU has not timed it.
    Nothing,
    /// Its duration, but not its begin: the GPU's clock at that time is unknown, or the begin is.
    Length,
    /// Its duration and its begin.
    #[default]
    Begin,
}

/// A rank's begin and duration of a collective.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Function.
    pub function: NcclName,
    /// NCCL's number of the operation among those of its communicator and function.
    pub sequence: u64,
    /// Number of earlier operations of the rank with the same number: replays of a CUDA graph have one number.
    pub occurrence: u32,
    /// Bytes: number of elements times their size.
    pub bytes: u64,
    /// Whether other operations share its kernel, so that its time is not its own.
    pub is_fused: bool,
    /// What is known of its time. Unknown fields below are 0.
    pub known: KnownTime,
    /// Duration, nanoseconds.
    pub length: u64,
    /// Most likely begin, ticks of the process' clock.
    pub time: u64,
    /// How much earlier and how much later `time` and the end may both be, ticks: the uncertainty of the GPU's clock.
    pub clock: [u64; 2],
    /// How much earlier the begin alone may be, ticks.
    pub ahead: u64,
    /// Whether CUDA events have timed it. Then it may have begun later, too, at any time until its end.
    pub by_events: bool,
    /// Whether anchors have placed the begin on the process' clock.
    pub is_anchored: bool,
}

impl Arrival {
    /// Returns what distinguishes it from the rank's other arrivals, in the order in which they are kept.
    pub fn operation(&self) -> (NcclName, u64, u32) {
        (self.function, self.sequence, self.occurrence)
    }

    /// Sets the unknown fields to 0.
    fn cleared(self) -> Self {
        let Self { function, sequence, occurrence, bytes, is_fused, known, by_events, .. } = self;
        match known {
            KnownTime::Begin => self,
            KnownTime::Length => Self { time: 0, clock: [0; 2], ahead: 0, is_anchored: false, ..self },
            KnownTime::Nothing => {
                Self { function, sequence, occurrence, bytes, is_fused, known, by_events, ..Self::default() }
            }
        }
    }
}

/// A collective of a rank, before its occurrence is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collective {
    /// Function.
    pub function: NcclName,
    /// NCCL's number of the operation among those of its communicator and function.
    pub sequence: u64,
    /// Place in the order of starts of the rank's operations.
    pub order: u32,
    /// What is known of it. Function, sequence number and occurrence are filled in later.
    pub arrival: Arrival,
}

/// The collectives of one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct RankArrivals {
    /// Communicator and rank.
    pub rank: CommunicatorRank,
    /// Which of its collectives are here.
    pub share: ArrivalShare,
    /// Sorted by function, sequence number and occurrence.
    pub arrivals: Vec<Arrival>,
}

impl RankArrivals {
    /// Makes the arrivals of a rank from all its collectives, in any order. Occurrences are counted in the order of
    /// starts, also over collectives whose begin is unknown.
    pub fn new(rank: CommunicatorRank, mut collectives: Vec<Collective>) -> Self {
        collectives.sort_unstable_by_key(|it| (it.function, it.sequence, it.order));
        let mut arrivals = Vec::new();
        for same in collectives.chunk_by(|a, b| (a.function, a.sequence) == (b.function, b.sequence)) {
            let numbered = same.iter().zip(0..);
            arrivals.extend(numbered.map(|(&Collective { function, sequence, arrival, .. }, occurrence)| Arrival {
                function,
                sequence,
                occurrence,
                ..arrival
            }));
        }
        Self { rank, share: ArrivalShare::ALL, arrivals }
    }

    /// Leaves out what is not in `share`. What was left out before stays left out.
    pub fn thin(&mut self, share: ArrivalShare) {
        let share = self.share.and(share);
        if share == self.share {
            return;
        }
        self.share = share;
        let rank = self.rank;
        let mut known = None;
        self.arrivals.retain(|arrival| {
            let seed = match known {
                Some((function, seed)) if function == arrival.function => seed,
                _ => known.insert((arrival.function, seed(rank, arrival.function))).1,
            };
            share.has_number(seed, arrival.sequence) && share.has_operation(seed, arrival.sequence, arrival.occurrence)
        });
    }
}

/// The collectives of all ranks of a process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arrivals {
    /// One entry for each communicator and rank, also for ranks without arrivals: they are members.
    pub ranks: Vec<RankArrivals>,
    /// Number of collectives left out because the timeline had no room for them or for an earlier collective of the
    /// rank.
    pub left_out: u64,
}

/// Returns a note for readers of the job's figures on what the arrivals of its processes lack.
pub fn note(processes: &[Arrivals]) -> Option<String> {
    let left_out = processes.iter().fold(0, |sum: u64, process| sum.saturating_add(process.left_out));
    (left_out > 0).then(|| {
        format!(
            "{left_out} collectives are in no lateness and no bandwidth, for want of room: NCCL_SCOREP_LANE_MB makes it larger"
        )
    })
}

impl Arrivals {
    /// Leaves out what is not in `share`, of all ranks.
    pub fn thin(&mut self, share: ArrivalShare) {
        self.ranks.iter_mut().for_each(|rank| rank.thin(share));
    }

    /// Returns the number of arrivals of all ranks.
    pub fn count(&self) -> usize {
        self.ranks.iter().map(|rank| rank.arrivals.len()).sum()
    }

    /// Returns whether the begin or the duration of any of them is known.
    pub fn are_timed(&self) -> bool {
        self.ranks.iter().flat_map(|rank| &rank.arrivals).any(|arrival| arrival.known > KnownTime::Nothing)
    }

    /// Leaves at most `most` arrivals: of the rank with the most arrivals, every other one is left out, until the rest
    /// fits. So the collectives of a communicator that has few of them stay.
    pub fn keep_at_most(&mut self, most: usize) {
        while self.count() > most {
            let fullest = self.ranks.iter_mut().max_by_key(|it| (it.arrivals.len(), it.rank.comm));
            let half = fullest.and_then(|rank| Some((rank.share.of_half_the_operations()?, rank)));
            let Some((share, rank)) = half else { return };
            rank.thin(share);
        }
    }

    /// Leaves at most `most` arrivals, and as many as `bytes` bytes can hold. Returns them encoded; the ranks alone may
    /// need more bytes.
    pub fn fit(&mut self, most: usize, bytes: usize) -> Vec<u8> {
        let mut most = most;
        loop {
            self.keep_at_most(most);
            let (encoded, count) = (self.encode(), self.count());
            if encoded.len() <= bytes || count == 0 {
                return encoded;
            }
            // the rest has about as many bytes an arrival
            let fitting = (count as u128 * bytes as u128 / encoded.len() as u128) as usize;
            most = fitting.min(count - 1);
        }
    }

    /// Makes ticks of `nanoseconds_per_tick` nanoseconds.
    #[must_use]
    pub fn in_nanoseconds(mut self, nanoseconds_per_tick: f64) -> Self {
        // a counter has more digits than an f64
        const ONE: f64 = (1_u64 << 40) as f64;
        let scale = (nanoseconds_per_tick * ONE).round() as u128;
        let nanoseconds = |ticks: u64| u64::try_from(u128::from(ticks).saturating_mul(scale) >> 40).unwrap_or(u64::MAX);
        for arrival in self.ranks.iter_mut().flat_map(|rank| &mut rank.arrivals) {
            for ticks in [&mut arrival.time, &mut arrival.ahead].into_iter().chain(&mut arrival.clock) {
                *ticks = nanoseconds(*ticks);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn name(name: &std::ffi::CStr) -> NcclName {
        NcclName::of(Some(name))
    }

    fn rank(comm: u64, rank: i32) -> CommunicatorRank {
        CommunicatorRank { comm, rank }
    }

    fn collective(function: NcclName, sequence: u64, order: u32, time: Option<u64>) -> Collective {
        let nothing = Arrival { known: KnownTime::Nothing, ..Arrival::default() };
        let arrival =
            time.map_or(nothing, |time| Arrival { time, length: 1000, clock: [500, 500], ..Arrival::default() });
        Collective { function, sequence, order, arrival }
    }

    /// Returns all-reduces, with an all-gather at every third place.
    fn arrivals(comm: u64, number: i32, late: u64, count: u64) -> Arrivals {
        let function = |at: u64| if at.is_multiple_of(3) { name(c"AllGather") } else { name(c"AllReduce") };
        let collectives = (0..count).map(|at| collective(function(at), at / 2, at as u32, Some(at * 1_000_000 + late)));
        Arrivals { ranks: vec![RankArrivals::new(rank(comm, number), collectives.collect())], ..Arrivals::default() }
    }

    #[test]
    fn replays_of_one_number_are_told_apart_by_the_order_of_their_starts() {
        let (reduce, gather) = (name(c"AllReduce"), name(c"AllGather"));
        // the second replay has no time; the third one was added before the first
        let collectives = vec![
            collective(reduce, 7, 4, Some(5)),
            collective(gather, 7, 0, Some(5)),
            collective(reduce, 7, 1, Some(10)),
            collective(reduce, 8, 3, Some(20)),
            collective(reduce, 7, 2, None),
        ];
        let arrivals = RankArrivals::new(rank(1, 0), collectives).arrivals;
        let told: Vec<_> = arrivals.iter().map(|a| (a.function, a.sequence, a.occurrence, a.time)).collect();
        assert_eq!(
            told,
            [(reduce, 7, 0, 10), (reduce, 7, 1, 0), (reduce, 7, 2, 5), (reduce, 8, 0, 20), (gather, 7, 0, 5)]
        );
    }

    #[test]
    fn every_process_keeps_the_same_operations() {
        let kept = |arrivals: &Arrivals| arrivals.ranks[0].arrivals.iter().map(Arrival::operation).collect::<Vec<_>>();
        let whole = arrivals(99, 0, 0, 8192);
        for share in [
            ArrivalShare::of_operations(2),
            ArrivalShare { numbers: 16, operations: 1 },
            ArrivalShare { numbers: 4, operations: 16 },
        ] {
            let [mut first, mut second] = [whole.clone(), arrivals(99, 5, 123_456, 8192)];
            first.thin(share);
            // in two steps, and without some arrivals
            let missing: HashSet<_> =
                second.ranks[0].arrivals.drain(..100).map(|arrival| arrival.operation()).collect();
            second.thin(ArrivalShare { operations: share.operations / 2, ..share });
            second.thin(share);
            assert_eq!((first.ranks[0].share, second.ranks[0].share), (share, share));
            let mut expected = kept(&first);
            expected.retain(|operation| !missing.contains(operation));
            assert_eq!(kept(&second), expected);
            let expected = 8192.0 / f64::from(share.one_in());
            let off = (kept(&first).len() as f64 - expected).abs() / expected.sqrt();
            assert!(off < 4.0, "{share:?}: {} kept", kept(&first).len());
            let mut other = arrivals(98, 0, 0, 8192);
            other.thin(share);
            assert_ne!(kept(&other), kept(&first));
        }
    }

    #[test]
    fn replays_are_thinned_too() {
        let collectives = (0..4096).map(|at| collective(name(c"AllReduce"), 3, at, Some(at.into()))).collect();
        let mut arrivals = Arrivals { ranks: vec![RankArrivals::new(rank(1, 0), collectives)], ..Arrivals::default() };
        arrivals.thin(ArrivalShare::of_operations(16));
        assert!((160..360).contains(&arrivals.ranks[0].arrivals.len()), "{}", arrivals.ranks[0].arrivals.len());
    }

    #[test]
    fn thinning_is_never_taken_back() {
        let mut arrivals = arrivals(1, 0, 0, 100);
        let whole = arrivals.clone();
        arrivals.thin(ArrivalShare::ALL);
        assert_eq!(arrivals, whole);
        arrivals.thin(ArrivalShare::of_operations(3));
        assert_eq!(arrivals.ranks[0].share.operations, 4);
        let thinned = arrivals.clone();
        arrivals.thin(ArrivalShare::of_operations(2));
        assert_eq!(arrivals, thinned);
    }

    #[test]
    fn a_communicator_with_few_collectives_keeps_them() {
        let mut both = arrivals(1, 0, 0, 20_000);
        both.ranks.extend(arrivals(2, 0, 0, 100).ranks);
        both.keep_at_most(1000);
        let counts: Vec<usize> = both.ranks.iter().map(|rank| rank.arrivals.len()).collect();
        assert!((450..=900).contains(&counts[0]) && counts[1] == 100, "{counts:?}");
        assert_eq!((both.ranks[0].share.one_in(), both.ranks[1].share), (32, ArrivalShare::ALL));
    }

    #[test]
    fn what_is_sent_has_room() {
        for bytes in [100_000, 30_000, 1000] {
            let mut arrivals = arrivals(1, 0, 0, 20_000);
            let encoded = arrivals.fit(usize::MAX, bytes);
            assert!((bytes / 3..=bytes).contains(&encoded.len()), "{bytes}: {}", encoded.len());
            assert_eq!(Arrivals::decode(&encoded), Some(arrivals));
        }
        let mut arrivals = arrivals(1, 0, 0, 20_000);
        assert!(arrivals.clone().fit(20_000, usize::MAX).len() > 20_000);
        arrivals.fit(usize::MAX, 3);
        assert_eq!((arrivals.count(), arrivals.ranks.len()), (0, 1), "its rank is a member");
    }

    #[test]
    fn ticks_become_nanoseconds() {
        let arrivals = arrivals(1, 0, 1 << 61, 2).in_nanoseconds(0.5);
        let arrival = arrivals.ranks[0].arrivals[1];
        assert_eq!((arrival.time, arrival.clock, arrival.length), (1 << 60, [250; 2], 1000));
    }
}
