//! How one GPU's clock ran beside the events' clock over a whole run: where its stamps lie in Score-P's time.
//!
//! A callback tells of a stamp after the GPU made it, so the stamp lies at the callback's time or before; what was enqueued begins at
//! its enqueue or after. Of both, the closest pair of each stretch of time is kept (`lowest`). Between them the clocks are believed
//! to drift by so much and no more, so that each pair bounds all stamps, near ones closely (`bound`). The result goes through the callbacks
//! that lie on their bound: the best of many comes a microsecond late, while an enqueue may come any time before its begin.

mod bound;
mod lowest;
#[cfg(test)]
mod tests;

use crate::clock_tree::WANDER;
use bound::Bound;
use lowest::{Anchor, Lowest};

/// By how much the clocks may drift apart, and by how much a length in stamps and its length in ticks may differ.
const MOST_DRIFT: f64 = 100e-6;

/// Parts of the run, of [`lowest::PARTS`], that must have a closest pair of their own before the run shows how drift
/// changes.
const ENOUGH_PARTS: usize = 4;

/// What is known of one GPU's clock.
#[derive(Debug, Default, Clone)]
pub struct GpuTrack {
    /// What was told of came any time after its stamp, but what was enqueued has mostly begun at once: so it is with events, which are asked for now
    /// and then.
    follows_enqueues: bool,
    told: Lowest,
    /// Mirrored: both clocks run backwards in it, so the last moment before a begin is the first after it.
    enqueued: Lowest,
}

impl GpuTrack {
    /// One of the clock of CUDA's events.
    pub fn of_events() -> Self {
        Self { follows_enqueues: true, ..Self::default() }
    }

    /// A callback at `ticks` told of a stamp that the GPU had made before.
    pub fn told(&mut self, ticks: u64, stamp: u64) {
        self.told.add(Anchor { stamp, ticks });
    }

    /// What was enqueued at `ticks` was stamped at its begin: not before it was enqueued.
    pub fn enqueued(&mut self, ticks: u64, stamp: u64) {
        self.enqueued.add(Anchor { stamp: !stamp, ticks: !ticks });
    }

    /// Whether nothing was told.
    pub fn is_empty(&self) -> bool {
        self.told.anchors().is_empty()
    }

    /// The mapping, once all is known; `None` when nothing was told. Stamps count nanoseconds.
    pub fn mapping(&self, nanoseconds_per_tick: f64) -> Option<GpuMapping> {
        let known = nanoseconds_per_tick.is_finite() && nanoseconds_per_tick > 0.0;
        if !known || self.told.anchors().is_empty() {
            return None;
        }
        let close = if self.follows_enqueues { &self.enqueued } else { &self.told };
        let line = close.line();
        let nominal = 1.0 / nanoseconds_per_tick;
        let (drift, change) = line.map_or((0.0, MOST_DRIFT), |line| {
            let drift = line.rate / nominal - 1.0;
            let change = WANDER + close.unevenness(line) / nominal;
            // a trend that leaves more open than it explains is none
            if drift.abs() + change <= MOST_DRIFT { (drift, change) } else { (0.0, MOST_DRIFT) }
        });
        let slopes = [drift - change, drift + change].map(|drift| nominal * (1.0 + drift));
        let by = |slopes| [&self.told, &self.enqueued].map(|lowest| Bound::new(lowest.anchors(), slopes));
        let [latest, earliest] = by(slopes);
        // a drift that few pairs show may be the chance by which they are late
        let is_shown = close.parts() >= ENOUGH_PARTS;
        let granted = by(if is_shown { slopes } else { [1.0 - MOST_DRIFT, 1.0 + MOST_DRIFT].map(|rate| nominal * rate) });
        let follows_enqueues = self.follows_enqueues && !self.enqueued.anchors().is_empty();
        Some(GpuMapping { latest, earliest, granted, follows_enqueues, nanoseconds_per_tick })
    }

    /// One of all that was learnt of a clock in several places.
    pub fn of_all<'a>(tracks: impl IntoIterator<Item = &'a Self>) -> Self {
        tracks.into_iter().fold(Self::default(), |mut all, track| {
            all.follows_enqueues = track.follows_enqueues;
            track.told.anchors().iter().for_each(|&anchor| all.told.add(anchor));
            track.enqueued.anchors().iter().for_each(|&anchor| all.enqueued.add(anchor));
            all
        })
    }
}

/// From one GPU's stamps to Score-P's ticks.
#[derive(Debug, Clone)]
pub struct GpuMapping {
    latest: Bound,
    /// Mirrored, as [`GpuTrack::enqueued`].
    earliest: Bound,
    /// Both again, for bounds that are certain: where the run does not show how drift changes, with the most that
    /// clocks drift.
    granted: [Bound; 2],
    follows_enqueues: bool,
    nanoseconds_per_tick: f64,
}

impl GpuMapping {
    /// Score-P's ticks of a stamp. Never falls as stamps rise.
    pub fn ticks(&self, stamp: u64) -> u64 {
        let enqueued = || self.earliest.ticks(!stamp).map(|mirrored| !mirrored).filter(|_| self.follows_enqueues);
        enqueued().or_else(|| self.latest.ticks(stamp)).unwrap_or(u64::MAX)
    }

    /// The least and the most ticks that the enqueues and the callbacks leave to a stamp; `None` where either is
    /// missing, and where they contradict each other by more than the two ticks that rounding takes.
    pub fn bounds(&self, stamp: u64) -> Option<[u64; 2]> {
        let [latest, earliest] = &self.granted;
        let (least, most) = (!earliest.most(!stamp)?, latest.most(stamp)?);
        (least <= most.saturating_add(2)).then_some([least.min(most), most])
    }

    /// Whether the enqueues and the callbacks contradict each other at any of their own stamps: they are not of one
    /// clock.
    pub fn is_contradictory(&self) -> bool {
        let [latest, earliest] = &self.granted;
        let mut stamps = latest.stamps().chain(earliest.stamps().map(|mirrored| !mirrored));
        let is_bounded = latest.stamps().next().is_some() && earliest.stamps().next().is_some();
        is_bounded && stamps.any(|stamp| self.bounds(stamp).is_none())
    }

    /// How far the result can be off, nanoseconds: what the enqueues and the callbacks leave open; `None` as for
    /// [`GpuMapping::bounds`].
    pub fn error(&self, stamp: u64) -> Option<f64> {
        let off = self.bounds(stamp)?.map(|bound| bound.abs_diff(self.ticks(stamp)));
        Some(off[0].max(off[1]) as f64 * self.nanoseconds_per_tick)
    }
}
