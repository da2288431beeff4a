//! When nothing more will come of an operation, and whether the GPU's stamps of it are believed.

use super::Assembly;
use crate::control;
use crate::in_step::{Cause, Verdict};
use crate::operation::{Operation, Timing};

/// Operations that may wait for a decision about their stamps; past it the doubt is taken for certain.
const MOST_UNDECIDED: usize = 65_536;
/// Operations that may be under way; past it those with nothing under way are taken for done.
const MOST_PENDING: usize = 65_536;
/// Calls that may wait for their operation.
const MOST_CALLS: usize = 65_536;
/// A stamp that lies so much before its operation's enqueue belongs to another operation, nanoseconds. In step none lies before by
/// more than the uncertainty of the clocks, 75 us in all recordings.
const EARLY: f64 = 1e6;

impl Assembly {
    /// Gives `take` the operations of which nothing more will come, with the final verdict on their stamps. Times in ticks.
    ///
    /// Nothing more comes of an operation that was quiet since `quiet` with all its kernel channels seen, or where none are asked
    /// for; nor of one before another that has ended on the GPU since before `silent`, since a communicator's works run there one
    /// after the other, which decides works in doubt, too; nor of one that was given up, of which nothing was heard since `overdue`.
    /// Any other one may be quiet for as long as it likes: it may wait on the GPU for another rank.
    pub fn settle(&mut self, [quiet, silent, overdue]: [u64; 3], mut take: impl FnMut(Operation, Verdict)) {
        while let Some(&(_, order)) = self.completed.front().filter(|(active, _)| *active < silent) {
            self.witness = self.witness.max(order);
            self.completed.pop_front();
        }
        let witness = self.witness;
        self.steps.expire(witness);
        let mut invisible = 0;
        self.calls.retain(|_, call| {
            // a captured call is followed by its operation when it is replayed, however late
            let over = !call.captured && call.order < witness;
            invisible += u64::from(over);
            !over
        });
        self.invisible += invisible;
        self.limit_calls();
        let full = self.operations.len() > MOST_PENDING;
        let overfull = self.operations.len() > 2 * MOST_PENDING;
        let no_kernels = self.no_kernel_events;
        let done = |operation: &Operation| {
            let complete = operation.active < quiet && (no_kernels || operation.is_complete());
            let passed = operation.active < silent && (full || operation.order < witness);
            let given_up = operation.unfinished && operation.active < overdue;
            operation.is_quiet() && (complete || passed || given_up || overfull)
        };
        let ready: Vec<u64> =
            self.operations.iter().filter(|(_, operation)| done(operation)).map(|(&handle, _)| handle).collect();
        for handle in ready {
            control::beat();
            if let Some(operation) = self.operations.remove(&handle) {
                if no_kernels || operation.is_complete() {
                    self.note_completed(operation.active, operation.order);
                }
                self.undecided.insert(operation.order, operation);
            }
        }
        self.decide(&mut take);
        while self.undecided.len() > MOST_UNDECIDED {
            self.steps.give_up();
            self.decide(&mut take);
        }
    }

    /// Calls that wait for their operation are not kept without bound: the older half is taken to wait in vain.
    fn limit_calls(&mut self) {
        if self.calls.len() > MOST_CALLS {
            let mut orders: Vec<u64> = self.calls.values().map(|call| call.order).collect();
            let (_, middle, _) = orders.select_nth_unstable(MOST_CALLS / 2);
            let middle = *middle;
            let before = self.calls.len();
            self.calls.retain(|_, call| call.order >= middle);
            self.invisible += (before - self.calls.len()) as u64;
        }
    }

    /// Keeps when operations completed, ten times a second at the most.
    fn note_completed(&mut self, active: u64, order: u64) {
        let apart = (1e8 / self.nanoseconds_per_tick) as u64;
        match self.completed.back_mut() {
            Some((last, latest)) if active < last.saturating_add(apart) => *latest = (*latest).max(order),
            _ => self.completed.push_back((active, order)),
        }
    }

    /// Gives `take` all operations there are: nothing more will come at all.
    pub fn end(&mut self, mut take: impl FnMut(Operation, Verdict)) {
        self.invisible += self.calls.len() as u64;
        self.calls.clear();
        self.steps.end();
        for (_, mut operation) in self.operations.drain() {
            control::beat();
            operation.unfinished |= !operation.is_quiet();
            self.undecided.insert(operation.order, operation);
        }
        self.decide(&mut take);
    }

    /// Hands on what can be decided, in the order of starts.
    fn decide(&mut self, take: &mut impl FnMut(Operation, Verdict)) {
        while let Some(entry) = self.undecided.first_entry() {
            if self.steps.verdict(*entry.key()) == Verdict::Undecided {
                break;
            }
            control::beat();
            let operation = entry.remove();
            let verdict = self.judge(&operation);
            if let (Timing::Gpu { start, .. }, Some(called), Some(track)) =
                (operation.timing(verdict), operation.called, &mut self.track)
            {
                track.enqueued(called, start);
            }
            take(operation, verdict);
        }
    }

    /// What is known of an operation's stamps, looked at together with the stamps themselves.
    pub(super) fn judge(&mut self, operation: &Operation) -> Verdict {
        let verdict = self.steps.verdict(operation.order);
        let first = operation.span.map(|(first, _)| first).filter(|_| verdict == Verdict::InStep);
        let scale = self.nanoseconds_per_tick;
        let early = first.and_then(|first| self.clock.nanoseconds_before(first, operation.start, scale));
        if early.is_none_or(|early| early <= EARLY) {
            return verdict;
        }
        self.steps.condemn(operation.order, Cause::EarlyStamp);
        Verdict::OutOfStep
    }
}
