//! The collectives that found no room on the timeline, and which other collectives still have the right occurrence.
//!
//! Replays of a CUDA graph share one sequence number, and are distinguished by the number of earlier replays. So a
//! missing replay shifts the later ones of its number, and no others. One bit for each sequence number with a missing
//! collective takes little memory.

use super::entry::TimelineEntry;
use crate::event::name::NcclName;
use crate::operation::Operation;
use std::collections::BTreeMap;

/// Largest number of words for these bits, of all ranks and functions together: 4 MiB.
const MOST_WORDS: usize = 1 << 19;

/// Collectives that found no room.
#[derive(Debug, Clone, Default)]
pub(super) struct LeftOut {
    /// Number of collectives left out.
    pub(super) count: u64,
    /// The smallest order of a rank's collectives left out, by place of the rank.
    first: BTreeMap<u8, u64>,
    /// A bit for each sequence number with a collective left out, by place of the rank and function; `None` if there
    /// were more than are kept.
    numbers: BTreeMap<(u8, NcclName), Option<Vec<u64>>>,
    words: usize,
}

/// Returns word and bit of a sequence number.
fn bit(sequence: u64) -> (usize, u64) {
    ((sequence / 64) as usize, 1 << (sequence % 64))
}

impl LeftOut {
    /// Adds a collective that found no room. Without a place, its rank is not on the timeline.
    pub(super) fn add(&mut self, place: Option<u8>, operation: &Operation) {
        self.count += 1;
        let Some(place) = place else { return };
        let first = self.first.entry(place).or_insert(operation.order);
        *first = operation.order.min(*first);
        let numbers = self.numbers.entry((place, operation.function)).or_insert_with(|| Some(Vec::new()));
        let Some(words) = numbers else { return };
        let (word, bit) = bit(operation.sequence);
        let more = word.saturating_add(1).saturating_sub(words.len());
        if more <= MOST_WORDS - self.words && words.try_reserve(more).is_ok() {
            words.resize(words.len() + more, 0);
            self.words += more;
            words[word] |= bit;
        } else {
            self.words -= words.len();
            *numbers = None;
        }
    }

    /// Returns whether a collective of the same number that was left out may have started before. Then the entry's
    /// occurrence is unknown.
    pub(super) fn may_precede(&self, entry: &TimelineEntry) -> bool {
        let is_behind = || self.first.get(&entry.place).is_some_and(|&first| first < u64::from(entry.order));
        let has_number = |numbers: &Option<Vec<u64>>| {
            let (word, bit) = bit(entry.sequence);
            numbers.as_ref().is_none_or(|words| words.get(word).is_some_and(|word| word & bit != 0))
        };
        self.numbers.get(&(entry.place, entry.function)).is_some_and(has_number) && is_behind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::datatype::Datatype;
    use crate::event::kind::EventKind;
    use crate::figures::timeline::Timeline;
    use crate::operation::tests::recorded;
    use crate::operation::{TimeSource, Timing};
    use crate::record::payload::{OfOperation, OperationWord, StartOrder};
    use crate::sums::run_sums::CommunicatorRank;

    fn operation(function: &std::ffi::CStr, order: u64, sequence: u64) -> Operation {
        let (function, place) = (NcclName::of(Some(function)), StartOrder::new(order, 0));
        let number = OperationWord::of_collective(sequence, None, Datatype::default());
        let payload = OfOperation { bytes: 4096, number, function, channels: 1, place, ..OfOperation::default() };
        recorded(EventKind::Coll, 1000, payload)
    }

    /// Returns a timeline with room for `room` operations, filled with operations of (order, sequence number).
    fn timeline(room: usize, operations: &[(u64, u64)]) -> Timeline {
        let mut timeline = Timeline::new(room * size_of::<TimelineEntry>());
        timeline.nanoseconds_per_tick = 1.0;
        let place = timeline.open(CommunicatorRank { comm: 7, rank: 3 }, 4);
        for &(order, sequence) in operations {
            timeline.operation(place, &operation(c"AllReduce", order, sequence), Timing::Enqueue(1), true, 1.0);
        }
        timeline
    }

    /// Returns sequence numbers and occurrences, and the number left out.
    fn arrivals(timeline: &Timeline) -> (Vec<(u64, u32)>, u64) {
        let arrivals = timeline.arrivals(true);
        (arrivals.ranks[0].arrivals.iter().map(|it| (it.sequence, it.occurrence)).collect(), arrivals.left_out)
    }

    #[test]
    fn what_is_on_a_full_timeline_is_compared() {
        // the first operation settled last
        let all: Vec<(u64, u64)> = (1..100).chain([0]).map(|number| (number, 1000 + number)).collect();
        let kept: Vec<(u64, u32)> = (1..61).map(|number| (1000 + number, 0)).collect();
        assert_eq!(arrivals(&timeline(60, &all)), (kept, 40));
        assert_eq!(arrivals(&timeline(100, &all)).1, 0);
    }

    /// Two replays of each number, and a third of one number; the second replay of number 2 settled last.
    #[test]
    fn replays_behind_a_missing_one_are_no_others() {
        let all = [(0, 1), (1, 2), (2, 3), (3, 1), (5, 3), (6, 2), (4, 2)];
        assert_eq!(arrivals(&timeline(7, &all)).0, [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1)]);
        assert_eq!(arrivals(&timeline(6, &all)), (vec![(1, 0), (1, 1), (2, 0), (3, 0), (3, 1)], 2));
    }

    /// Numbers that are not kept count as all numbers; other functions and ranks lack nothing.
    #[test]
    fn more_numbers_than_are_kept_are_all_numbers() {
        let most = 64 * MOST_WORDS as u64;
        for (sequence, expected) in
            [(most - 1, [false, false, true]), (most, [false, true, true]), (u64::MAX, [false, true, true])]
        {
            let mut left_out = LeftOut::default();
            left_out.add(Some(0), &operation(c"AllReduce", 10, sequence));
            let timeline = timeline(3, &[(9, sequence), (11, 5), (12, sequence)]);
            let precedes: Vec<bool> = timeline.entries().map(|entry| left_out.may_precede(entry)).collect();
            assert_eq!(precedes, expected, "{sequence}");
            for entry in timeline.entries() {
                let others = [
                    TimelineEntry { place: 1, ..*entry },
                    TimelineEntry { function: NcclName::of(Some(c"AllGather")), ..*entry },
                ];
                assert!(others.iter().all(|entry| entry.source == TimeSource::Enqueue && !left_out.may_precede(entry)));
            }
            // there is room again
            left_out.add(Some(1), &operation(c"AllReduce", 1, most - 1));
            assert_eq!((left_out.count, left_out.words <= MOST_WORDS), (2, true));
        }
    }
}
