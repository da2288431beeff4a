//! Whether the GPU's stamps of a communicator can be believed.
//!
//! NCCL reads kernel stamps by numbers that it counts on the host, and some works it does not count: a point-to-point operation
//! to oneself up to 2.30, and calls it reports no further (ncclBroadcast in 2.29 to 2.32 by default). From the first such work on,
//! later operations of the communicator get the stamps of earlier ones. So stamps are believed only for operations that started
//! before the first uncounted work, in the order of start callbacks. Whether a work is uncounted shows later, if something
//! that follows it comes or never comes; until then the operations behind it are undecided.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What is known of an operation's stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// They are its own.
    InStep,
    /// They may be another operation's.
    OutOfStep,
    /// Not known yet.
    Undecided,
}

/// A work that may turn out uncounted.
#[derive(Debug, Clone, Copy)]
struct Suspect {
    handle: u64,
    /// When it started, ticks.
    start: u64,
    /// Captured into a CUDA graph: it launches nothing itself, and what follows comes with the first replay.
    captured: bool,
}

/// The order of works of one communicator, and the doubts about them.
#[derive(Debug, Default)]
pub struct InStep {
    /// All starts before this one were seen.
    seen: u64,
    /// Starts seen beyond.
    ahead: BTreeSet<u64>,
    suspects: BTreeMap<u64, Suspect>,
    orders: HashMap<u64, u64>,
    uncounted: Option<u64>,
}

impl InStep {
    /// Takes note of a start; false when it was known already.
    pub fn seen(&mut self, order: u64) -> bool {
        if order < self.seen || !self.ahead.insert(order) {
            return false;
        }
        while self.ahead.remove(&self.seen) {
            self.seen += 1;
        }
        true
    }

    /// The work of that order and handle is uncounted unless [`InStep::clear`] comes.
    pub fn suspect(&mut self, order: u64, handle: u64, start: u64, captured: bool) {
        self.suspects.insert(order, Suspect { handle, start, captured });
        self.orders.insert(handle, order);
    }

    /// The work is counted after all.
    pub fn clear(&mut self, handle: u64) {
        if let Some(order) = self.orders.remove(&handle) {
            self.suspects.remove(&order);
        }
    }

    /// Nothing more will come for works that started before `time`: the suspects among them are uncounted, but for captured ones.
    pub fn expire(&mut self, time: u64) {
        while let Some((&order, &suspect)) = self.suspects.first_key_value().filter(|(_, suspect)| suspect.start < time) {
            self.suspects.remove(&order);
            self.orders.remove(&suspect.handle);
            if !suspect.captured {
                self.condemn(order);
            }
        }
    }

    /// Nothing more will come at all.
    pub fn end(&mut self) {
        self.seen = u64::MAX;
        if let Some((&order, _)) = self.suspects.first_key_value() {
            self.condemn(order);
        }
        self.suspects.clear();
        self.orders.clear();
    }

    /// Gives up on the first suspect: it is taken for uncounted.
    pub fn give_up(&mut self) {
        if let Some((order, suspect)) = self.suspects.pop_first() {
            self.orders.remove(&suspect.handle);
            self.condemn(order);
        } else {
            // a start that never showed up
            self.condemn(self.seen);
        }
    }

    /// What holds for the operation of that order.
    pub fn verdict(&self, order: u64) -> Verdict {
        if self.uncounted.is_some_and(|uncounted| uncounted <= order) {
            return Verdict::OutOfStep;
        }
        let doubted = self.suspects.first_key_value().is_some_and(|(&suspect, _)| suspect < order);
        if doubted || order > self.seen { Verdict::Undecided } else { Verdict::InStep }
    }

    fn condemn(&mut self, order: u64) {
        self.uncounted = Some(self.uncounted.map_or(order, |uncounted| uncounted.min(order)));
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
        assert!((0..5).all(|order| steps.verdict(order) == Verdict::InStep));
    }

    #[test]
    fn an_operation_waits_for_starts_before_it_that_were_not_seen() {
        let mut steps = with_seen(2);
        assert!(steps.seen(3));
        assert!(!steps.seen(3) && !steps.seen(0));
        assert_eq!(steps.verdict(3), Verdict::Undecided);
        steps.seen(2);
        assert_eq!(steps.verdict(3), Verdict::InStep);
    }

    #[test]
    fn a_suspect_makes_later_operations_wait_until_it_is_cleared() {
        let mut steps = with_seen(4);
        steps.suspect(1, 77, 0, false);
        assert_eq!([0, 1, 2].map(|order| steps.verdict(order)), [Verdict::InStep, Verdict::InStep, Verdict::Undecided]);
        steps.clear(77);
        assert_eq!(steps.verdict(2), Verdict::InStep);
    }

    #[test]
    fn the_first_uncounted_work_counts_whatever_is_known_first() {
        let mut steps = with_seen(10);
        steps.suspect(2, 77, 100, false);
        steps.suspect(6, 78, 50, false);
        steps.expire(60);
        assert_eq!(steps.verdict(4), Verdict::Undecided, "the first suspect is not decided yet");
        steps.expire(200);
        assert_eq!([1, 2, 4, 9].map(|order| steps.verdict(order)), {
            use Verdict::{InStep, OutOfStep};
            [InStep, OutOfStep, OutOfStep, OutOfStep]
        });
    }

    #[test]
    fn captured_calls_are_not_condemned_by_waiting_but_by_the_end() {
        let mut steps = with_seen(4);
        steps.suspect(1, 77, 0, true);
        let mut ended = with_seen(4);
        ended.suspect(1, 77, 0, true);
        steps.expire(1000);
        assert_eq!(steps.verdict(3), Verdict::InStep);
        ended.end();
        assert_eq!(ended.verdict(3), Verdict::OutOfStep);
    }

    #[test]
    fn giving_up_condemns_the_first_suspect() {
        let mut steps = with_seen(4);
        steps.suspect(1, 77, 0, false);
        steps.give_up();
        assert_eq!((steps.verdict(0), steps.verdict(3)), (Verdict::InStep, Verdict::OutOfStep));
    }
}
