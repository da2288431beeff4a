//! Assembles the operations and transfers of one communicator from the events that the readers report.
//!
//! A child may be read before its parent, if another thread's block has it, and long after it, if the parent's window
//! was taken apart. So parents are found by handle: first among the known operations, else in the slot that the handle
//! names.

mod begun;
mod children;
mod judging;
mod launches;
mod limits;
mod listening;
mod replays;
mod settling;
mod steps;

use self::judging::judge;
pub(crate) use self::limits::Limits;
use self::replays::Replays;
use crate::clock::gpu::GpuClock;
use crate::clock::gpu_clocks::GpuClocks;
use crate::collect::in_step::InStep;
use crate::collect::operations::OperationsUnderWay;
use crate::collect::pending_calls::PendingCalls;
use crate::collect::proxies::Proxies;
use crate::collect::pulse;
use crate::event::TimingOptions;
use crate::launch::lag::Lag;
use crate::operation::Operation;
use crate::operation::kernels::CommunicatorKernels;
use crate::operation::verdict::{Cause, JudgedTime};
use crate::record::context::switching::Switched;
use crate::record::slot::SlotContent;
use crate::sums::round_sums::Sent;
use crate::sums::run_sums::RoundStates;
use std::collections::{BTreeMap, VecDeque};

/// Capacity that is kept when few entries are needed.
const FEW: usize = 256;

/// The state of one communicator's operations.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// Index of the communicator's context. Slots in windows of other communicators are not read.
    index: u32,
    rank: i32,
    operations: OperationsUnderWay,
    proxies: Proxies,
    calls: PendingCalls,
    /// Number of calls that no operation will follow.
    invisible: u64,
    orphans: u64,
    in_step: InStep,
    kernels: CommunicatorKernels,
    replays: Replays,
    /// Number of calls that NCCL launches without reporting an operation.
    silent: u64,
    /// Delays of stamps, and the number of kernel channels still to come.
    lag: Lag,
    /// Whether stamps are not used at all.
    ignores_stamps: bool,
    /// Operations of which nothing more comes but whose stamps are still in doubt, by order.
    undecided: BTreeMap<u64, Operation>,
    /// Transfers since they were last taken.
    sent: Sent,
    /// Times of steps by state since they were last taken.
    states: RoundStates,
    clock: GpuClock,
    /// The courses of the GPU's clocks over the whole run; kept if the timeline needs them.
    clocks: Option<GpuClocks>,
    /// Begin of the current round, ticks.
    now: u64,
    nanoseconds_per_tick: f64,
    /// Whether `nanoseconds_per_tick` is measured, not a guess.
    knows_tick: bool,
    /// Nanoseconds in a unit of the stamps.
    gpu_tick: u64,
    no_kernel_events: bool,
    /// The mask of its NCCL, if the types that NCCL is asked for may change.
    switched: Switched,
    /// Handles of the operations heard of since they were last looked at, each once.
    touched: Vec<u64>,
    /// Handles of operations that were complete when they were last looked at; kept only if many operations are under way.
    complete: Vec<u64>,
    /// Whether `complete` is kept.
    keeps_complete: bool,
    /// Times at which operations completed, each with the largest order completed by then.
    completed: VecDeque<(u64, u64)>,
    /// All works that started before this order have had their time on the GPU.
    witness: u64,
}

impl Assembly {
    /// Sets the index of the communicator's context.
    pub(crate) fn set_index(&mut self, index: u32) {
        self.index = index;
    }

    /// Sets this process' rank in the communicator, before any event is read.
    pub(crate) fn set_rank(&mut self, rank: i32) {
        self.rank = rank;
    }

    /// Returns a kernel channel's stamps, nanoseconds of the GPU's clock. Returns `None` if this communicator asked for
    /// none. They may arrive all the same, for another communicator's sake; whether NCCL counts all works then is
    /// unknown ([`InStep`]).
    fn stamps(&self, event: &SlotContent) -> Option<(u64, u64)> {
        if self.no_kernel_events || self.ignores_stamps {
            return None;
        }
        let nanoseconds = |stamp: u64| stamp.wrapping_mul(self.gpu_tick.max(1));
        event.kernel().map(|(first, last)| (nanoseconds(first), nanoseconds(last)))
    }

    /// Returns the stamps of a kernel channel that has stopped, and compares the GPU's clock with the ticks.
    fn told_stamps(&mut self, event: &SlotContent) -> Option<(u64, u64)> {
        let stamps = self.stamps(event);
        // only the stop's time is known closely enough, where the callback read the clock; the start's time is not
        if let (Some(stop), Some((_, last))) = (event.timed_stop(), stamps) {
            if self.knows_tick {
                self.lag.observe(self.clock.observe(stop, last, self.nanoseconds_per_tick));
            }
            if let Some(clocks) = &mut self.clocks {
                clocks.stamps.told(stop, last);
            }
        }
        stamps
    }

    /// Returns the time at which a stopped kernel channel has stopped; about now, if its callback did not read the
    /// clock.
    fn latest_stop(&self, event: &SlotContent) -> u64 {
        event.timed_stop().unwrap_or(self.now)
    }

    /// Begins a round at this time, in ticks.
    pub(crate) fn begin_round(&mut self, now: u64) {
        self.now = now;
    }

    /// Sets the nanoseconds of a tick, and whether they are measured. With a guess, stamps are not compared with ticks.
    pub(crate) fn set_scale(&mut self, nanoseconds_per_tick: f64, is_known: bool) {
        self.nanoseconds_per_tick = nanoseconds_per_tick;
        self.knows_tick = is_known;
    }

    /// Sets whether the GPU's clock and the events' clock are followed over the whole run.
    pub(crate) fn follow_clocks(&mut self, wanted: bool) {
        self.clocks = wanted.then(GpuClocks::default);
    }

    /// Returns the courses of the GPU's clocks so far.
    pub(crate) fn clocks(&self) -> Option<&GpuClocks> {
        self.clocks.as_ref()
    }

    /// Takes the delays of stamps since the last call.
    pub(crate) fn take_lag(&mut self) -> Lag {
        std::mem::take(&mut self.lag)
    }

    /// Ends a round: all events that began before `horizon` have been read.
    pub(crate) fn end_round(&mut self, horizon: u64) {
        for (operation, lost) in self.proxies.end_round(horizon) {
            self.steps_lost(operation, lost, None);
        }
        // in each round: calls may come faster than a bound at each settling would drop them
        self.limit_calls();
    }

    /// Returns why stamps are no longer believed, if they are not.
    pub(crate) fn out_of_step(&self) -> Option<Cause> {
        self.in_step.cause()
    }

    /// Returns the order before which all works that started have had their time on the GPU.
    pub(crate) fn witness(&self) -> u64 {
        self.witness
    }

    /// Returns the order below which stamps are believed, as far as is known.
    pub(crate) fn trusted_below(&self) -> u64 {
        self.in_step.trusted_below()
    }

    /// Takes the transfers since the last call.
    pub(crate) fn take_sent(&mut self) -> Sent {
        std::mem::take(&mut self.sent)
    }

    /// Takes the times of steps by state since the last call.
    pub(crate) fn take_states(&mut self) -> RoundStates {
        std::mem::take(&mut self.states)
    }

    /// Takes the numbers of calls that no operation followed and of children without a parent, since the last call.
    pub(crate) fn take_losses(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.invisible), std::mem::take(&mut self.orphans))
    }

    /// Returns whether nothing is under way and nothing is in doubt, as far as is known without waiting.
    pub(crate) fn looks_done(&self) -> bool {
        let complete = |operation: &Operation| operation.is_complete(operation.kernel(&self.kernels));
        self.undecided.is_empty() && self.in_step.has_no_doubts() && self.operations.iter().all(complete)
    }

    /// Returns the oldest operation that is not settled: the order of its kernel's first operation, and its call.
    pub(crate) fn oldest(&self) -> Option<(u64, u64)> {
        let all = self.operations.iter().chain(self.undecided.values());
        all.map(|operation| (operation.first_of_kernel(), operation.start)).min()
    }

    /// Returns whether the end of an operation is still to come, as far as is known without waiting.
    pub(crate) fn awaits_operations(&self) -> bool {
        let over = |operation: &Operation| {
            let kernel = operation.kernel(&self.kernels);
            if self.no_kernel_events {
                operation.is_quiet() && !operation.awaits_events(kernel)
            } else {
                operation.looks_done(kernel)
            }
        };
        !self.operations.iter().all(over)
    }

    /// Passes on the operations heard of since the last call, with what is known of their GPU time.
    pub(crate) fn touched(&mut self, mut each: impl FnMut(&mut Operation, JudgedTime)) {
        let many = self.is_crowded();
        let Self { touched, complete, operations, in_step, clock, nanoseconds_per_tick, kernels, .. } = self;
        if !many {
            complete.clear();
            complete.shrink_to(FEW);
        } else if !self.keeps_complete {
            // nothing more may be heard of those from before, and they must not be settled behind later ones
            complete.extend(operations.handles(|operation| operation.is_complete(operation.kernel(kernels))));
        }
        self.keeps_complete = many;
        for &handle in touched.iter() {
            pulse::beat();
            if let Some(operation) = operations.get_mut(handle) {
                operation.heard = false;
                let kernel = operation.kernel(kernels);
                let verdict = judge(in_step, clock, *nanoseconds_per_tick, operation);
                let unheard = kernels.cause_of_silence();
                each(operation, JudgedTime { verdict, kernel, unheard });
                if many && operation.is_complete(kernel) {
                    complete.push(handle);
                }
            }
        }
        touched.clear();
        touched.shrink_to(FEW);
    }

    /// Sets whether stamps of kernel channels were asked for.
    pub(crate) fn set_kernel_events(&mut self, asked: bool) {
        self.no_kernel_events = !asked;
    }

    /// Returns whether no stamps are to come, so that a time without them is final.
    pub(crate) fn is_without_gpu(&self) -> bool {
        self.no_kernel_events
    }

    /// The types that NCCL is asked for may change from now on. Then kernel channels may come at any time, and each
    /// operation is looked at whether it was called when they were asked for.
    pub(crate) fn may_switch(&mut self, switched: Switched) {
        self.switched = switched;
        self.no_kernel_events = !switched.may_have_kernels();
    }

    /// Sets how operations are timed besides.
    pub(crate) fn time_by(&mut self, timed: &TimingOptions) {
        self.gpu_tick = timed.gpu_tick;
        if timed.launches {
            self.kernels.may_report_launches();
        }
    }

    /// Notes that operations or calls from this order on may be missing.
    pub(crate) fn lost_from(&mut self, order: u64) {
        self.in_step.condemn(order, Cause::Dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::mapping::Mapping;
    use crate::event::handle::Handle;
    use crate::event::kind::EventKind;
    use crate::record::slot::Slot;

    #[test]
    fn an_untimed_stop_tells_nothing_of_the_gpus_clock_and_is_as_late_as_the_round() {
        let slot = &Mapping::<Slot>::new(1).unwrap()[0];
        slot.start(Handle::of_event(EventKind::KernelCh, 0, 1), 42, 1000, [5000, 0, 3, 0]);
        slot.kernel_stop(1, 5500);
        slot.stop_untimed(1);
        let mut assembly = Assembly::default();
        assembly.set_scale(1.0, true);
        assembly.follow_clocks(true);
        assembly.begin_round(9000);
        let event = slot.read(1).unwrap();
        assert_eq!((assembly.told_stamps(&event), assembly.latest_stop(&event)), (Some((5000, 5500)), 9000));
        assert!(assembly.clocks.as_ref().is_some_and(|clocks| clocks.stamps.is_empty()));
        slot.stop(1, 1200);
        let event = slot.read(1).unwrap();
        assert_eq!((assembly.told_stamps(&event), assembly.latest_stop(&event)), (Some((5000, 5500)), 1200));
        assert!(assembly.clocks.is_some_and(|clocks| !clocks.stamps.is_empty()));
    }
}
