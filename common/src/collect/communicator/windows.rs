//! Closes and finishes the windows of a communicator.

use super::FollowedCommunicator;
use super::listening::Listeners;
use crate::collect::course::Course;
use crate::config::Regression;
use crate::figures::Figures;
use crate::figures::series::WindowTotals;
use crate::record::grace::Graces;
use crate::record::recorder::Recorder;
use crate::record::window::{WINDOWS, WindowState};
use crate::sums::rate::{FittedLine, Rate};
use crate::sums::run_sums::CommunicatorRank;
use crate::sums::window_sums::Traffic;

/// Number of blocks from which on a window is closed when memory runs short.
const SOME_BLOCKS: u32 = if cfg!(loom) { u32::MAX } else { 16 };
/// Longest time for which a closed window waits for its events when memory runs short, nanoseconds.
const PRESSED: u64 = 1_000_000_000;
/// Time for which a destroyed communicator is kept for late events, in settling times.
const LINGER: f64 = 120.0;

impl FollowedCommunicator {
    /// Goes on with closing windows. Must follow [`FollowedCommunicator::read`], which decides whether an event is
    /// still waited for; is called again when a grace period has begun.
    pub(crate) fn close(&mut self, course: Course<'_>, graces: &mut Graces, figures: &mut Figures) {
        let recorder = course.recorder;
        let (Some(context), Some(rank)) = (recorder.contexts.at(self.id.index()), self.known()) else { return };
        let ended = self.ended.is_some();
        let [settles, lingers] = [1.0, LINGER].map(|times| self.has_ended_within(times, course, figures));
        let deadline = (recorder.settings.deadline_seconds * 1e9) as u64;
        let deadline = if recorder.pool.is_pressed() { deadline.min(PRESSED) } else { deadline };
        let patience = if ended && !lingers { 0 } else { deadline };
        for index in 0..WINDOWS {
            let window = context.window(index);
            let place = index as usize;
            // late children still join the window that fills, as long as any may come
            if ended && (!lingers || !settles && self.is_idle()) {
                context.forget();
                window.change(WindowState::Filling, WindowState::Closing);
            }
            // read before the close: a window that is ready may fill again at any time
            let opened = window.opened();
            let mut listeners = Listeners { assembly: &mut self.assembly, standing: self.standing.as_deref_mut() };
            if self.readers[place].close(&recorder.pool, window, patience, graces, &mut listeners) {
                self.transfers.read(rank, place, self.assembly.take_sent(), figures);
                self.transfers.close(place, opened);
            }
        }
        figures.totals.steps(rank, self.assembly.take_states());
    }

    /// Returns whether the communicator ended less than this many settling times ago and its late events are waited
    /// for.
    fn has_ended_within(&self, times: f64, course: Course<'_>, figures: &Figures) -> bool {
        let ticks = figures.ticks(times * course.recorder.settings.settle_seconds);
        self.ended.is_some_and(|ended| !course.hasty && course.now < ended.saturating_add(ticks))
    }

    /// Closes the window that fills if it is old, or if memory runs short. Callbacks close full and old windows, but no
    /// callback may come for a while.
    pub fn close_old_window(&self, recorder: &Recorder, now: u64, most_ticks: u64) {
        let Some((context, _)) = recorder.contexts.find(self.id.raw()) else { return };
        // asked once: a callback may go on to the next window meanwhile, which is not old
        let filling = context.filling();
        let window = context.window(filling);
        let is_old = window.blocks() > 0 && now.saturating_sub(window.opened()) > most_ticks.saturating_mul(2);
        // many communicators that fill their windows could take up all memory before any window is full
        let is_held_back = window.blocks() >= SOME_BLOCKS && recorder.pool.is_pressed();
        if is_old || is_held_back {
            recorder.close(context, filling, now);
        }
    }

    /// Finishes the windows that were read to their end and whose transfers were all served.
    pub(super) fn finish_windows(&mut self, rank: CommunicatorRank, regression: Regression, figures: &mut Figures) {
        let horizon = if self.over { u64::MAX } else { self.horizon };
        for (traffic, opened) in self.transfers.serve(rank, horizon, figures) {
            self.finish_window(rank, (traffic, opened), regression, figures);
        }
    }

    /// Fits the traffic of a window, opened at `opened`, and adds it to the figures, the timeline and the series.
    fn finish_window(
        &mut self,
        rank: CommunicatorRank,
        (mut traffic, opened): (Traffic, u64),
        regression: Regression,
        figures: &mut Figures,
    ) {
        figures.totals.windows += 1;
        for ((peer, channel), services) in traffic.take_channels() {
            let fit = FittedLine::of(&services, regression, figures.nanoseconds_per_tick);
            if let Some(latency_us) = fit.and_then(|fit| fit.latency_us) {
                figures.channel_window((rank, peer, channel), latency_us);
            }
        }
        for (peer, pair) in traffic.sums() {
            let rate = Rate::of(&pair, regression, figures.nanoseconds_per_tick);
            if let (Some(timeline), Some(peer)) = (&mut figures.timeline, peer) {
                timeline.window(self.place.flatten(), peer, &pair, rate);
            }
            if let Some(peer) = peer {
                figures.window(rank, peer, rate);
            }
            if let Some(series) = self.series {
                let latency_us = rate.fit.and_then(|fit| fit.latency_us);
                let sums = WindowTotals {
                    bytes: pair.bytes,
                    active: pair.active.total(),
                    latency_us,
                    ..WindowTotals::default()
                };
                figures.series.add(series, opened, peer, &sums);
            }
        }
    }
}
