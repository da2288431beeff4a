//! Settles the operations of a communicator that are over, and ends the communicator itself.

use super::FollowedCommunicator;
use super::taking::take;
use crate::collect::assembly::Limits;
use crate::collect::course::Course;
use crate::config::Settings;
use crate::figures::Figures;
use crate::nvlink;
use crate::operation::Operation;
use crate::operation::verdict::{Cause, JudgedTime, StampVerdict};
use crate::record::context::Context;
use crate::record::window::{WINDOWS, WindowState};
use crate::sums::run_sums::CommunicatorRank;

/// Time after an operation's end on the GPU from which everything that started before it is taken to have had its time,
/// in settling times (`NCCL_SCOREP_SETTLE_SECONDS`).
const SILENT: f64 = 20.0;
/// Seconds for which a destroyed communicator waits for the times of its last graphs' replays.
const REPLAYS_SECONDS: f64 = 1.0;
/// Seconds between two settlings of operations.
const SETTLING_SECONDS: f64 = 0.1;

impl FollowedCommunicator {
    /// Settles the operations that are over, after all windows that can be closed were closed.
    pub(crate) fn conclude(&mut self, course: Course<'_>, figures: &mut Figures) {
        let Course { recorder, now, hasty } = course;
        let Some(context) = recorder.contexts.at(self.id.index()) else {
            self.over = true;
            return;
        };
        let Some(rank) = self.known() else { return };
        self.assembly.end_round(self.horizon);
        // asked after the windows were read: losses before any event read in this round are known now
        if let Some(order) = context.lost_from() {
            self.assembly.lost_from(order);
            if let Some(standing) = &mut self.standing {
                standing.lose();
            }
        }
        if recorder.launches.have_lost_news() {
            self.assembly.lose_news();
        }
        let ready = |index| context.window(index).state() == WindowState::Ready;
        let is_ended = self.ended.is_some_and(|ended| {
            let waits = !hasty && now < ended.saturating_add(figures.ticks(REPLAYS_SECONDS));
            !(waits && self.assembly.awaits_replays())
        });
        self.over = is_ended && (0..WINDOWS).all(ready);
        self.finish_windows(rank, recorder.settings.regression, figures);
        let begun = self.standing.as_mut().map(|standing| standing.take_begun());
        if let Some(((begun, is_complete), progress)) = begun.zip(figures.progress.as_mut()) {
            progress.name(self.id.index(), rank.comm, now);
            progress.begun(self.id.index(), begun, is_complete, now);
        }
        self.settle(rank, now, (&recorder.settings, context), figures);
        if self.over {
            self.settle_all(rank, now, figures);
            if let Some((series, ended)) = self.series.zip(self.ended) {
                figures.series.end(series, ended);
            }
            self.give_track(figures);
            if !hasty {
                figures.totals.close(rank, nvlink::close(rank));
            }
            recorder.contexts.release(self.id.index(), self.id.generation());
        }
        figures.totals.sum_up();
    }

    fn settle(
        &mut self,
        rank: CommunicatorRank,
        now: u64,
        (settings, context): (&Settings, &Context),
        figures: &mut Figures,
    ) {
        let quiet = settings.settle_seconds;
        let horizon = self.horizon;
        // counted from the horizon: not all events after it have been read, so silence after it means nothing
        let [quiet, silent, overdue] =
            [quiet, SILENT * quiet, settings.deadline_seconds].map(|ago| horizon.saturating_sub(figures.ticks(ago)));
        let without_stamps = self.assembly.is_without_gpu();
        let certain = without_stamps && !self.assembly.expects_launches();
        self.assembly.touched(|operation, judged| {
            let is_over = operation.looks_done(judged.kernel)
                || operation.is_quiet() && without_stamps && judged.kernel.is_settled();
            // all operations of its kernel began before the kernel ended
            if operation.is_quiet() && certain || is_over && operation.active <= horizon {
                let verdict = if without_stamps { StampVerdict::OutOfStep } else { judged.verdict };
                figures.credit(operation, JudgedTime { verdict, ..judged });
            }
        });
        let (index, place) = (self.id.index(), self.place.flatten());
        let Self { assembly, series, nranks, .. } = self;
        let mut take = |operation: &mut Operation, judged| {
            if let Some(progress) = &mut figures.progress {
                progress.settled(index, operation, judged, now);
            }
            take(operation, judged, (*series, *nranks), (rank, place), figures);
        };
        if assembly.is_crowded() {
            assembly.settle_complete(horizon, &mut take);
        }
        if now < self.next_settling && !assembly.is_overcrowded() {
            return;
        }
        assembly.settle(Limits { quiet, silent, overdue, horizon }, &mut take);
        self.next_settling = now.saturating_add(figures.ticks(SETTLING_SECONDS));
        if let Some(progress) = &mut figures.progress {
            // until the operation of a call is seen, it may run on the GPU unseen
            let called = self.standing.as_ref().and_then(|standing| standing.without_operation());
            let oldest = self.assembly.oldest().into_iter().chain(called).min();
            progress.advance(index, oldest, horizon, now);
        }
        self.take_losses(figures);
        if let Some(standing) = &mut self.standing {
            standing.passed_by(self.assembly.witness());
            standing.distrust(self.assembly.trusted_below());
        }
        if let Some(cause) = self.assembly.out_of_step() {
            context.doubt();
            // whether events time these operations is certain only in the end
            if !self.wants_launches {
                self.tell_out_of_step(rank, cause, figures);
            }
        }
    }

    /// Warns once an operation has stamps that are not used, unless events time operations without stamps.
    fn tell_out_of_step(&self, rank: CommunicatorRank, cause: Cause, figures: &mut Figures) {
        if figures.totals.out_of_step > 0 && !self.assembly.expects_launches() {
            figures.out_of_step(rank.comm, cause);
        }
    }

    fn settle_all(&mut self, rank: CommunicatorRank, now: u64, figures: &mut Figures) {
        let (index, place) = (self.id.index(), self.place.flatten());
        let Self { assembly, series, nranks, .. } = self;
        assembly.end(|operation, judged| {
            if let Some(progress) = &mut figures.progress {
                progress.settled(index, operation, judged, now);
            }
            take(operation, judged, (*series, *nranks), (rank, place), figures);
        });
        if let Some(progress) = &mut figures.progress {
            progress.advance(index, None, self.horizon, now);
            progress.close(index, now);
        }
        self.take_losses(figures);
        // a short run has settled nothing before
        if let Some(cause) = self.assembly.out_of_step() {
            self.tell_out_of_step(rank, cause, figures);
        }
    }

    fn take_losses(&mut self, figures: &mut Figures) {
        let (invisible, orphans) = self.assembly.take_losses();
        figures.totals.invisible += invisible;
        figures.totals.orphans += orphans;
    }
}
