//! Progress of one rank of a communicator.

use super::begun::BegunOperations;
use super::busy::{CLOCKS, Spans};
use super::marks::{Marks, Point};

/// Most collectives that end behind one that has not: a group's operations run in another order than its calls. One
/// that is missing for longer has had no operation.
const MOST_AHEAD: u64 = 1024;
/// By how much a kernel's stamps may begin before those of the kernel before it end, nanoseconds.
const SLACK: u64 = 100_000;
/// Most operations that are settled before an older one.
const MOST_SETTLED: usize = 65_536;

/// An operation of which nothing more will come.
#[derive(Debug, Clone, Copy)]
pub(super) struct SettledOperation {
    pub order: u64,
    /// Time of its call, ticks.
    pub called: u64,
    /// Time at which the library saw its end, ticks.
    pub seen: u64,
    pub spans: Spans,
}

/// What is not settled yet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unsettled {
    /// The oldest operation: the order of its kernel's first operation, and its call. Operations of a kernel have one
    /// time on the GPU.
    pub oldest: Option<(u64, u64)>,
    /// All operations that were called before this time are known, ticks.
    pub horizon: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct CommunicatorProgress {
    pub comm: Option<u64>,
    /// Whether all of its operations are known.
    pub is_complete: bool,
    pub begun: BegunOperations,
    /// Operations that are settled and not taken in: some before them may not be settled.
    pub settled: Vec<SettledOperation>,
    pub marks: Marks,
    /// Nothing more of it begins on the GPU before this time, by clock.
    pub frontier: [u64; CLOCKS],
    /// `None` until the first settling: nothing has begun.
    unsettled: Option<Unsettled>,
    /// Collectives up to the highest number that has ended.
    number: u64,
    /// How many of them have ended.
    ended: u64,
    /// Collectives that have ended while others were missing.
    ahead: u64,
}

impl CommunicatorProgress {
    /// Makes one whose operations begin after these times.
    pub(super) fn behind(frontier: [u64; CLOCKS]) -> Self {
        Self {
            comm: None,
            is_complete: true,
            begun: BegunOperations::default(),
            settled: Vec::new(),
            marks: Marks::default(),
            frontier,
            unsettled: None,
            number: 0,
            ended: 0,
            ahead: 0,
        }
    }

    /// Takes in the operations before the oldest one that is not settled, in their order, and passes on the points that
    /// are wanted. `latest` is the latest end of any operation. Returns false at a gap.
    pub(super) fn advance(
        &mut self,
        unsettled: Unsettled,
        latest: [u64; CLOCKS],
        clock: Option<usize>,
        mut point: impl FnMut(Point),
    ) -> bool {
        self.unsettled = Some(unsettled);
        self.settled.sort_unstable_by_key(|operation| operation.order);
        let until = unsettled.oldest.map_or(u64::MAX, |(order, _)| order);
        let count = self.settled.partition_point(|operation| operation.order < until);
        let mut is_whole = true;
        for operation in self.settled.drain(..count) {
            for (frontier, span) in self.frontier.iter_mut().zip(operation.spans) {
                *frontier = span.map_or(*frontier, |(_, end)| end.saturating_sub(SLACK).max(*frontier));
            }
            let begun = self.begun.get(operation.order);
            let Some((number, called)) = begun.and_then(|begun| Some((begun.number?, begun.called))) else { continue };
            (self.ended, self.number) = (self.ended + 1, self.number.max(number + 1));
            self.ahead = if self.ended < self.number { self.ahead + 1 } else { 0 };
            if self.ahead > MOST_AHEAD {
                // calls without an operation
                (self.ended, self.ahead, is_whole) = (self.number, 0, false);
            }
            let time = clock.and_then(|clock| operation.spans[clock]).map(|(_, end)| end);
            if let Some(time) = time.filter(|_| self.ended == self.number && self.marks.wants(self.number)) {
                point(Point { time, number: self.number, called, seen: operation.seen, ..Point::default() });
            }
        }
        if unsettled.oldest.is_none() {
            // operations to come are called later than all that has ended
            self.frontier.iter_mut().zip(latest).for_each(|(frontier, latest)| *frontier = latest.max(*frontier));
        }
        if self.settled.len() > MOST_SETTLED {
            self.settled.clear();
            return false;
        }
        is_whole
    }

    /// Returns a time before which no operation was called that is not taken in; `None` if nothing has begun.
    pub(super) fn oldest_call(&self) -> Option<u64> {
        let Unsettled { oldest, horizon } = self.unsettled?;
        let oldest = oldest.map_or(horizon, |(_, called)| called);
        Some(self.settled.iter().map(|operation| operation.called).fold(oldest, u64::min))
    }

    /// Begins anew behind a gap.
    pub(super) fn break_off(&mut self) {
        self.marks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::progress::begun::BegunOperation;

    fn with(numbers: &[Option<u64>]) -> CommunicatorProgress {
        let mut communicator = CommunicatorProgress::behind([0; CLOCKS]);
        let begun =
            (0..).zip(numbers).map(|(order, &number)| BegunOperation { order, called: order, number, bytes: 1 });
        communicator.begun.extend(begun.collect());
        communicator
    }

    /// Settles operations, one a millisecond, up to the oldest one. Returns the numbers of points.
    fn settle(communicator: &mut CommunicatorProgress, orders: &[u64], oldest: Option<u64>) -> (Vec<u64>, bool) {
        communicator.settled.extend(orders.iter().map(|&order| SettledOperation {
            order,
            called: order,
            seen: order,
            spans: [Some((1_000_000 * order, 1_000_000 * order + 500_000)), None],
        }));
        let mut points = Vec::new();
        let unsettled = Unsettled { oldest: oldest.map(|oldest| (oldest, oldest)), horizon: 1000 };
        let is_whole = communicator.advance(unsettled, [9_000_000, 0], Some(0), |point| points.push(point.number));
        (points, is_whole)
    }

    #[test]
    fn operations_are_taken_in_their_order_and_nothing_begins_before_the_last_one() {
        let mut communicator = with(&[Some(0), None, Some(1), Some(2)]);
        assert_eq!(settle(&mut communicator, &[2, 0], Some(1)), (vec![1], true));
        assert_eq!((communicator.frontier[0], communicator.oldest_call()), (400_000, Some(1)));
        assert_eq!(settle(&mut communicator, &[1], Some(3)), (vec![2], true));
        assert_eq!((communicator.frontier[0], communicator.oldest_call()), (2_400_000, Some(3)));
        assert_eq!(settle(&mut communicator, &[3], None), (vec![3], true));
        assert_eq!((communicator.frontier[0], communicator.oldest_call()), (9_000_000, Some(1000)));
    }

    #[test]
    fn a_number_counts_when_all_before_it_have_ended() {
        let mut communicator = with(&[Some(2), Some(0), Some(1), Some(3)]);
        assert_eq!(settle(&mut communicator, &[0, 1, 2, 3], None), (vec![3, 4], true));
    }

    #[test]
    fn a_call_without_an_operation_is_a_gap_after_a_while() {
        let numbers: Vec<Option<u64>> = (1..MOST_AHEAD + 5).map(Some).collect();
        let (mut communicator, count) = (with(&numbers), numbers.len() as u64);
        let orders: Vec<u64> = (0..count).collect();
        let (points, is_whole) = settle(&mut communicator, &orders[..1000], Some(1000));
        assert_eq!((points, is_whole), (vec![], true));
        let (points, is_whole) = settle(&mut communicator, &orders[1000..], None);
        assert_eq!((points, is_whole), ((MOST_AHEAD + 2..MOST_AHEAD + 6).collect(), false));
    }
}
