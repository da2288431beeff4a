//! The plan of lanes: which operation goes to which lane, and which lanes are shown if there is no memory for all.

use common::timeline::{History, PairWindow};
use std::collections::BTreeMap;

/// Most lanes of a rank of a communicator, however many operations overlap.
const MOST_OF_A_RANK: usize = 32;

/// A lane: operations of a rank that do not overlap.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lane {
    /// Index of the rank in the history.
    pub(super) place: usize,
    /// Number of the lane among the rank's lanes, from 1.
    pub(super) number: usize,
    /// Indices of the operations among the rank's.
    pub(super) operations: Vec<u32>,
}

/// The windows of a rank pair.
#[derive(Debug, PartialEq)]
pub(super) struct PairLane {
    /// Index of the sender in the history.
    pub(super) place: usize,
    /// Rank of the receiver.
    pub(super) peer: i32,
    /// The windows by begin; each begins at or after the end of the window before.
    pub(super) windows: Vec<PairWindow>,
}

/// The lanes that are shown.
#[derive(Debug, Default, PartialEq)]
pub(super) struct LanePlan {
    /// Lanes of operations.
    pub(super) lanes: Vec<Lane>,
    /// Lanes of rank pairs.
    pub(super) pairs: Vec<PairLane>,
    /// Number of lanes with memory for all of them.
    pub(super) wanted: usize,
}

impl LanePlan {
    /// Chooses at most `most` lanes: the first lane of each rank, then the busiest `pairs` rank pairs, then the ranks'
    /// further lanes. Within each kind, the lanes with the most operations or bytes come first.
    pub(super) fn new(history: &History, pairs: usize, most: usize) -> Self {
        let mut first = Vec::new();
        let mut further = Vec::new();
        for place in 0..history.ranks.len() {
            let mut lanes = lanes_of(history, place).into_iter();
            first.extend(lanes.next());
            further.extend(lanes);
        }
        let fullest = |lane: &Lane| std::cmp::Reverse(lane.operations.len());
        first.sort_by_key(fullest);
        further.sort_by_key(fullest);
        let mut pairs = pair_lanes(history, pairs);
        let wanted = first.len() + pairs.len() + further.len();
        let mut room = most;
        let mut take = |wanted: usize| {
            let taken = wanted.min(room);
            room -= taken;
            taken
        };
        let (of_first, of_pairs, of_further) = (take(first.len()), take(pairs.len()), take(further.len()));
        first.truncate(of_first);
        pairs.truncate(of_pairs);
        first.extend(further.into_iter().take(of_further));
        first.sort_by_key(|lane| (history.ranks[lane.place].rank, lane.number));
        Self { lanes: first, pairs, wanted }
    }
}

/// Puts each operation into the first lane whose last operation has ended. With [`MOST_OF_A_RANK`] lanes, an operation
/// may find none.
fn lanes_of(history: &History, place: usize) -> Vec<Lane> {
    let mut lanes: Vec<(u64, Lane)> = Vec::new();
    for (number, operation) in (0..).zip(history.of(place)) {
        let free = lanes.iter().position(|(end, _)| *end <= operation.start).unwrap_or(lanes.len());
        if free == lanes.len() {
            if lanes.len() == MOST_OF_A_RANK {
                continue;
            }
            lanes.push((0, Lane { place, number: free + 1, operations: Vec::new() }));
        }
        lanes[free].0 = operation.stop;
        lanes[free].1.operations.push(number);
    }
    lanes.into_iter().map(|(_, lane)| lane).collect()
}

/// Returns the rank pairs that moved the most bytes.
fn pair_lanes(history: &History, most: usize) -> Vec<PairLane> {
    let mut windows: BTreeMap<(usize, i32), Vec<PairWindow>> = BTreeMap::new();
    for window in &history.windows {
        windows.entry((usize::from(window.place), window.peer)).or_default().push(*window);
    }
    let mut pairs: Vec<PairLane> = windows
        .into_iter()
        .map(|((place, peer), windows)| PairLane { place, peer, windows: in_turn(windows) })
        .collect();
    let bytes = |pair: &PairLane| pair.windows.iter().fold(0_u64, |sum, window| sum.saturating_add(window.bytes));
    pairs.sort_by_key(|pair| (std::cmp::Reverse(bytes(pair)), pair.place, pair.peer));
    pairs.truncate(most);
    pairs
}

/// Removes overlaps: late transfers of a window may overlap with the next window, which then begins when the first has
/// ended.
fn in_turn(mut windows: Vec<PairWindow>) -> Vec<PairWindow> {
    let mut end = 0;
    for window in &mut windows {
        window.start = window.start.max(end);
        window.stop = window.stop.max(window.start);
        end = window.stop;
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::name::NcclName;
    use common::operation::TimeSource;
    use common::rate::Rate;
    use common::run_sums::{CommunicatorRank, PairSum};
    use common::timeline::{NO_ROOT, RankHistory, TimelineEntry};

    fn history(operations: &[(u8, u64, u64)], windows: &[(u8, i32, u64, u64, u64)]) -> History {
        let name = NcclName::default();
        let source = TimeSource::Stamps;
        let entry = |&(place, start, stop): &(u8, u64, u64)| TimelineEntry {
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
        };
        let rate = Rate::of(&PairSum::default(), common::config::Regression::Median, 1.0);
        let window = |&(place, peer, start, stop, bytes): &_| PairWindow { place, peer, start, stop, bytes, rate };
        let ranks = (0..3).map(|comm| RankHistory { rank: CommunicatorRank { comm, rank: 0 }, nranks: 2 });
        History {
            ranks: ranks.collect(),
            operations: operations.iter().map(entry).collect(),
            windows: windows.iter().map(window).collect(),
            ..History::default()
        }
    }

    fn numbers(plan: &LanePlan) -> Vec<(usize, usize, Vec<u32>)> {
        plan.lanes.iter().map(|lane| (lane.place, lane.number, lane.operations.clone())).collect()
    }

    #[test]
    fn overlapping_operations_go_to_further_lanes() {
        let history =
            history(&[(0, 0, 10), (0, 5, 20), (0, 10, 15), (0, 15, 15), (0, 15, 30), (1, 0, 10), (1, 0, 10)], &[]);
        let plan = LanePlan::new(&history, 8, 100);
        assert_eq!(numbers(&plan), [(0, 1, vec![0, 2, 3, 4]), (0, 2, vec![1]), (1, 1, vec![0]), (1, 2, vec![1])]);
        assert_eq!(plan.wanted, 4);
    }

    #[test]
    fn with_little_room_every_rank_keeps_its_first_lane() {
        let history = history(
            &[(0, 0, 10), (0, 5, 20), (0, 6, 20), (1, 0, 9), (1, 10, 12)],
            &[(0, 1, 0, 10, 5), (0, 2, 0, 10, 50), (1, 0, 0, 10, 7)],
        );
        for (most, lanes, pairs) in [(0, 0, 0), (1, 1, 0), (2, 2, 0), (4, 2, 2), (5, 3, 2), (9, 4, 2)] {
            let plan = LanePlan::new(&history, 2, most);
            assert_eq!((plan.lanes.len(), plan.pairs.len()), (lanes, pairs), "{most}");
            assert_eq!(plan.wanted, 6);
        }
        let busiest: Vec<_> = LanePlan::new(&history, 2, 9).pairs.iter().map(|pair| (pair.place, pair.peer)).collect();
        assert_eq!(busiest, [(0, 2), (1, 0)]);
    }

    #[test]
    fn a_rank_has_so_many_lanes_at_most() {
        let all = vec![(0, 0, 10); MOST_OF_A_RANK + 5];
        let plan = LanePlan::new(&history(&all, &[]), 8, 100);
        assert_eq!(plan.lanes.iter().map(|lane| lane.operations.len()).collect::<Vec<_>>(), [1; MOST_OF_A_RANK]);
    }

    #[test]
    fn windows_of_a_pair_follow_one_another() {
        let plan = LanePlan::new(&history(&[], &[(0, 1, 0, 10, 5), (0, 1, 8, 20, 5), (0, 1, 9, 15, 5)]), 8, 100);
        let times: Vec<_> = plan.pairs[0].windows.iter().map(|window| (window.start, window.stop)).collect();
        assert_eq!(times, [(0, 10), (10, 20), (20, 20)]);
    }
}
