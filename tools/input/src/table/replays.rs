//! Numbers the replays of collectives: those of a CUDA graph have one sequence number.

use common::name::NcclName;
use common::run_sums::CommunicatorRank;
use std::collections::{BTreeMap, HashMap};

/// The sequence numbers of each rank's functions so far. Numbers of one run of numbers take the memory of one.
#[derive(Debug, Default)]
pub(super) struct Replays(BTreeMap<(CommunicatorRank, NcclName), NumberRun>);

#[derive(Debug, Default)]
struct NumberRun {
    /// Runs of numbers that have occurred: first and last of each.
    runs: BTreeMap<u64, u64>,
    /// How often numbers have occurred that did so more than once.
    again: HashMap<u64, u32>,
}

impl Replays {
    /// Returns the number of earlier collectives with the same number.
    pub(super) fn next(&mut self, rank: CommunicatorRank, function: NcclName, sequence: u64) -> u32 {
        self.0.entry((rank, function)).or_default().next(sequence)
    }
}

impl NumberRun {
    fn next(&mut self, number: u64) -> u32 {
        let below = self.runs.range(..=number).next_back().map(|(&first, &last)| (first, last));
        if below.is_some_and(|(_, last)| number <= last) {
            let times = self.again.entry(number).or_insert(0);
            *times += 1;
            return *times;
        }
        let behind = number.checked_add(1).and_then(|next| self.runs.remove(&next));
        let last = behind.unwrap_or(number);
        match below.filter(|(_, last)| last.checked_add(1) == Some(number)) {
            Some((first, _)) => self.runs.insert(first, last),
            None => self.runs.insert(number, last),
        };
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_from_their_second_time() {
        let mut numbers = NumberRun::default();
        let replays: Vec<u32> = [3, 5, 4, 4, 3, 4, 0, 1, 2, 2, u64::MAX, 6].map(|it| numbers.next(it)).into();
        assert_eq!(replays, [0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 0, 0]);
        assert_eq!(numbers.runs.into_iter().collect::<Vec<_>>(), [(0, 6), (u64::MAX, u64::MAX)]);
        let (rank, function) = (|rank| CommunicatorRank { comm: 1, rank }, NcclName::of(Some(c"AllReduce")));
        let mut replays = Replays::default();
        assert_eq!([0, 1, 0].map(|it| replays.next(rank(it), function, 7)), [0, 0, 1]);
    }
}
