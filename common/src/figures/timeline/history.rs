//! The timeline on the events' clock alone, once the run is over and all is known of the GPUs' clocks.

use super::entry::{NO_PLACE, TimelineEntry};
use super::gpus::mappings;
use super::in_turn::{self, InTurn};
use super::kernel_begin::KernelBegin;
use super::launches::Begun;
use super::{PairWindow, Timeline};
use crate::operation::TimeSource;
use crate::sums::run_sums::CommunicatorRank;

/// A rank of a communicator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankHistory {
    /// Communicator and rank.
    pub rank: CommunicatorRank,
    /// Number of ranks of its communicator; 0 if unknown.
    pub nranks: i32,
}

/// All operations with times of the events' clock, in ticks.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The ranks, by their place.
    pub ranks: Vec<RankHistory>,
    /// Sorted by place of the rank, then by begin, then by order of the starts. `launched` is the time from the launch
    /// to the begin, nanoseconds; 0 where it is not known whether the kernel waited for its launch or for its GPU.
    pub operations: Vec<TimelineEntry>,
    /// Transfers of each window, sorted by sender, receiver and begin.
    pub windows: Vec<PairWindow>,
    /// Number of operations that found no room.
    pub left_out: u64,
    /// Number of windows that found no room.
    pub windows_left_out: u64,
    /// Number of GPU-timed operations on GPUs whose clocks are unknown.
    pub unplaced: u64,
    /// Nanoseconds of a tick.
    pub nanoseconds_per_tick: f64,
}

impl Timeline {
    /// Puts the whole timeline on the events' clock, between `begin` and `end`, in ticks.
    pub fn into_history(self, begin: u64, end: u64) -> History {
        let Self { ranks, chunks, count, mut windows, left_out, windows_left_out, nanoseconds_per_tick, .. } = self;
        let mappings = mappings(&ranks, nanoseconds_per_tick);
        let within = |(start, stop): (u64, u64)| {
            let start = start.max(begin).min(end);
            (start, stop.max(start).min(end))
        };
        let mut operations: Vec<TimelineEntry> = Vec::new();
        let mut left_out = left_out;
        // a process that runs out of memory loses its lanes, but goes on
        if operations.try_reserve_exact(count).is_ok() {
            chunks.into_iter().for_each(|chunk| operations.extend(chunk));
        } else {
            left_out += count as u64;
        }
        for entry in &mut operations {
            let Some(mappings) = mappings.get(usize::from(entry.place)) else { continue };
            let begun = Begun::of(entry, mappings, nanoseconds_per_tick);
            if let Some(mapping) = mappings[1].as_ref().filter(|_| entry.source == TimeSource::Events) {
                entry.start = KernelBegin::of(entry, mapping, nanoseconds_per_tick).start;
            }
            entry.launched = begun.map_or(0, |begun| begun.queued.max(1));
        }
        // GPU-timed operations are placed in the order of their clock
        operations.sort_unstable_by_key(|entry| (entry.place, entry.source, entry.start, entry.stop));
        let mut unplaced = 0;
        for of_one_clock in operations.chunk_by_mut(|a, b| (a.place, a.source) == (b.place, b.source)) {
            let (place, source) =
                of_one_clock.first().map_or((0, TimeSource::Enqueue), |entry| (entry.place.into(), entry.source));
            if !source.is_gpu() {
                continue;
            }
            let by_clock =
                mappings.get(place).map(|[stamps, events]| if source == TimeSource::Events { events } else { stamps });
            let Some(mapping) = by_clock.and_then(Option::as_ref) else {
                unplaced += of_one_clock.len() as u64;
                of_one_clock.iter_mut().for_each(|entry| entry.place = NO_PLACE);
                continue;
            };
            InTurn::new(mapping, nanoseconds_per_tick).place(of_one_clock);
        }
        operations.retain(|entry| entry.place != NO_PLACE);
        operations.sort_unstable_by_key(|entry| (entry.place, entry.order));
        operations.chunk_by_mut(|a, b| a.place == b.place).for_each(in_turn::place_untimed);
        operations.iter_mut().for_each(|entry| (entry.start, entry.stop) = within((entry.start, entry.stop)));
        operations.sort_unstable_by_key(|entry| (entry.place, entry.start, entry.order));
        windows.iter_mut().for_each(|window| (window.start, window.stop) = within((window.start, window.stop)));
        windows.sort_by_key(|window| (window.place, window.peer, window.start));
        let ranks = ranks.iter().map(|line| RankHistory { rank: line.rank, nranks: line.nranks }).collect();
        History { ranks, operations, windows, left_out, windows_left_out, unplaced, nanoseconds_per_tick }
    }
}

impl History {
    /// Returns the operations of the rank at this place, in the order of their begins.
    pub fn of(&self, place: usize) -> &[TimelineEntry] {
        let first = self.operations.partition_point(|entry| usize::from(entry.place) < place);
        let behind = self.operations.partition_point(|entry| usize::from(entry.place) <= place);
        &self.operations[first..behind]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::name::NcclName;
    use crate::figures::timeline::NO_ROOT;

    fn entry(place: u8, start: u64, stop: u64, source: TimeSource) -> TimelineEntry {
        let name = NcclName::default();
        TimelineEntry {
            start,
            stop,
            bytes: 1,
            sequence: 0,
            peer: -1,
            root: NO_ROOT,
            place,
            order: 0,
            launched: 0,
            function: name,
            algorithm: name,
            protocol: name,
            source,
            alone: true,
        }
    }

    fn timeline(entries: &[TimelineEntry]) -> Timeline {
        let mut timeline = Timeline { nanoseconds_per_tick: 0.5, ..Timeline::new(1 << 20) };
        for comm in 0..2 {
            timeline.open(CommunicatorRank { comm, rank: 0 }, 2);
        }
        let ordered = (0..).zip(entries).map(|(order, &entry)| TimelineEntry { order, ..entry });
        timeline.chunks.push(ordered.collect());
        timeline.count = entries.len();
        timeline
    }

    #[test]
    fn gpu_times_are_mapped_and_all_are_sorted_within_the_measurement() {
        let mut timeline = timeline(&[
            entry(1, 100, 150, TimeSource::Enqueue),
            entry(0, 7_000_000_100, 7_000_000_200, TimeSource::Stamps),
            entry(0, 1200, 1500, TimeSource::Proxy),
            entry(0, 0, 5000, TimeSource::Enqueue),
        ]);
        // a tick is half a nanosecond; the callback of the second stamp came long after it
        for (ticks, stamp) in [(1000, 7_000_000_000), (900_201_000, 7_450_000_000)] {
            timeline.clocks(0).unwrap().stamps.told(ticks, stamp);
        }
        let history = timeline.into_history(50, 3000);
        let times: Vec<_> = history.operations.iter().map(|entry| (entry.place, entry.start, entry.stop)).collect();
        assert_eq!(times, [(0, 1200, 1400), (0, 1400, 1500), (0, 1500, 3000), (1, 100, 150)]);
        assert_eq!((history.of(0).len(), history.of(1).len(), history.of(2).len()), (3, 1, 0));
    }

    #[test]
    fn operations_of_a_gpu_of_whose_clock_nothing_is_known_are_counted() {
        let history = timeline(&[entry(1, 100, 150, TimeSource::Stamps)]).into_history(0, 1000);
        assert_eq!((history.operations.len(), history.unplaced), (0, 1));
    }
}
