//! Launches that CUDA events time: the collector learns their outcomes and passes them to their communicators.

use super::Collector;
use super::launch_report::LaunchReport;
use crate::base::{log, notes};
use crate::clock::{self, CLOCK};
use crate::launch::times::{self, OfKernel};
use crate::launch::{self, KernelId, Untimed};
use crate::record::context::switching;
use crate::record::recorder::Recorder;
use std::sync::Once;

/// Largest number of launch reports kept for communicators that the collector does not know yet.
const MOST_HEARD: usize = 4096;

impl Collector {
    /// Passes the outcomes of launches to their communicators.
    pub(super) fn look_at_launches(&mut self) {
        let Self { recorder, launches, share, in_one_queue, heard, .. } = self;
        if !recorder.launches.are_timed() && !launches.are_awaited() && heard.is_empty() {
            return;
        }
        share.look(&recorder.share, clock::monotonic(), *in_one_queue);
        // all that a recording has learnt by this time is among the news
        let known = CLOCK.now();
        self.take_news();
        let Self { recorder, launches, figures, heard, .. } = self;
        if figures.knows_tick {
            launches.look(&recorder.launches, known, figures.nanoseconds_per_tick, |outcome| {
                if let Ok(time) = outcome.time {
                    launch::report(outcome.number, time);
                }
                heard.push(LaunchReport::of(outcome));
            });
            heard.extend(
                launches.take_reached().into_iter().map(|kernel| LaunchReport { kernel, news: OfKernel::Reached }),
            );
        }
        self.hand_on();
        self.tell_failure();
    }

    /// Takes in the news from the launching threads.
    fn take_news(&mut self) {
        let Self { recorder, launches, heard, .. } = self;
        times::take_news(&recorder.launches, launches, |kernel, news| heard.push(LaunchReport { kernel, news }));
    }

    /// Holds the replays of graphs that were read against the times of their events that were read.
    pub(super) fn settle_replays(&mut self) {
        if self.recorder.settings.graph_events > 0 {
            // of launches that were captured while the round read their first replays
            self.take_news();
            self.hand_on();
        }
        let Self { recorder, communicators, launches, figures, heard, .. } = self;
        let has_failed = recorder.launches.driver().is_some_and(|driver| driver.has_failed());
        let untimed = if has_failed { OfKernel::GivenUp(Untimed::CudaFailed) } else { OfKernel::Missed };
        let may_lack = recorder.launches.have_lost_news() || switching::has_any_switched();
        for communicator in communicators.values_mut() {
            let context = communicator.id();
            let of_kernel = |order, news| LaunchReport { kernel: KernelId { context, order }, news };
            for replay in communicator.take_replays() {
                if !launches.replayed(context, replay) {
                    heard.push(of_kernel(replay.first, untimed));
                }
            }
            // asked after the reports were read: a report lost before the times were read is known now
            let lost = recorder.contexts.at(context.index()).is_none_or(|context| context.lost_from().is_some());
            let (horizon, scale) = (communicator.horizon(), figures.nanoseconds_per_tick);
            launches.settle_replays((context, !lost && !may_lack), horizon, scale, |replay, time| {
                if let Some(time) = time {
                    launch::report(replay.number, time);
                }
                heard.push(of_kernel(replay.first, time.map_or(untimed, |time| OfKernel::Ran(Ok(time)))));
            });
        }
        self.hand_on();
    }

    /// Ends the launches of a pool's generation: looks at them for the last time, and destroys their events.
    pub(super) fn close_launches(&mut self, pool: u32, generation: u32) {
        // may come before the first round
        self.know_scale();
        self.look_at_launches();
        if self.launches.have_readings() {
            // reads the replays that the times belong to
            self.round(false);
        }
        // whoever asked gave the generation up and went on; a look drops its launches
        if self.recorder.launches.is_of_before(pool as usize, generation) {
            return;
        }
        let heard = &mut self.heard;
        let left = self.launches.close(pool, &self.recorder.launches, |outcome| heard.push(LaunchReport::of(outcome)));
        self.close_graphs(pool);
        self.hand_on();
        self.recorder.launches.close(pool, generation, left);
    }

    /// Gives up the replays of a CUDA context's graphs that have no time yet.
    fn close_graphs(&mut self, pool: u32) {
        for (context, replay) in self.launches.close_graphs(pool) {
            let kernel = KernelId { context, order: replay.first };
            self.heard.push(LaunchReport { kernel, news: OfKernel::Missed });
        }
    }

    /// Passes the reports to their communicators. A communicator may launch before the collector knows it: its reports
    /// wait.
    pub(super) fn hand_on(&mut self) {
        for heard in std::mem::take(&mut self.heard) {
            let LaunchReport { kernel: KernelId { context, order }, news } = heard;
            match self.communicators.get_mut(&context.index()).filter(|found| found.id() == context) {
                Some(communicator) => communicator.heard(order, news, &mut self.figures),
                None => {
                    let is_to_come = self.recorder.contexts.find_for_child(context.raw()).is_some();
                    if is_to_come && self.heard.len() < MOST_HEARD {
                        self.heard.push(heard);
                    } else if is_to_come {
                        self.recorder.launches.lose_news();
                    }
                }
            }
        }
    }

    /// Warns once that a CUDA call failed, after which no more CUDA calls are made.
    pub(super) fn tell_failure(&mut self) {
        let failure = || self.recorder.launches.driver()?.failure();
        if self.told_failure {
            return;
        }
        if let Some(failure) = failure() {
            self.told_failure = true;
            let line = format!(
                "CUDA's events time nothing from here on: {failure}. Operations without a GPU time are counted in \
                 nccl_untimed_cuda_failed; NCCL_SCOREP_GPU_TIME=stamps does without events"
            );
            log::warn(&line);
            notes::add(line);
        }
    }

    /// Warns once where events in CUDA graphs are asked for and the driver has none.
    pub(super) fn tell_of_graphs(&self) {
        static TOLD: Once = Once::new();
        let Recorder { launches, settings, .. } = self.recorder;
        if settings.graph_events > 0 && launches.driver().is_some_and(|driver| !driver.records_in_graphs()) {
            TOLD.call_once(|| {
                let line = "NCCL_SCOREP_GRAPH_EVENTS times nothing: this CUDA driver records no events in graphs. CUDA \
                            11.1 and later do";
                log::warn(line);
                notes::add(line.into());
            });
        }
    }

    /// Asks for no stamps while NCCL's thread that hands them on does not keep up.
    pub(super) fn pause_stamps(&mut self) {
        let lag = std::mem::take(&mut self.figures.lag);
        let Recorder { launches, stamps, settings, .. } = self.recorder;
        let has_driver = launches.driver().is_some_and(|driver| !driver.is_over());
        let has_events =
            settings.gpu_time.is_shared() && launches.are_timed() && has_driver && !launches.are_replayed();
        self.pause.look(stamps, lag, clock::monotonic(), has_events);
    }
}
