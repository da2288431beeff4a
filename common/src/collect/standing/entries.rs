//! The newest operations of a communicator, of which unfinished ones stay longer than finished ones.

use super::entry::StandingEntry;
use crate::status::MOST_OPERATIONS;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Most kernel channels that wait for their operation to be read.
const MOST_EARLY: usize = 1024;
/// Most kernels without a time of CUDA events whose operations may still have to be read.
const MOST_UNTIMED: usize = 1024;
/// Most operations that left the list unfinished and are still counted when they end.
const MOST_LEFT: usize = 65_536;

/// A kernel channel that was read before its operation.
#[derive(Debug, Clone, Copy)]
struct EarlyChannel {
    operation: u64,
    begun: Option<u64>,
    ended: Option<u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Oldest first.
    all: Vec<StandingEntry>,
    early: Vec<EarlyChannel>,
    /// Orders of the operations that left the list unfinished, and whether each has begun.
    left: BTreeMap<u64, bool>,
    /// The latest kernel that its stream has come to, by the order of its first operation, and when that was seen.
    reached: Option<(u64, u64)>,
    /// The latest kernel whose end CUDA events have seen, and when.
    ran: Option<(u64, u64)>,
    /// Kernels that CUDA events do not time.
    untimed: BTreeSet<u64>,
    /// Calls of collectives that left the list before their operation was seen: order and time of the call, by handle.
    calls_left: FxHashMap<u64, (u64, u64)>,
    begun: u64,
    finished: u64,
}

impl Entries {
    pub(super) fn iter(&self) -> impl Iterator<Item = &StandingEntry> {
        self.all.iter()
    }

    /// Returns the oldest collective whose operation is still to come: order and time of its call.
    pub(super) fn without_operation(&self) -> Option<(u64, u64)> {
        let listed = self.all.iter().filter_map(StandingEntry::lacks_operation);
        listed.chain(self.calls_left.values().copied()).min()
    }

    /// Returns how many operations the GPU has begun, and how many it has finished.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.begun, self.finished)
    }

    /// Adds an operation. If there are too many, the oldest finished one leaves; if none is finished, one from the
    /// middle: in a hang the first and the last ones say the most.
    pub(super) fn add(&mut self, entry: StandingEntry) {
        if self.all.len() >= MOST_OPERATIONS {
            let place = self.all.iter().position(StandingEntry::is_over).unwrap_or(MOST_OPERATIONS / 2);
            let gone = self.all.remove(place);
            if let Some(called) = gone.lacks_operation().filter(|_| self.calls_left.len() < MOST_LEFT) {
                self.calls_left.insert(gone.call, called);
            }
            if !gone.is_over() && gone.order != u64::MAX && self.left.len() < MOST_LEFT {
                self.left.insert(gone.order, gone.begun.is_some());
            }
        }
        let (operation, first, order) = (entry.operation, entry.first, entry.order);
        self.all.push(entry);
        self.catch_up(first, order);
        if operation != 0 && !self.early.is_empty() {
            for EarlyChannel { begun, ended, .. } in
                self.early.extract_if(.., |early| early.operation == operation).collect::<Vec<_>>()
            {
                if let Some(time) = begun {
                    self.channel_begun(operation, time);
                }
                if let Some(time) = ended {
                    self.channel_ended(operation, time, u64::MAX);
                }
            }
        }
    }

    fn of_call(&self, call: u64) -> Option<usize> {
        if call == 0 { None } else { self.all.iter().rposition(|entry| entry.call == call) }
    }

    fn of_operation(&self, operation: u64) -> Option<usize> {
        if operation == 0 { None } else { self.all.iter().rposition(|entry| entry.operation == operation) }
    }

    /// Takes the entry of a call that waits for its operation out.
    pub(super) fn take_call(&mut self, call: u64) -> Option<StandingEntry> {
        self.calls_left.remove(&call);
        let place = self.of_call(call).filter(|&place| self.all[place].operation == 0)?;
        Some(self.all.remove(place))
    }

    /// Forgets a call whose operation is not recorded.
    pub(super) fn forget_call(&mut self, call: u64) {
        let _ = self.take_call(call);
    }

    /// Sets the number of the entry with this handle, of a call or an operation.
    pub(super) fn number(&mut self, of: u64, number: u64) {
        if let Some(place) = self.of_call(of).or_else(|| self.of_operation(of)) {
            self.all[place].number = Some(number);
        }
    }

    /// Notes that a call has returned.
    pub(super) fn returned(&mut self, call: u64, time: Option<u64>) {
        if let Some(place) = self.of_call(call) {
            self.all[place].returned = time;
        }
    }

    pub(super) fn channel_begun(&mut self, operation: u64, time: u64) {
        let Some(place) = self.of_operation(operation) else {
            return self.remember(EarlyChannel { operation, begun: Some(time), ended: None });
        };
        let entry = &mut self.all[place];
        entry.kernels[0] += 1;
        if entry.begun.is_none() && entry.finished.is_none() {
            entry.begun = Some(time);
            self.begun += 1;
        }
    }

    /// Notes that a kernel channel has ended. It is another operation's if the operation does not start before the
    /// order `trusted_below`. Returns whether its operation has finished now.
    pub(super) fn channel_ended(&mut self, operation: u64, time: u64, trusted_below: u64) -> bool {
        let Some(place) = self.of_operation(operation) else {
            self.remember(EarlyChannel { operation, begun: None, ended: Some(time) });
            return false;
        };
        let entry = &mut self.all[place];
        entry.kernels[1] += 1;
        let (has_run, order) = (entry.has_run() && entry.order < trusted_below, entry.order);
        if has_run {
            self.finish_up_to(order, time);
        }
        has_run
    }

    fn remember(&mut self, early: EarlyChannel) {
        if early.operation != 0 && self.early.len() < MOST_EARLY {
            self.early.push(early);
        }
    }

    /// Applies the reports of a kernel that came before its operation, which was added now.
    fn catch_up(&mut self, first: u64, order: u64) {
        if let Some((_, time)) = self.reached.filter(|(reached, _)| *reached == first) {
            self.begin(first, time);
        }
        // works run one after the other
        if let Some((_, time)) = self.ran.filter(|(ran, _)| *ran >= first) {
            self.finish_up_to(order, time);
        }
        if self.untimed.contains(&first) {
            self.stop_following(first);
        }
    }

    fn begin(&mut self, first: u64, time: u64) {
        let of_kernel =
            |entry: &&mut StandingEntry| entry.first == first && entry.begun.is_none() && entry.finished.is_none();
        for entry in self.all.iter_mut().filter(of_kernel) {
            entry.begun = Some(time);
            self.begun += 1;
        }
    }

    fn stop_following(&mut self, first: u64) {
        let of_kernel = self.all.iter_mut().filter(|entry| entry.first == first);
        of_kernel.for_each(|entry| entry.is_followed = entry.has_channels);
    }

    /// Notes that a stream has come to a kernel, given the order of its first operation.
    pub(super) fn kernel_reached(&mut self, first: u64, time: u64) {
        self.reached = Some((first, time));
        self.begin(first, time);
    }

    /// Notes that CUDA events say nothing of a kernel, given the order of its first operation.
    pub(super) fn kernel_untimed(&mut self, first: u64) {
        self.untimed.insert(first);
        if self.untimed.len() > MOST_UNTIMED {
            self.untimed.pop_first();
        }
        self.stop_following(first);
    }

    /// Notes that CUDA events have seen the end of a kernel, given the order of its first operation.
    pub(super) fn kernel_ran(&mut self, first: u64, time: u64) {
        self.ran = self.ran.max(Some((first, time)));
        if let Some(last) = self.all.iter().filter(|entry| entry.first == first).map(|entry| entry.order).max() {
            self.finish_up_to(last, time);
        }
    }

    /// Notes that all works that started before this order have had their time on the GPU, also those that NCCL reports
    /// no further than their call.
    pub(super) fn passed_by(&mut self, order: u64, time: u64) {
        if let Some(before) = order.checked_sub(1) {
            self.finish_up_to(before, time);
            self.finish(time, |entry| entry.order == u64::MAX && entry.called.is_some_and(|called| called < order));
        }
    }

    /// Finishes the operations up to this order: a communicator's works run on the GPU one after the other.
    fn finish_up_to(&mut self, order: u64, time: u64) {
        self.finish(time, |entry| entry.order <= order);
        let behind = self.left.split_off(&(order + 1));
        let left = std::mem::replace(&mut self.left, behind);
        self.begun += left.values().filter(|has_begun| !**has_begun).count() as u64;
        self.finished += left.len() as u64;
    }

    fn finish(&mut self, time: u64, which: impl Fn(&StandingEntry) -> bool) {
        for entry in self.all.iter_mut().filter(|entry| entry.finished.is_none() && which(entry)) {
            entry.finished = Some(time);
            self.finished += 1;
            self.begun += u64::from(entry.begun.is_none());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::datatype::Datatype;
    use crate::event::name::NcclName;

    fn entry(order: u64, first: u64) -> StandingEntry {
        StandingEntry {
            operation: 100 + order,
            order,
            first,
            is_followed: true,
            ..StandingEntry::new(NcclName::none(), 1, Datatype::default(), None, 0)
        }
    }

    #[test]
    fn what_left_the_list_begun_counts_as_begun_once() {
        let mut entries = Entries::default();
        let all = 3 * MOST_OPERATIONS as u64;
        for order in 0..all {
            entries.add(entry(order, order));
            entries.kernel_reached(order, 1);
        }
        assert_eq!(entries.counts(), (all, 0));
        entries.kernel_ran(all - 1, 2);
        assert_eq!(entries.counts(), (all, all));
    }

    #[test]
    fn reports_of_a_kernel_may_come_before_its_operations() {
        let mut entries = Entries::default();
        entries.kernel_ran(2, 7);
        entries.kernel_reached(4, 8);
        entries.kernel_untimed(6);
        (0..8).for_each(|order| entries.add(entry(order, order & !1)));
        let shown: Vec<_> = entries.iter().map(|one| (one.begun, one.finished, one.is_followed)).collect();
        let (ran, reached) = ((None, Some(7), true), (Some(8), None, true));
        let untimed = (None, None, false);
        assert_eq!(shown, [ran, ran, ran, ran, reached, reached, untimed, untimed]);
        assert_eq!(entries.counts(), (6, 4));
    }
}
