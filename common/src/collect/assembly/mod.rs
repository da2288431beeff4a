//! Puts operations and transfers of one communicator together from the events that the readers tell.
//!
//! A child may be read before its parent (another thread's block) and long after it (the parent's window was taken
//! apart). So parents are found by handle: among those known, else in the slot that the handle names.

mod children;
mod launches;
mod listening;
mod settling;
mod steps;

pub(crate) use self::settling::Limits;
use self::settling::judge;
use crate::clock::gpu::GpuClock;
use crate::clock::gpu_track::GpuTrack;
use crate::collect::in_step::InStep;
use crate::collect::operations::Operations;
use crate::collect::pending_calls::{Call, PendingCalls};
use crate::collect::proxies::Proxies;
use crate::collect::pulse;
use crate::event::Timed;
use crate::event::handle::Handle;
use crate::event::kind::Kind;
use crate::launch::lag::Lag;
use crate::operation::kernels::Kernels;
use crate::operation::verdict::{Cause, Judged};
use crate::operation::{Operation, moment};
use crate::record::payload::OfCall;
use crate::record::pool::Pool;
use crate::record::slot::Recorded;
use crate::record::window::WINDOWS;
use crate::sums::round_sums::Sent;
use std::collections::{BTreeMap, VecDeque};

/// Places that are kept at hand when few are needed.
const FEW: usize = 256;

/// The state of one communicator's operations.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// Index of the communicator's context: what lies in others' windows is not looked at.
    index: u32,
    rank: i32,
    operations: Operations,
    proxies: Proxies,
    calls: PendingCalls,
    /// PendingCalls that nothing will follow.
    invisible: u64,
    orphans: u64,
    steps: InStep,
    kernels: Kernels,
    /// PendingCalls so far that NCCL launches without telling of it.
    silent: u64,
    /// How events' clock runs, where somebody wants to know when operations ran.
    events_track: Option<GpuTrack>,
    /// How late stamps came, and how many kernel channels are to be told of.
    lag: Lag,
    /// Stamps are not used, whatever they say.
    ignores_stamps: bool,
    /// News of launches were lost, since the collector did not hear them in time.
    news_lost: bool,
    /// Operations with nothing more to come, whose stamps are still in doubt, by order.
    undecided: BTreeMap<u64, Operation>,
    /// Transfers seen since they were last taken.
    sent: Sent,
    clock: GpuClock,
    /// The same for the whole run, where somebody wants to know when on the events' clock operations ran.
    track: Option<GpuTrack>,
    /// When the round began that reads what happened, ticks.
    now: u64,
    nanoseconds_per_tick: f64,
    /// Whether that is more than a guess.
    knows_tick: bool,
    /// Nanoseconds that a stamp counts.
    gpu_tick: u64,
    no_kernel_events: bool,
    /// Operations of which something was heard, each once.
    touched: Vec<u64>,
    /// Those of them that were complete then, where there are many.
    complete: Vec<u64>,
    /// When operations completed, and the latest of their orders.
    completed: VecDeque<(u64, u64)>,
    /// Everything that started before this order has had its time on the GPU.
    witness: u64,
}

impl Assembly {
    /// Whose operations these are.
    pub(crate) fn set_index(&mut self, index: u32) {
        self.index = index;
    }

    /// This process' rank in the communicator, before anything is read.
    pub(crate) fn set_rank(&mut self, rank: i32) {
        self.rank = rank;
    }

    /// The stamps of a kernel channel, nanoseconds of the GPU's clock. None where none were asked for and come all the
    /// same, for another communicator's sake: nobody knows whether NCCL counts all works there ([`InStep`]).
    fn stamps(&self, event: &Recorded) -> Option<(u64, u64)> {
        if self.no_kernel_events || self.ignores_stamps {
            return None;
        }
        let nanoseconds = |stamp: u64| stamp.wrapping_mul(self.gpu_tick.max(1));
        event.kernel().map(|(first, last)| (nanoseconds(first), nanoseconds(last)))
    }

    /// The stamps of a kernel channel that has stopped, which tell of the GPU's clock, too.
    fn told_stamps(&mut self, event: &Recorded) -> Option<(u64, u64)> {
        let stamps = self.stamps(event);
        // when the callback of its start came is not known closely enough, nor, of most, when that of its stop came
        if let (Some(stop), Some((_, last))) = (event.timed_stop(), stamps) {
            if self.knows_tick {
                self.lag.observe(self.clock.observe(stop, last, self.nanoseconds_per_tick));
            }
            if let Some(track) = &mut self.track {
                track.told(stop, last);
            }
        }
        stamps
    }

    /// When a kernel channel stopped that has: at the latest about now, where nobody looked at the clock.
    fn latest_stop(&self, event: &Recorded) -> u64 {
        event.timed_stop().unwrap_or(self.now)
    }

    /// A round begins at that time, in ticks.
    pub(crate) fn begin_round(&mut self, now: u64) {
        self.now = now;
    }

    /// What a tick is worth, and whether that is more than a guess: with a guess, stamps are not held against ticks.
    pub(crate) fn set_scale(&mut self, nanoseconds_per_tick: f64, is_known: bool) {
        self.nanoseconds_per_tick = nanoseconds_per_tick;
        self.knows_tick = is_known;
    }

    /// Whether to follow the GPU's clock over the whole run.
    pub(crate) fn set_track(&mut self, wanted: bool) {
        self.track = wanted.then(GpuTrack::default);
        self.events_track = wanted.then(GpuTrack::of_events);
    }

    /// How the GPU's clock ran, and the events'.
    pub(crate) fn take_tracks(&mut self) -> Option<[GpuTrack; 2]> {
        Some([self.track.take()?, self.events_track.take()?])
    }

    /// How late stamps came since the last call.
    pub(crate) fn take_lag(&mut self) -> Lag {
        std::mem::take(&mut self.lag)
    }

    /// All that began before `horizon` has been read.
    pub(crate) fn end_round(&mut self, horizon: u64) {
        for (operation, lost) in self.proxies.end_round(horizon) {
            self.steps_lost(operation, lost, None);
        }
    }

    /// Why the GPU's stamps are not believed, if that is so.
    pub(crate) fn out_of_step(&self) -> Option<Cause> {
        self.steps.cause()
    }

    /// The transfers seen since the last call.
    pub(crate) fn take_sent(&mut self) -> Sent {
        std::mem::take(&mut self.sent)
    }

    /// PendingCalls that nothing followed, and children without a parent, since the last call.
    pub(crate) fn take_losses(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.invisible), std::mem::take(&mut self.orphans))
    }

    /// True when nothing is under way and nothing is in doubt, as far as can be told without waiting.
    pub(crate) fn looks_done(&self) -> bool {
        let complete = |operation: &Operation| operation.is_complete(operation.kernel(&self.kernels));
        self.undecided.is_empty() && self.steps.has_no_doubts() && self.operations.iter().all(complete)
    }

    /// True while the end of an operation, as far as it can be told without waiting, is still to come.
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

    /// Operations of which something was heard since the last call, with what is known of their stamps.
    pub(crate) fn touched(&mut self, mut each: impl FnMut(&mut Operation, Judged)) {
        let many = self.is_crowded();
        let Self { touched, complete, operations, steps, clock, nanoseconds_per_tick, kernels, .. } = self;
        if !many {
            complete.clear();
            complete.shrink_to(FEW);
        }
        for &handle in touched.iter() {
            pulse::beat();
            if let Some(operation) = operations.get_mut(handle) {
                operation.heard = false;
                let kernel = operation.kernel(kernels);
                let verdict = judge(steps, clock, *nanoseconds_per_tick, operation);
                let unheard = kernels.cause_of_silence(self.news_lost);
                each(operation, Judged { verdict, kernel, unheard });
                if many && operation.is_complete(kernel) {
                    complete.push(handle);
                }
            }
        }
        touched.clear();
        touched.shrink_to(FEW);
    }

    /// Whether the GPU's times are to come at all.
    pub(crate) fn set_kernel_events(&mut self, asked: bool) {
        self.no_kernel_events = !asked;
    }

    /// Whether a time without the GPU's is final: none is to come.
    pub(crate) fn is_without_gpu(&self) -> bool {
        self.no_kernel_events
    }

    /// How its operations are timed, besides.
    pub(crate) fn time_by(&mut self, timed: &Timed) {
        self.gpu_tick = timed.gpu_tick;
        if timed.launches {
            self.kernels.may_report_launches();
        }
    }

    /// Operations or calls from that order on may be missing.
    pub(crate) fn lost_from(&mut self, order: u64) {
        self.steps.condemn(order, Cause::Dropped);
    }

    /// A living event of this communicator and of the wanted kind.
    fn living(&self, pool: &Pool, handle: u64, wanted: impl Fn(Kind) -> bool) -> Option<Recorded> {
        let handle = Handle::parse(handle)?;
        let (slot, block) = pool.find(handle)?;
        let event = slot.read(handle.generation())?;
        (block.window() / WINDOWS == self.index && wanted(event.kind)).then_some(event)
    }

    fn operation_begun(&mut self, pool: &Pool, event: &Recorded) {
        let mut operation = Operation::new(event);
        if !self.steps.seen(operation.order) {
            return;
        }
        let mut call = self.calls.remove(event.parent);
        if call.is_none()
            && let Some(event) = self.living(pool, event.parent, |kind| matches!(kind, Kind::CollApi | Kind::P2pApi))
        {
            self.call_begun(&event);
            call = self.calls.remove(event.handle);
        }
        operation.not_begun = operation.not_begun.max(call.and_then(|call| moment(call.time)));
        if call.is_some_and(|call| !call.captured) && !self.no_kernel_events {
            self.steps.launched(operation.order);
        }
        self.steps.clear(event.parent);
        let is_skipped = event.kind == Kind::Skipped;
        let function = (!is_skipped).then_some(operation.function);
        self.kernels.begun(operation.first_of_kernel(), operation.distance, event.handle, function);
        if is_skipped {
            return;
        }
        if operation.peer() == Some(self.rank) && !self.no_kernel_events {
            self.steps.suspect(operation.order, event.handle, false, Cause::ToOneself);
        }
        self.lag.began(operation.channels);
        self.operations.insert(event.handle, operation);
    }

    fn call_begun(&mut self, event: &Recorded) {
        let call = OfCall::unpack(event.payload());
        let (OfCall { function, captured, silent, .. }, order) = (call, call.place.order);
        if captured {
            self.steps.captured(order);
        }
        if !self.steps.seen(order) {
            return;
        }
        if silent {
            let operation = Operation::of_call(event, &call, self.silent);
            self.silent += 1;
            self.kernels.begun(operation.first_of_kernel(), operation.distance, event.handle, Some(function));
            self.steps.condemn(order, Cause::Unfollowed(function));
            self.operations.insert(event.handle, operation);
            return;
        }
        self.calls.insert(event.handle, Call { order, time: event.start, captured });
        if event.kind == Kind::CollApi && !self.no_kernel_events {
            self.steps.suspect(order, event.handle, captured, Cause::Unfollowed(function));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::mapping::Mapping;
    use crate::record::slot::Slot;

    #[test]
    fn an_untimed_stop_tells_nothing_of_the_gpus_clock_and_is_as_late_as_the_round() {
        let slot = &Mapping::<Slot>::new(1).unwrap()[0];
        slot.start(Handle::of_event(Kind::KernelCh, 0, 1), 42, 1000, [5000, 0, 3, 0]);
        slot.kernel_stop(1, 5500);
        slot.stop_untimed(1);
        let mut assembly = Assembly::default();
        assembly.set_scale(1.0, true);
        assembly.set_track(true);
        assembly.begin_round(9000);
        let event = slot.read(1).unwrap();
        assert_eq!((assembly.told_stamps(&event), assembly.latest_stop(&event)), (Some((5000, 5500)), 9000));
        assert!(assembly.track.as_ref().is_some_and(GpuTrack::is_empty));
        slot.stop(1, 1200);
        let event = slot.read(1).unwrap();
        assert_eq!((assembly.told_stamps(&event), assembly.latest_stop(&event)), (Some((5000, 5500)), 1200));
        assert!(assembly.track.is_some_and(|track| !track.is_empty()));
    }
}
