//! How one GPU's clock ran relative to the events' clock over a whole run. The result maps the GPU's stamps to
//! Score-P's time.
//!
//! Two kinds of pairs limit the time of a stamp. NCCL's callback reports a stamp after the GPU took it, so the stamp
//! lies at or before the callback. A kernel begins after it was enqueued, so the stamp of its begin lies at or after
//! the enqueue. Of both kinds, the closest pair of each stretch of time is kept (`lowest`). The drift of the clocks is
//! limited, so each pair bounds all stamps, and near stamps closely (`bound`).
//!
//! The drift is estimated in two ways, because callbacks that come ever later look like drift, and so do enqueues that
//! come ever earlier:
//!
//! - The certain bounds (`corridor`) allow every drift that the callbacks and the enqueues together leave possible from
//!   one part of the run to the next, plus the change by temperature within a part. Where too few parts show that, they
//!   allow the most that clocks drift.
//! - The mapping itself is likely, not certain. It follows the trend of one side, usually through the callbacks that
//!   lie on their bound: the best of many callbacks comes a microsecond late, while an enqueue may come any time before
//!   the begin.

mod bound;
mod corridor;
mod drift;
mod lowest;
mod mapping;
mod straight;
#[cfg(test)]
mod tests;

use bound::Bound;
pub(crate) use corridor::Corridor;
use lowest::{Lowest, LowestPoint};
pub use mapping::GpuMapping;
use straight::Sides;

/// Change of the drift by temperature, on top of the measured drift.
pub(crate) const WANDER: f64 = 1e-6;

/// Most that the clocks may drift apart. A length in stamps and its length in ticks differ by no more than that.
const MOST_DRIFT: f64 = 100e-6;

/// Most that the stamps and the events of one GPU drift apart. Both are times of one timer: over 5 s of an H200, they
/// drifted 0.03 ppm apart, by CUPTI's kernels (docs/score-p.md). CUDA gives the milliseconds between two events in 24
/// bits, which may round off a 30 millionth of them.
const ONE_TIMER: f64 = 0.1e-6;

/// Number of parts of the run, of [`lowest::PARTS`], that need bounds from both sides before they show how the drift
/// changes.
const ENOUGH_PARTS: usize = 4;

/// The clocks of a track.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TrackClocks {
    /// That of NCCL's stamps, against Score-P's. The mapping follows the callbacks.
    #[default]
    Stamps,
    /// That of CUDA's events, against Score-P's. [`GpuMapping::settled`] says what the mapping follows: the library asks
    /// for events now and then, any time after they happened, but most happen as soon as they are enqueued.
    Events,
    /// That of the events against that of the stamps.
    OneTimer,
}

/// Pairs known of one GPU's clock.
#[derive(Debug, Default, Clone)]
pub struct GpuTrack {
    clocks: TrackClocks,
    told: Lowest,
    /// Mirrored: both clocks run backwards here, so the last moment before a begin is the first one after it.
    enqueued: Lowest,
}

impl GpuTrack {
    /// Makes the track of the clock of CUDA's events.
    pub fn of_events() -> Self {
        Self { clocks: TrackClocks::Events, ..Self::default() }
    }

    /// Makes the track of the clock of CUDA's events against that of NCCL's stamps, whose nanoseconds stand in the
    /// place of ticks.
    pub fn of_one_timer() -> Self {
        Self { clocks: TrackClocks::OneTimer, ..Self::default() }
    }

    /// Adds a callback at `ticks` that reported `stamp`: the GPU had taken the stamp before.
    pub fn told(&mut self, ticks: u64, stamp: u64) {
        self.told.add(LowestPoint { stamp, ticks });
    }

    /// Adds a kernel that was enqueued at `ticks` and began at `stamp`: not before it was enqueued.
    pub fn enqueued(&mut self, ticks: u64, stamp: u64) {
        self.enqueued.add(LowestPoint { stamp: !stamp, ticks: !ticks });
    }

    /// Returns whether the track has no callback.
    pub fn is_empty(&self) -> bool {
        self.told.anchors().is_empty()
    }

    /// Returns the mapping, once the run is over; `None` without callbacks, or where `nanoseconds_per_tick` is no
    /// positive number. Stamps count nanoseconds.
    pub fn mapping(&self, nanoseconds_per_tick: f64) -> Option<GpuMapping> {
        self.mapping_by(nanoseconds_per_tick, |nominal| self.likely_drift(nominal))
    }

    /// Returns the mappings of two clocks of one timer, which drift alike, as [`GpuTrack::mapping`] does. Anchors show the
    /// drift where both sides of a clock are within `late` nanoseconds of each other.
    pub fn mappings(clocks: [&Self; 2], late: f64, nanoseconds_per_tick: f64) -> [Option<GpuMapping>; 2] {
        let sides: Vec<Sides> = clocks.iter().filter_map(|track| Sides::new(&track.told, &track.enqueued)).collect();
        let rates = straight::rates(&sides, slopes(1.0 / nanoseconds_per_tick, [-MOST_DRIFT, MOST_DRIFT]));
        clocks.map(|track| {
            track.mapping_by(nanoseconds_per_tick, |nominal| track.drift_by_anchors((&sides, rates), late, nominal))
        })
    }

    /// Returns the mapping, given a function from the ticks per stamp without drift to the least and the most drift.
    fn mapping_by(&self, nanoseconds_per_tick: f64, drift: impl FnOnce(f64) -> [f64; 2]) -> Option<GpuMapping> {
        let nominal = self.nominal(nanoseconds_per_tick)?;
        let likely = slopes(nominal, drift(nominal));
        let [latest, earliest] = [&self.told, &self.enqueued].map(|lowest| Bound::new(lowest.anchors(), likely));
        let corridor = self.corridor(nominal);
        Some(GpuMapping::new([latest, earliest], corridor, nanoseconds_per_tick))
    }

    /// Returns the bounds of the mapping alone, which take a third of its memory.
    pub(crate) fn bounds(&self, nanoseconds_per_tick: f64) -> Option<Corridor> {
        self.nominal(nanoseconds_per_tick).map(|nominal| self.corridor(nominal))
    }

    /// Returns the ticks per stamp without drift; `None` where there is no mapping.
    fn nominal(&self, nanoseconds_per_tick: f64) -> Option<f64> {
        let is_known = nanoseconds_per_tick.is_finite() && nanoseconds_per_tick > 0.0;
        (is_known && !self.is_empty()).then(|| 1.0 / nanoseconds_per_tick)
    }

    /// Returns the bounds that allow every possible drift.
    fn corridor(&self, nominal: f64) -> Corridor {
        let corridor = |drift| Corridor::new(&self.told, &self.enqueued, slopes(nominal, drift));
        let most_drift = self.most_drift();
        let widest = corridor([-most_drift, most_drift]);
        let shown = widest.slopes(&self.told, ENOUGH_PARTS).map(|slopes| slopes.map(|slope| slope / nominal - 1.0));
        match shown {
            Some([least, most]) if least <= most_drift && most >= -most_drift => {
                corridor([(least - WANDER).max(-most_drift), (most + WANDER).min(most_drift)])
            }
            _ => widest,
        }
    }

    /// Returns the most that the clocks of this track may drift apart.
    fn most_drift(&self) -> f64 {
        if self.clocks == TrackClocks::OneTimer { ONE_TIMER } else { MOST_DRIFT }
    }

    /// Returns the track of the stamps' clock against that of the events, where this is that of the events against that
    /// of the stamps.
    pub fn reversed(&self) -> Self {
        let mut reversed = Self::of_one_timer();
        self.told.anchors().iter().for_each(|&LowestPoint { stamp, ticks }| reversed.enqueued(stamp, ticks));
        self.enqueued.anchors().iter().for_each(|&LowestPoint { stamp, ticks }| reversed.told(!stamp, !ticks));
        reversed
    }

    /// Adds what another track knows of the same clock.
    pub fn join(&mut self, other: &Self) {
        other.told.anchors().iter().for_each(|&anchor| self.told.add(anchor));
        other.enqueued.anchors().iter().for_each(|&anchor| self.enqueued.add(anchor));
    }
}

/// Returns the least and the most ticks per stamp for the least and the most drift.
fn slopes(nominal: f64, drift: [f64; 2]) -> [f64; 2] {
    drift.map(|drift| nominal * (1.0 + drift))
}
