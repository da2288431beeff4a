//! Progress of the process' ranks through their communicators' collectives, for the status file alone
//! (`NCCL_SCOREP_STATUS`): marks at numbers of collectives, with the time that the GPU spent outside of NCCL.
//!
//! A mark is exact or it is not made. A moment of the GPU is passed when nothing more can begin before it: operations
//! of a communicator run on the GPU one after the other, so none that is still to come begins before the end of the
//! last one that is settled. Whatever makes the times of the GPU incomplete is a **gap**: an operation without such a
//! time, a lost event, an operation that begins before a moment that was passed. All marks go then, and others follow
//! from the first operation on that is called behind the gap.

mod begun;
mod busy;
mod communicator;
mod marks;

use crate::config::Settings;
use crate::figures::missing::Missing;
use crate::nvlink;
use crate::operation::kernels::KernelTiming;
use crate::operation::verdict::JudgedTime;
use crate::operation::{Operation, Timing};
use crate::status::progress::ProgressMark;
pub(crate) use begun::BegunOperation;
use begun::BegunOperations;
use busy::BusyTime;
use communicator::{CommunicatorProgress, SettledOperation, Unsettled};
use marks::{Mark, Point};
use std::collections::BTreeMap;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ProcessProgress {
    /// Ranks of communicators, by the index of their contexts.
    communicators: BTreeMap<u32, CommunicatorProgress>,
    /// Operations of communicators that have ended, as long as a mark may be of a time before their last ones.
    ended: Vec<BegunOperations>,
    /// Operations and bytes of those that have ended before.
    past: [u64; 2],
    busy: BusyTime,
    /// Operations that are called up to this time, in ticks, may have run beside others that nothing is known of.
    gap: u64,
    /// Whether times can be incomplete without a sign of it, to the end of the process.
    is_blind: bool,
    /// Events dropped so far.
    dropped: u64,
}

impl ProcessProgress {
    /// Makes the progress that these settings want. Operations that are left out (`NCCL_SCOREP_MIN_BYTES`) use the GPU
    /// unseen, so there are no marks then.
    pub(crate) fn wanted(settings: &Settings) -> Option<Self> {
        (settings.status.is_some() && settings.min_bytes == 0).then(Self::default)
    }

    /// Adds a rank of a communicator. Once the process has communicators on more than one GPU, there are no marks: the
    /// time in which no operation is on any of them is nobody's own time.
    pub(crate) fn open(&mut self, index: u32, now: u64) {
        self.communicators.insert(index, CommunicatorProgress::behind(self.busy.latest()));
        if nvlink::has_several_gpus() && !std::mem::replace(&mut self.is_blind, true) {
            self.break_off(now);
        }
    }

    /// Adds the operations that a communicator has begun. `is_complete` says whether all are known.
    pub(crate) fn begun(&mut self, index: u32, begun: Vec<BegunOperation>, is_complete: bool, now: u64) {
        let Some(communicator) = self.communicators.get_mut(&index) else { return };
        // without all of them there are no marks
        if is_complete {
            communicator.begun.extend(begun);
        } else if communicator.is_complete {
            communicator.is_complete = false;
            self.break_off(now);
        }
    }

    /// Adds an operation of which nothing more will come.
    pub(crate) fn settled(&mut self, index: u32, operation: &Operation, judged: JudgedTime, now: u64) {
        let Some(communicator) = self.communicators.get_mut(&index) else { return };
        let stamps = match judged.timing(operation) {
            Timing::Stamps { start, stop } => Some((start, stop)),
            _ => None,
        };
        let (events, seen) = match judged.kernel.when {
            KernelTiming::Timed(time) => (Some((time.start, time.stop)), operation.active.max(time.learnt)),
            _ => (None, operation.active),
        };
        let spans = [stamps, events];
        communicator.settled.push(SettledOperation { order: operation.order, called: operation.start, seen, spans });
        if !self.busy.add(spans, operation.start > self.gap) {
            self.break_off(now);
        }
    }

    /// Names a communicator. Ranks of one communicator have a GPU each, also where no driver names the GPUs: a process
    /// with such ranks has no marks.
    pub(crate) fn name(&mut self, index: u32, comm: u64, now: u64) {
        let Some(communicator) = self.communicators.get_mut(&index) else { return };
        if communicator.comm.replace(comm) == Some(comm) {
            return;
        }
        if self.communicators.iter().any(|(&other, one)| other != index && one.comm == Some(comm)) {
            self.is_blind = true;
            self.break_off(now);
        }
    }

    /// Notes the oldest operation of a communicator that is not settled, by the order of its kernel's first operation
    /// and the time of its call. All operations that were called before `horizon` were read.
    pub(crate) fn advance(&mut self, index: u32, oldest: Option<(u64, u64)>, horizon: u64, now: u64) {
        let Some(communicator) = self.communicators.get_mut(&index) else { return };
        let (clock, latest) = (self.busy.clock(), self.busy.latest());
        let unsettled = Unsettled { oldest, horizon };
        let is_whole =
            communicator.advance(unsettled, latest, clock, |point| self.busy.point(Point { index, ..point }));
        if !is_whole {
            self.break_off(now);
        }
    }

    /// Makes the marks that are known now, at the end of a round.
    pub(crate) fn pass(&mut self, now: u64) {
        let dropped = Missing::of_threads().dropped;
        if std::mem::replace(&mut self.dropped, dropped) != dropped || self.busy.is_full() {
            self.break_off(now);
        }
        let is_known = !self.is_blind && self.communicators.values().all(|one| one.is_complete);
        let Self { communicators, ended, past, busy, .. } = self;
        let until = busy.clock().and_then(|clock| communicators.values().map(|one| one.frontier[clock]).min());
        if let Some(until) = until.filter(|_| is_known) {
            busy.pass(until, |point, own| {
                let begun = communicators.values().map(|one| &one.begun).chain(&*ended);
                let mut called = begun.map(|one| one.before(point.called));
                let called = called.try_fold(*past, |sum, one| one.map(|one| plus(sum, one)));
                if let (Some(communicator), Some([operations, bytes])) = (communicators.get_mut(&point.index), called) {
                    communicator.marks.add(Mark { point, own, operations, bytes });
                }
            });
        }
        let calls = self.communicators.values().filter_map(CommunicatorProgress::oldest_call);
        let oldest = self.busy.oldest_call().into_iter().chain(calls).min();
        if let Some(oldest) = oldest {
            self.communicators.values_mut().for_each(|one| one.begun.forget_before(oldest));
        }
        let is_past =
            |one: &mut BegunOperations| oldest.is_none_or(|oldest| one.last_call().is_none_or(|last| last < oldest));
        for one in self.ended.extract_if(.., is_past) {
            self.past = plus(self.past, one.all());
        }
    }

    /// Removes a rank of a communicator that has ended.
    pub(crate) fn close(&mut self, index: u32, now: u64) {
        if let Some(communicator) = self.communicators.remove(&index) {
            self.busy.forget(index);
            if !communicator.is_complete || !communicator.settled.is_empty() {
                self.break_off(now);
            }
            self.ended.push(communicator.begun);
        }
    }

    /// Returns the stride and the marks, at most `most` of them; (0, none) if none are known. `wall` turns ticks into
    /// times of day.
    pub(crate) fn marks(&self, index: u32, most: usize, wall: impl Fn(u64) -> u64) -> (u64, Vec<ProgressMark>) {
        self.communicators.get(&index).map_or((0, Vec::new()), |one| one.marks.thinned(most, wall))
    }

    /// Returns how many communicators have marks.
    pub(crate) fn marked(&self) -> usize {
        self.communicators.values().filter(|one| !one.marks.is_empty()).count()
    }

    /// Begins anew behind a gap.
    fn break_off(&mut self, now: u64) {
        self.gap = now;
        // in a gap there are no marks that could go
        if self.busy.clock().is_some() {
            self.busy.break_off();
            self.communicators.values_mut().for_each(CommunicatorProgress::break_off);
        }
    }
}

/// Adds operations and bytes.
fn plus(sum: [u64; 2], one: [u64; 2]) -> [u64; 2] {
    [sum[0] + one[0], sum[1].saturating_add(one[1])]
}
