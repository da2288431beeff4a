//! Decides when nothing more will come of an operation, and whether its stamps are believed.

use super::Assembly;
use super::judging::judge;
use super::limits::Limits;
use crate::clock::gpu::GpuClock;
use crate::clock::gpu_clocks::GpuClocks;
use crate::collect::in_step::InStep;
use crate::collect::operations::Chosen;
use crate::collect::pulse;
use crate::launch::Untimed;
use crate::operation::kernels::{CommunicatorKernels, KernelTiming};
use crate::operation::verdict::{JudgedTime, StampVerdict};
use crate::operation::{Operation, Timing};
use std::collections::VecDeque;

/// Largest number of operations that may wait for a decision about their stamps. Beyond it, the first doubt is decided
/// without waiting.
const MOST_UNDECIDED: usize = 65_536;
/// Number of operations under way beyond which complete operations are settled early: as soon as all events that began
/// before their end have been read.
const MANY_PENDING: usize = 2048;
/// Largest number of operations under way. Beyond it, operations of the older half that look done are settled; beyond
/// twice as many, all quiet operations of that half.
const MOST_PENDING: usize = 16_384;
/// Largest number of calls that may wait for their operation after a round.
const MOST_CALLS: usize = 65_536;
impl Assembly {
    /// Settles the operations of which nothing more will come by these `limits`, and passes them to `take` with the
    /// final verdict on their stamps. Every other operation may stay quiet for any time: it may wait on the GPU for
    /// another rank.
    pub(crate) fn settle(&mut self, limits: Limits, take: impl FnMut(&mut Operation, JudgedTime)) {
        let Limits { quiet, silent, overdue, horizon } = limits;
        while let Some(&(_, order)) = self.completed.front().filter(|(active, _)| *active < silent) {
            self.witness = self.witness.max(order);
            self.completed.pop_front();
        }
        let witness = self.witness;
        self.in_step.expire(witness);
        // the operation of a captured call comes with a replay, however late
        self.invisible += self.calls.drop_over(|call| !call.captured && call.order < witness);
        let many = self.is_crowded();
        let full = if self.is_overcrowded() { self.middle_order() } else { 0 };
        let overfull = self.operations.count() > 2 * MOST_PENDING;
        let no_kernels = self.no_kernel_events;
        let kernels = &self.kernels;
        let over = self.operations.over(|operation| {
            if !operation.is_quiet() {
                return false;
            }
            let kernel = operation.kernel(kernels);
            let is_complete = operation.is_complete(kernel);
            let complete = operation.active < quiet && (no_kernels || is_complete);
            let read = many && operation.active < horizon && is_complete;
            let passed = operation.active < silent && operation.order < witness;
            let given_up = operation.unfinished && operation.active < overdue;
            let crowded_out =
                operation.order < full && (overfull || operation.active < horizon && operation.looks_done(kernel));
            !operation.awaits_events(kernel) && (complete || read)
                || !kernel.is_awaited() && (passed || given_up)
                || crowded_out
        });
        self.settle_those(over, take);
        self.forget_kernels();
    }

    /// Forgets the kernels all of whose operations are settled.
    fn forget_kernels(&mut self) {
        let under_way = self.operations.iter().chain(self.undecided.values()).map(Operation::first_of_kernel);
        self.kernels.forget_before(under_way.min().unwrap_or(u64::MAX).min(self.in_step.seen_before()));
    }

    /// Settles the complete operations heard of while many are under way, without a look at all operations; see
    /// [`Assembly::settle`].
    pub(crate) fn settle_complete(&mut self, horizon: u64, take: impl FnMut(&mut Operation, JudgedTime)) {
        let Self { operations, complete, kernels, .. } = self;
        // a handle is added again whenever its operation is heard of
        if complete.len() > operations.count() {
            complete.sort_unstable();
            complete.dedup();
        }
        let over = operations.complete_among(complete, kernels, |operation| operation.active < horizon);
        self.settle_those(over, take);
    }

    fn settle_those(&mut self, those: Chosen, mut take: impl FnMut(&mut Operation, JudgedTime)) {
        let no_kernels = self.no_kernel_events;
        let unheard = self.kernels.cause_of_silence();
        let Self { operations, undecided, completed, in_step, clock, clocks, kernels, .. } = self;
        let apart = (1e8 / self.nanoseconds_per_tick) as u64;
        let mut deciding =
            Deciding { in_step, clock, clocks, kernels, unheard, nanoseconds_per_tick: self.nanoseconds_per_tick };
        operations.take_out(those, |operation| {
            pulse::beat();
            if no_kernels || operation.is_complete(operation.kernel(deciding.kernels)) {
                note_completed(completed, apart, operation);
            }
            if undecided.is_empty() && deciding.in_step.verdict(operation.order) != StampVerdict::Undecided {
                deciding.hand_on(operation, &mut take);
            } else {
                undecided.insert(operation.order, operation.clone());
            }
        });
        self.decide(&mut take);
        while self.undecided.len() > MOST_UNDECIDED {
            self.in_step.give_up();
            self.decide(&mut take);
        }
    }

    /// Returns whether so many operations are under way that complete ones are settled early.
    pub(crate) fn is_crowded(&self) -> bool {
        self.operations.count() > MANY_PENDING
    }

    /// Returns whether so many operations are under way that not all of them can be kept.
    pub(crate) fn is_overcrowded(&self) -> bool {
        self.operations.count() > MOST_PENDING
    }

    /// Returns the median order of the operations under way.
    fn middle_order(&self) -> u64 {
        let mut orders: Vec<u64> = self.operations.iter().map(|operation| operation.order).collect();
        let middle = orders.len() / 2;
        if orders.is_empty() { 0 } else { *orders.select_nth_unstable(middle).1 }
    }

    /// Bounds the number of calls that wait for their operation: beyond [`MOST_CALLS`], the youngest half as many are
    /// left, and the others are counted as followed by none.
    pub(super) fn limit_calls(&mut self) {
        let count = self.calls.count();
        if count > MOST_CALLS {
            let mut orders: Vec<u64> = self.calls.iter().map(|call| call.order).collect();
            let (_, oldest_left, _) = orders.select_nth_unstable(count - MOST_CALLS / 2);
            let oldest_left = *oldest_left;
            self.invisible += self.calls.drop_over(|call| call.order < oldest_left);
        }
    }

    /// Settles all operations: nothing more will come at all.
    pub(crate) fn end(&mut self, mut take: impl FnMut(&mut Operation, JudgedTime)) {
        self.invisible += self.calls.drop_over(|_| true);
        self.end_replays();
        self.in_step.end();
        for mut operation in self.operations.take() {
            pulse::beat();
            operation.unfinished |= !operation.is_quiet();
            self.undecided.insert(operation.order, operation);
        }
        self.decide(&mut take);
    }

    /// Passes on the operations that can be decided, in the order of starts.
    fn decide(&mut self, take: &mut impl FnMut(&mut Operation, JudgedTime)) {
        let unheard = self.kernels.cause_of_silence();
        let Self { undecided, in_step, clock, clocks, kernels, nanoseconds_per_tick, .. } = self;
        let mut deciding =
            Deciding { in_step, clock, clocks, kernels, unheard, nanoseconds_per_tick: *nanoseconds_per_tick };
        while let Some(entry) = undecided.first_entry() {
            if deciding.in_step.verdict(*entry.key()) == StampVerdict::Undecided {
                break;
            }
            pulse::beat();
            deciding.hand_on(&mut entry.remove(), take);
        }
    }
}

/// Notes that an operation completed. Completions less than `apart` ticks after the last entry join it: ten entries a
/// second.
fn note_completed(completed: &mut VecDeque<(u64, u64)>, apart: u64, operation: &Operation) {
    match completed.back_mut() {
        Some((last, latest)) if operation.active < last.saturating_add(apart) => {
            *latest = (*latest).max(operation.order)
        }
        _ => completed.push_back((operation.active, operation.order)),
    }
}

/// The state needed to decide about operations' stamps.
struct Deciding<'a> {
    in_step: &'a mut InStep,
    clock: &'a GpuClock,
    clocks: &'a mut Option<GpuClocks>,
    kernels: &'a CommunicatorKernels,
    unheard: Untimed,
    nanoseconds_per_tick: f64,
}

impl Deciding<'_> {
    /// Passes on an operation whose stamps are decided.
    fn hand_on(&mut self, operation: &mut Operation, take: &mut impl FnMut(&mut Operation, JudgedTime)) {
        let verdict = judge(self.in_step, self.clock, self.nanoseconds_per_tick, operation);
        let kernel = operation.kernel(self.kernels);
        if let (Some(clocks), Some(span), StampVerdict::InStep) = (self.clocks.as_mut(), operation.span(), verdict) {
            let is_whole = matches!(operation.timing(verdict, kernel), Timing::Stamps { .. });
            if let Some(not_begun) = operation.not_begun.filter(|_| is_whole) {
                clocks.stamps.enqueued(not_begun.get(), span.0);
            }
            // its stamps lie between the events even where they are not the kernel's begin and end
            if let (KernelTiming::Timed(time), false) = (kernel.when, kernel.unstamped) {
                clocks.both(span, (time.first, time.stop), is_whole);
            }
        }
        take(operation, JudgedTime { verdict, kernel, unheard: self.unheard });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::reader::Listener;
    use crate::event::handle::Handle;
    use crate::event::kind::EventKind;
    use crate::record::payload::{OfKernelChannel, OfOperation, StartOrder};
    use crate::record::pool::{BLOCK_SLOTS, Pool};

    /// Has the assembly hear of operations on one channel each: each operation is enqueued, and has a kernel channel if
    /// `ran` says so. Each starts ten ticks after the one before.
    fn hear(assembly: &mut Assembly, orders: std::ops::Range<u64>, ran: impl Fn(u64) -> bool) {
        let pool = Pool::new(2 * (orders.end - orders.start) as usize * 4096).unwrap();
        let mut tell = |kind, parent, start, payload| {
            let block = pool.take().unwrap();
            let generation = pool.block(block).unwrap().generation();
            // a handle that no other pool's block has
            let handle =
                Handle::of_event(kind, Pool::index(block, 0) + 2 * orders.start as u32 * BLOCK_SLOTS, generation);
            let slot = pool.slot(block, 0).unwrap();
            slot.start(handle, parent, start, payload);
            if kind == EventKind::KernelCh {
                slot.kernel_stop(generation, start + 1);
            }
            slot.stop(generation, start + 2);
            assembly.passed(&pool, &slot.read(generation).unwrap());
            handle.raw()
        };
        for order in orders.clone() {
            let operation = tell(
                EventKind::Coll,
                0,
                1000 + 10 * order,
                OfOperation { bytes: 8, channels: 1, place: StartOrder::new(order, 0), ..OfOperation::default() }
                    .pack(),
            );
            if ran(order) {
                tell(
                    EventKind::KernelCh,
                    operation,
                    1002 + 10 * order,
                    OfKernelChannel { start: 1002 + 10 * order, channel: 0 }.pack(),
                );
            }
        }
        assembly.touched(|_, _| {});
    }

    fn assembly() -> Assembly {
        let mut assembly = Assembly::default();
        assembly.set_kernel_events(true);
        assembly.set_scale(1.0, true);
        assembly
    }

    #[test]
    fn those_from_before_there_were_many_go_first() {
        let mut assembly = assembly();
        hear(&mut assembly, 0..500, |_| true);
        hear(&mut assembly, 500..3500, |order| order >= 3400);
        let mut taken = Vec::new();
        assembly.settle_complete(u64::MAX, |operation, _| taken.push(operation.order));
        assert_eq!(taken, (0..500).chain(3400..3500).collect::<Vec<_>>());
    }

    #[test]
    fn where_there_are_many_complete_ones_go_as_soon_as_all_before_was_read() {
        let mut assembly = assembly();
        let ran = |order: u64| !order.is_multiple_of(4);
        hear(&mut assembly, 0..4000, ran);
        let mut taken = Vec::new();
        for (horizon, up_to) in [(1000, 0), (21_000, 2000), (21_000, 2000), (u64::MAX, 4000)] {
            assembly.settle_complete(horizon, |operation, _| taken.push(operation.order));
            assert_eq!(taken, (0..up_to).filter(|&order| ran(order)).collect::<Vec<_>>());
        }
        assert_eq!((assembly.operations.count(), assembly.complete.len()), (1000, 0));
    }

    #[test]
    fn what_is_named_again_and_again_is_named_once() {
        let mut assembly = assembly();
        hear(&mut assembly, 0..3000, |_| true);
        let named = assembly.complete.clone();
        assembly.complete.extend(named);
        assembly.settle_complete(0, |_, _| unreachable!("not all was read"));
        assert_eq!(assembly.complete.len(), 3000);
    }

    #[test]
    fn stamps_that_nobody_asked_for_are_not_believed() {
        let mut assembly = assembly();
        assembly.set_kernel_events(false);
        hear(&mut assembly, 0..1, |_| true);
        let mut timings = Vec::new();
        assembly.end(|operation, verdict| timings.push(verdict.timing(operation)));
        assert_eq!(timings, [Timing::Enqueue(2)]);
    }
}
