//! Replays of a communicator's captured launches: NCCL names the captured call as the parent of each operation of a
//! replay.
//!
//! A launch is named by the first call of its group; the first operation that NCCL reports may be of another call.
//!
//! A launch may be captured and replayed within one round of the collector, after the news were taken. So operations of
//! each call that is met as captured in a round are candidates, until the news that came meanwhile were taken as well.

use crate::launch::times::Replay;
use crate::record::slot::SlotContent;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Replays {
    /// Whether launches in graphs may get events.
    are_expected: bool,
    /// Captured calls whose launches have events.
    calls: FxHashSet<u64>,
    /// Calls met as captured since the last [`Replays::take`]: whether their launches have events may not be known yet.
    met: FxHashSet<u64>,
    /// Replays that were not taken yet, one for each call of `calls` and `met` that their operations have.
    new: Vec<Replay>,
    /// First operations of the kernels whose time is to come.
    waiting: BTreeSet<u64>,
}

impl Replays {
    /// Launches in graphs may get events.
    pub(super) fn expect(&mut self) {
        self.are_expected = true;
    }

    /// From now on, operations of this call are replays of a launch with events.
    pub(super) fn captured(&mut self, call: u64) {
        self.calls.insert(call);
    }

    /// Operations of this call have no events any more.
    pub(super) fn forget(&mut self, call: u64) {
        self.calls.remove(&call);
    }

    /// Takes the replays since the last call: those of launches with events, and the first operations of the others'
    /// kernels.
    pub(super) fn take(&mut self) -> (Vec<Replay>, BTreeSet<u64>) {
        self.met.clear();
        let (found, others): (Vec<Replay>, Vec<Replay>) =
            std::mem::take(&mut self.new).into_iter().partition(|replay| self.calls.contains(&replay.call));
        let mut without: BTreeSet<u64> = others.iter().map(|replay| replay.first).collect();
        found.iter().for_each(|replay| _ = without.remove(&replay.first));
        (found, without)
    }

    /// Returns whether times of replays are to come.
    pub(super) fn are_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes in an operation that has begun, with the first one of its kernel; `is_captured` says whether it follows a
    /// captured call as the first one. Returns whether it is the first one of a replay, whose kernel's time is to come
    /// from here on.
    pub(super) fn begun(&mut self, event: &SlotContent, first: u64, is_captured: bool, is_skipped: bool) -> bool {
        let number = if is_skipped { 0 } else { event.handle };
        self.met(Replay { call: event.parent, first, reported: event.start, number }, is_captured)
    }

    fn met(&mut self, replay: Replay, is_captured: bool) -> bool {
        let Replay { call, first, .. } = replay;
        if self.are_expected && is_captured {
            self.met.insert(call);
        }
        let is_replay = !self.calls.is_empty() && self.calls.contains(&call) || self.met.contains(&call);
        // the operations of a kernel begin one after the other
        let of_kernel = |new: &&Replay| new.first == first;
        if !is_replay || self.new.iter().rev().take_while(of_kernel).any(|new| new.call == call) {
            return false;
        }
        let is_waiting = self.waiting.insert(first);
        if is_waiting || self.new.last().is_some_and(|new| new.first == first) {
            self.new.push(replay);
        }
        is_waiting
    }

    /// Takes the first operations of the kernels whose times are to come: nothing more will come at all.
    pub(super) fn end(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.waiting)
    }

    /// The kernel's time is known, or will never be.
    pub(super) fn settled(&mut self, first: u64) {
        if !self.waiting.is_empty() {
            self.waiting.remove(&first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A replay's operation of a call, the first of whose kernel has this order.
    fn replay(call: u64, first: u64) -> Replay {
        Replay { call, first, reported: 10 * first, number: 0 }
    }

    fn expecting() -> Replays {
        let mut replays = Replays::default();
        replays.expect();
        replays
    }

    #[test]
    fn all_replays_in_the_round_of_their_capture_are_there() {
        let mut replays = expecting();
        assert!(replays.met(replay(5, 0), true) && replays.met(replay(5, 1), false));
        replays.captured(5);
        assert_eq!(replays.take(), (vec![replay(5, 0), replay(5, 1)], BTreeSet::new()));
        assert!(replays.met(replay(5, 2), false) && replays.are_awaited());
    }

    #[test]
    fn a_group_is_replayed_though_its_first_operation_is_of_another_call() {
        for is_known in [false, true] {
            let mut replays = expecting();
            if is_known {
                replays.captured(5);
            }
            assert_eq!(
                [(6, true), (5, true)].map(|(call, captured)| replays.met(replay(call, 0), captured)),
                [true, false]
            );
            replays.captured(5);
            assert_eq!(replays.take(), (vec![replay(5, 0)], BTreeSet::new()));
            // call 6 is of no launch with events
            assert_eq!([6, 5].map(|call| replays.met(replay(call, 2), false)), [false, true]);
            assert_eq!(replays.take(), (vec![replay(5, 2)], BTreeSet::new()));
        }
    }

    #[test]
    fn launches_without_events_have_no_replays() {
        let mut replays = expecting();
        assert!(replays.met(replay(5, 0), true) && !replays.met(replay(6, 0), true));
        assert_eq!(replays.take(), (vec![], BTreeSet::from([0])));
        replays.settled(0);
        assert!(!replays.met(replay(5, 1), false) && !replays.are_awaited());
        let mut unasked = Replays::default();
        assert!(!unasked.met(replay(5, 0), true));
    }
}
