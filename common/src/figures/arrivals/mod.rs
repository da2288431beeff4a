//! The begins and durations of each rank's collectives in this process, as sent to the process that gathers.
//!
//! Ranks of two processes mean the same operation if communicator, function, sequence number and occurrence are the
//! same. If there are more than can be sent, every process leaves out the same operations without asking the others.
//! Operations that the GPU has not timed are sent, too, since figures must cover nearly all operations.

mod encoding;

use crate::event::name::Name;
use crate::sums::run_sums::Rank;

/// What is known of the time of a collective.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
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
    pub function: Name,
    /// NCCL's number of the operation among those of its communicator and function.
    pub sequence: u64,
    /// Number of earlier operations of the rank with the same number: replays of a CUDA graph have one number.
    pub occurrence: u32,
    /// Bytes: number of elements times their size.
    pub bytes: u64,
    /// Whether other operations share its kernel, so that its time is not its own.
    pub is_fused: bool,
    /// What is known of its time. Unknown fields below are 0.
    pub known: Known,
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
}

impl Arrival {
    /// Returns what distinguishes it from the rank's other arrivals, in the order in which they are kept.
    pub fn operation(&self) -> (Name, u64, u32) {
        (self.function, self.sequence, self.occurrence)
    }

    /// Sets the unknown fields to 0.
    fn cleared(self) -> Self {
        let Self { function, sequence, occurrence, bytes, is_fused, known, by_events, .. } = self;
        match known {
            Known::Begin => self,
            Known::Length => Self { time: 0, clock: [0; 2], ahead: 0, ..self },
            Known::Nothing => {
                Self { function, sequence, occurrence, bytes, is_fused, known, by_events, ..Self::default() }
            }
        }
    }
}

/// A collective of a rank, before its occurrence is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collective {
    /// Function.
    pub function: Name,
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
    pub rank: Rank,
    /// Sorted by function, sequence number and occurrence.
    pub arrivals: Vec<Arrival>,
}

impl RankArrivals {
    /// Makes the arrivals of a rank from all its collectives, in any order. Occurrences are counted in the order of
    /// starts, also over collectives whose begin is unknown.
    pub fn new(rank: Rank, mut collectives: Vec<Collective>) -> Self {
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
        Self { rank, arrivals }
    }

    /// Keeps one operation in `one_in`, a power of two.
    fn thin(&mut self, one_in: u32) {
        let comm = self.rank.comm;
        let mut seed = None;
        self.arrivals.retain(|arrival| {
            let seed = match seed {
                Some((function, seed)) if function == arrival.function => seed,
                _ => seed.insert((arrival.function, of_function(comm, arrival.function))).1,
            };
            is_kept(seed, arrival.sequence, arrival.occurrence, one_in)
        });
    }
}

/// Returns whether an operation is one of those that stay when one in `one_in`, a power of two, does. `seed` is the same
/// for all operations of a communicator and function.
pub fn is_kept(seed: u64, sequence: u64, occurrence: u32, one_in: u32) -> bool {
    let operation = mixed(mixed(seed ^ sequence) ^ u64::from(occurrence));
    operation & u64::from(one_in.saturating_sub(1)) == 0
}

/// Returns a number for a communicator's function that is the same in every process. The number of a [`Name`] may
/// differ between processes.
fn of_function(comm: u64, function: Name) -> u64 {
    function.text().bytes().fold(comm, |sum, byte| mixed(sum ^ u64::from(byte)))
}

/// Mixes a number, so that each bit of the result depends on all its bits (the finalizer of MurmurHash3, after an odd
/// step away from 0).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let number = (number ^ (number >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ (number >> 33)
}

/// The collectives of all ranks of a process.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrivals {
    /// One entry for each communicator and rank, also for ranks without arrivals: they are members.
    pub ranks: Vec<RankArrivals>,
    /// One operation in this many is kept: a power of two.
    pub one_in: u32,
    /// Number of collectives left out because the timeline had no room for them or for an earlier collective of the
    /// rank.
    pub left_out: u64,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self { ranks: Vec::new(), one_in: 1, left_out: 0 }
    }
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

/// Largest power of two in [`Arrivals::one_in`].
const MOST_LEFT_OUT: u32 = 1 << 31;

impl Arrivals {
    /// Keeps one operation in `one_in`, a power of two. Every process keeps the same operations, chosen by
    /// communicator, function, sequence number and occurrence. Operations that were left out before stay left out.
    pub fn thin(&mut self, one_in: u32) {
        let one_in = one_in.checked_next_power_of_two().unwrap_or(MOST_LEFT_OUT);
        if one_in > self.one_in {
            self.one_in = one_in;
            self.ranks.iter_mut().for_each(|rank| rank.thin(one_in));
        }
    }

    /// Returns the number of arrivals of all ranks.
    fn len(&self) -> usize {
        self.ranks.iter().map(|rank| rank.arrivals.len()).sum()
    }

    /// Returns the smallest power of two for [`Arrivals::thin`] that leaves at most `most` arrivals and an encoding of
    /// at most `bytes`. Returns 2^31 if there is none, since the ranks alone need more.
    pub fn one_in_for(&self, most: usize, bytes: usize) -> u32 {
        let mut thinned = self.clone();
        while (thinned.len() > most || thinned.encode().len() > bytes) && thinned.one_in < MOST_LEFT_OUT {
            thinned.thin(thinned.one_in.max(1) * 2);
        }
        thinned.one_in.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn name(name: &std::ffi::CStr) -> Name {
        Name::of(Some(name))
    }

    fn rank(comm: u64, rank: i32) -> Rank {
        Rank { comm, rank }
    }

    fn collective(function: Name, sequence: u64, order: u32, time: Option<u64>) -> Collective {
        let nothing = Arrival { known: Known::Nothing, ..Arrival::default() };
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
        let mut numbers = Vec::new();
        for one_in in [2, 16, 64] {
            let [mut first, mut second] = [whole.clone(), arrivals(99, 5, 123_456, 8192)];
            first.thin(one_in);
            // in two steps, and without some arrivals
            let missing: HashSet<_> =
                second.ranks[0].arrivals.drain(..100).map(|arrival| arrival.operation()).collect();
            second.thin(one_in / 2);
            second.thin(one_in);
            assert_eq!((first.one_in, second.one_in), (one_in, one_in));
            let mut expected = kept(&first);
            expected.retain(|operation| !missing.contains(operation));
            assert_eq!(kept(&second), expected);
            let expected = 8192.0 / f64::from(one_in);
            let off = (kept(&first).len() as f64 - expected).abs() / expected.sqrt();
            assert!(off < 4.0, "{one_in}: {} kept", kept(&first).len());
            numbers.push(kept(&first));
        }
        let mut other = arrivals(98, 0, 0, 8192);
        other.thin(64);
        assert_ne!(kept(&other), numbers[2]);
    }

    #[test]
    fn replays_are_thinned_too() {
        let collectives = (0..4096).map(|at| collective(name(c"AllReduce"), 3, at, Some(at.into()))).collect();
        let mut arrivals = Arrivals { ranks: vec![RankArrivals::new(rank(1, 0), collectives)], ..Arrivals::default() };
        arrivals.thin(16);
        assert!((160..360).contains(&arrivals.ranks[0].arrivals.len()), "{}", arrivals.ranks[0].arrivals.len());
    }

    #[test]
    fn thinning_is_to_powers_of_two_and_never_back() {
        let mut arrivals = arrivals(1, 0, 0, 100);
        let whole = arrivals.clone();
        arrivals.thin(0);
        arrivals.thin(1);
        assert_eq!(arrivals, whole);
        arrivals.thin(3);
        assert_eq!(arrivals.one_in, 4);
        let thinned = arrivals.clone();
        arrivals.thin(2);
        assert_eq!(arrivals, thinned);
        arrivals.thin(u32::MAX);
        assert_eq!((arrivals.one_in, arrivals.ranks.len()), (MOST_LEFT_OUT, 1));
    }

    #[test]
    fn the_smallest_power_that_fits_is_found() {
        let arrivals = arrivals(1, 0, 0, 20_000);
        assert_eq!(arrivals.one_in_for(20_000, arrivals.encode().len()), 1);
        assert_eq!(arrivals.one_in_for(19_999, arrivals.encode().len()), 2);
        for bytes in [100_000, 30_000, 1000] {
            let one_in = arrivals.one_in_for(usize::MAX, bytes);
            let length = |one_in: u32| {
                let mut thinned = arrivals.clone();
                thinned.thin(one_in);
                thinned.encode().len()
            };
            assert!(one_in > 1 && length(one_in) <= bytes && length(one_in / 2) > bytes, "{bytes}: {one_in}");
        }
        assert_eq!(arrivals.one_in_for(usize::MAX, 3), MOST_LEFT_OUT);
    }
}
