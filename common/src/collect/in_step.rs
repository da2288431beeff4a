//! Decides whether the GPU's stamps of a communicator belong to their operations.
//!
//! NCCL matches stamps to kernels by numbers that it counts on the host, and it does not count some works: a
//! point-to-point operation to the own rank (up to 2.30), and calls that it reports no further (ncclBroadcast in 2.29
//! to 2.32 by default). After the first uncounted work, operations of the communicator get the stamps of earlier
//! operations. So stamps are believed only for operations that started before the first uncounted work, in the order of
//! start callbacks.
//!
//! Whether a work is uncounted shows later: a counted work is followed by a kernel channel or an operation, an
//! uncounted work is not. Until then the work is a suspect, and the operations behind it are undecided.

use crate::operation::verdict::{Cause, StampVerdict};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of suspects. Beyond it, the first suspect is decided without waiting.
const MOST_SUSPECTS: usize = 65_536;

/// A work that may turn out to be uncounted.
#[derive(Debug, Clone, Copy)]
struct Suspect {
    handle: u64,
    cause: Cause,
    /// Whether it was captured into a CUDA graph: the capture launches nothing, and what follows comes with the first
    /// replay.
    captured: bool,
}

/// The order of works of one communicator, and its suspects.
#[derive(Debug, Default)]
pub(crate) struct InStep {
    /// All starts before this order were seen.
    seen: u64,
    /// Orders of starts seen beyond `seen`.
    ahead: BTreeSet<u64>,
    /// The latest suspect with its order. Most suspects are cleared by the next event, before they join `suspects`.
    latest: Option<(u64, Suspect)>,
    /// All other suspects, by order.
    suspects: BTreeMap<u64, Suspect>,
    /// Orders of the suspects in `suspects`, by handle.
    orders: FxHashMap<u64, u64>,
    /// Order of the first call that was captured into a CUDA graph.
    captured: Option<u64>,
    /// Orders of operations that were launched outside of graphs and have unseen starts before them.
    launched: BTreeSet<u64>,
    uncounted: Option<u64>,
    cause: Option<Cause>,
}

impl InStep {
    /// Notes a start. Returns false if it was seen already.
    pub(crate) fn seen(&mut self, order: u64) -> bool {
        // most starts are read in their order
        if order == self.seen && self.ahead.is_empty() {
            self.seen += 1;
            return true;
        }
        if order < self.seen || !self.ahead.insert(order) {
            return false;
        }
        while self.ahead.remove(&self.seen) {
            self.seen += 1;
        }
        while let Some(order) = self.launched.pop_first() {
            if order >= self.seen {
                self.launched.insert(order);
                break;
            }
            self.hold_against_graphs(order);
        }
        true
    }

    /// Notes that the call of this order was captured into a CUDA graph. Must come before [`InStep::seen`] of the same
    /// order.
    pub(crate) fn captured(&mut self, order: u64) {
        self.captured = Some(self.captured.map_or(order, |first| first.min(order)));
    }

    /// Notes that an operation was launched outside of graphs. NCCL counts its works now, but the works of a graph only
    /// when a replay runs, or not at all: an operation beside graphs is out of step.
    ///
    /// The stamps cannot be put right by a shift. With NCCL 2.28.9, four captured all-reduces replayed 12 times, and a
    /// plain one beside every third replay, NCCL never handed the stamps of the other replays' kernels out: on one node
    /// the replays' channels had 0, on two nodes those of the first replay again and again. The plain operations had
    /// the stamps of the first replay's kernels, one after the other, since the host counts plain works alone.
    pub(crate) fn launched(&mut self, order: u64) {
        // all captures before it are known only after all starts before it were seen
        if order < self.seen {
            self.hold_against_graphs(order);
        } else {
            self.launched.insert(order);
        }
    }

    fn hold_against_graphs(&mut self, order: u64) {
        if self.captured.is_some_and(|captured| captured < order) {
            self.condemn(order, Cause::BesideGraph);
        }
    }

    /// Returns the order before which all starts were seen.
    pub(crate) fn seen_before(&self) -> u64 {
        self.seen
    }

    /// Adds a suspect: its work is uncounted unless [`InStep::clear`] is called for it.
    pub(crate) fn suspect(&mut self, order: u64, handle: u64, captured: bool, cause: Cause) {
        if self.uncounted.is_some_and(|uncounted| uncounted <= order) {
            // stamps behind it are not believed anyway
            return;
        }
        if self.suspects.len() >= MOST_SUSPECTS {
            self.give_up();
        }
        self.put_aside();
        self.latest = Some((order, Suspect { handle, cause, captured }));
    }

    /// Moves the latest suspect to `suspects`.
    fn put_aside(&mut self) {
        if let Some((order, suspect)) = self.latest.take() {
            self.suspects.insert(order, suspect);
            self.orders.insert(suspect.handle, order);
        }
    }

    /// Clears a suspect: its work is counted.
    #[inline]
    pub(crate) fn clear(&mut self, handle: u64) {
        if self.latest.is_some_and(|(_, suspect)| suspect.handle == handle) {
            self.latest = None;
        }
        // called for each kernel channel, mostly without any suspect
        if self.orders.is_empty() {
            return;
        }
        if let Some(order) = self.orders.remove(&handle) {
            self.suspects.remove(&order);
        }
    }

    /// Condemns suspects before the order of an operation that ended long ago on the GPU: nothing more will come of
    /// works that started before it. Captured suspects stay: a replay may follow at any time.
    pub(crate) fn expire(&mut self, witness: u64) {
        self.put_aside();
        let over = self.suspects.range(..witness).filter(|(_, suspect)| !suspect.captured);
        let over: Vec<(u64, Suspect)> = over.map(|(&order, &suspect)| (order, suspect)).collect();
        for (order, suspect) in over {
            self.suspects.remove(&order);
            self.orders.remove(&suspect.handle);
            self.condemn(order, suspect.cause);
        }
    }

    /// Returns whether nothing is in doubt.
    pub(crate) fn has_no_doubts(&self) -> bool {
        self.latest.is_none() && self.suspects.is_empty() && self.ahead.is_empty()
    }

    /// Decides all suspects: nothing more will come at all.
    pub(crate) fn end(&mut self) {
        self.seen = u64::MAX;
        self.put_aside();
        if let Some((&order, suspect)) = self.suspects.first_key_value() {
            self.condemn(order, suspect.cause);
        }
        self.suspects.clear();
        self.orders.clear();
    }

    /// Decides the first suspect without waiting: a captured one is believed, any other is taken for uncounted.
    pub(crate) fn give_up(&mut self) {
        self.put_aside();
        if let Some((order, suspect)) = self.suspects.pop_first() {
            self.orders.remove(&suspect.handle);
            if !suspect.captured {
                self.condemn(order, Cause::TooMuchInDoubt);
            }
        } else {
            // no suspect: the doubt is a start that was never seen
            self.condemn(self.seen, Cause::TooMuchInDoubt);
        }
    }

    /// Returns the verdict on the stamps of the operation of this order.
    pub(crate) fn verdict(&self, order: u64) -> StampVerdict {
        if self.uncounted.is_some_and(|uncounted| uncounted <= order) {
            return StampVerdict::OutOfStep;
        }
        let first = self.suspects.first_key_value().map(|(&first, _)| first);
        let doubted = first.into_iter().chain(self.latest.map(|(latest, _)| latest)).any(|suspect| suspect < order);
        if doubted || order > self.seen { StampVerdict::Undecided } else { StampVerdict::InStep }
    }

    /// No longer believes stamps of operations from this order on.
    pub(crate) fn condemn(&mut self, order: u64, cause: Cause) {
        self.uncounted = Some(self.uncounted.map_or(order, |uncounted| uncounted.min(order)));
        self.cause.get_or_insert(cause);
        self.put_aside();
        if let Some(uncounted) = self.uncounted {
            for suspect in self.suspects.split_off(&uncounted).into_values() {
                self.orders.remove(&suspect.handle);
            }
        }
    }

    /// Returns the order below which stamps are believed, as far as is known; `u64::MAX` for all.
    pub(crate) fn trusted_below(&self) -> u64 {
        self.uncounted.unwrap_or(u64::MAX)
    }

    /// Returns why stamps are no longer believed, if they are not.
    pub(crate) fn cause(&self) -> Option<Cause> {
        self.cause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_seen(count: u64) -> InStep {
        let mut steps = InStep::default();
        (0..count).for_each(|order| assert!(steps.seen(order)));
        steps
    }

    #[test]
    fn without_suspects_all_are_in_step() {
        let steps = with_seen(5);
        assert!((0..5).all(|order| steps.verdict(order) == StampVerdict::InStep));
    }

    #[test]
    fn an_operation_waits_for_starts_before_it_that_were_not_seen() {
        let mut steps = with_seen(2);
        assert!(steps.seen(3));
        assert!(!steps.seen(3) && !steps.seen(0));
        assert_eq!(steps.verdict(3), StampVerdict::Undecided);
        steps.seen(2);
        assert_eq!(steps.verdict(3), StampVerdict::InStep);
    }

    #[test]
    fn a_suspect_makes_later_operations_wait_until_it_is_cleared() {
        let mut steps = with_seen(4);
        steps.suspect(1, 77, false, Cause::ToOneself);
        assert_eq!(
            [0, 1, 2].map(|order| steps.verdict(order)),
            [StampVerdict::InStep, StampVerdict::InStep, StampVerdict::Undecided]
        );
        steps.clear(77);
        assert_eq!(steps.verdict(2), StampVerdict::InStep);
    }

    #[test]
    fn the_first_uncounted_work_counts_whatever_is_known_first() {
        let mut steps = with_seen(10);
        steps.suspect(6, 78, false, Cause::ToOneself);
        steps.expire(8);
        assert_eq!((steps.verdict(4), steps.verdict(7)), (StampVerdict::InStep, StampVerdict::OutOfStep));
        steps.suspect(2, 77, false, Cause::ToOneself);
        steps.expire(2);
        assert_eq!(steps.verdict(4), StampVerdict::Undecided, "nothing that started later has ended");
        steps.expire(5);
        assert_eq!([1, 2, 4, 9].map(|order| steps.verdict(order)), {
            use StampVerdict::{InStep, OutOfStep};
            [InStep, OutOfStep, OutOfStep, OutOfStep]
        });
    }

    #[test]
    fn captured_calls_are_not_condemned_by_waiting_but_by_the_end() {
        let mut steps = with_seen(4);
        steps.suspect(1, 77, true, Cause::ToOneself);
        let mut ended = with_seen(4);
        ended.suspect(1, 77, true, Cause::ToOneself);
        steps.expire(3);
        assert_eq!(steps.verdict(3), StampVerdict::Undecided);
        steps.give_up();
        assert_eq!(steps.verdict(3), StampVerdict::InStep, "there is no room for more doubts");
        ended.end();
        assert_eq!(ended.verdict(3), StampVerdict::OutOfStep);
    }

    #[test]
    fn an_operation_beside_graphs_is_out_of_step_in_whatever_order_things_are_read() {
        let mut in_order = with_seen(5);
        in_order.captured(1);
        in_order.launched(3);
        let mut steps = with_seen(1);
        assert!(steps.seen(3) && steps.seen(4));
        steps.launched(3);
        steps.captured(1);
        assert!(steps.seen(1) && steps.seen(2));
        for steps in [&in_order, &steps] {
            assert_eq!([2, 3, 4].map(|order| steps.verdict(order)), {
                use StampVerdict::{InStep, OutOfStep};
                [InStep, OutOfStep, OutOfStep]
            });
        }
        let mut before = with_seen(5);
        before.launched(2);
        before.captured(3);
        assert_eq!(before.verdict(4), StampVerdict::InStep);
    }

    #[test]
    fn giving_up_condemns_the_first_suspect() {
        let mut steps = with_seen(4);
        steps.suspect(1, 77, false, Cause::ToOneself);
        steps.give_up();
        assert_eq!((steps.verdict(0), steps.verdict(3)), (StampVerdict::InStep, StampVerdict::OutOfStep));
    }
}
