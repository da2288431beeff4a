//! How one GPU's clock ran beside the events' clock over a whole run: where its stamps lie in Score-P's time.
//!
//! A callback tells of a stamp after the GPU made it, so the stamp lies at the callback's time or before; what was
//! enqueued begins at its enqueue or after. Of both, the closest pair of each stretch of time is kept (`lowest`).
//! Clocks drift apart by so much and no more, so each pair bounds all stamps, near ones closely (`bound`).
//!
//! By how much they drift is taken in two ways. Callbacks that come ever later look as a clock that drifts, and so do
//! enqueues that come ever earlier. So certain bounds (`corridor`) grant every drift that the callbacks and the
//! enqueues together leave possible from one part of the run to the next, and what temperature changes within a part;
//! where too few parts show that, the most that clocks drift. The result, which is likely and no more, goes by the
//! trend of one side, through the callbacks that lie on their bound: the best of many comes a microsecond late, while
//! an enqueue may come any time before its begin.

mod bound;
mod corridor;
mod lowest;
#[cfg(test)]
mod tests;

use bound::Bound;
use corridor::Corridor;
use lowest::{Anchor, Lowest};

/// By how much drift changes with temperature, besides the drift that was measured.
pub(crate) const WANDER: f64 = 1e-6;

/// By how much the clocks may drift apart, and by how much a length in stamps and its length in ticks may differ.
const MOST_DRIFT: f64 = 100e-6;

/// Parts of the run, of [`lowest::PARTS`], that must have bounds from both sides before the run shows how drift
/// changes.
const ENOUGH_PARTS: usize = 4;

/// What is known of one GPU's clock.
#[derive(Debug, Default, Clone)]
pub struct GpuTrack {
    /// What was told of came any time after its stamp, but what was enqueued has mostly begun at once: so it is with
    /// events, which are asked for now and then.
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
        let nominal = 1.0 / nanoseconds_per_tick;
        let likely = slopes(nominal, self.likely_drift(nominal));
        let [latest, earliest] = [&self.told, &self.enqueued].map(|lowest| Bound::new(lowest.anchors(), likely));
        let follows_enqueues = self.follows_enqueues && !self.enqueued.anchors().is_empty();
        Some(GpuMapping { latest, earliest, corridor: self.corridor(nominal), follows_enqueues, nanoseconds_per_tick })
    }

    /// Bounds that grant every drift that is possible.
    fn corridor(&self, nominal: f64) -> Corridor {
        let corridor = |drift| Corridor::new(&self.told, &self.enqueued, slopes(nominal, drift));
        let widest = corridor([-MOST_DRIFT, MOST_DRIFT]);
        let shown = widest.slopes(&self.told, ENOUGH_PARTS).map(|slopes| slopes.map(|slope| slope / nominal - 1.0));
        match shown {
            Some([least, most]) if least <= MOST_DRIFT && most >= -MOST_DRIFT => {
                corridor([(least - WANDER).max(-MOST_DRIFT), (most + WANDER).min(MOST_DRIFT)])
            }
            _ => widest,
        }
    }

    /// The least and the most by which the clocks drift, if what follows a stamp closest follows it by chance, and not
    /// ever later.
    fn likely_drift(&self, nominal: f64) -> [f64; 2] {
        let close = if self.follows_enqueues { &self.enqueued } else { &self.told };
        let (drift, change) = close.line().map_or((0.0, MOST_DRIFT), |line| {
            let drift = line.rate / nominal - 1.0;
            let change = WANDER + close.unevenness(line) / nominal;
            // a trend that leaves more open than it explains is none
            if drift.abs() + change <= MOST_DRIFT { (drift, change) } else { (0.0, MOST_DRIFT) }
        });
        [drift - change, drift + change]
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

/// The least and the most ticks per stamp of clocks that drift by so little and so much.
fn slopes(nominal: f64, drift: [f64; 2]) -> [f64; 2] {
    drift.map(|drift| nominal * (1.0 + drift))
}

/// From one GPU's stamps to Score-P's ticks.
#[derive(Debug, Clone)]
pub struct GpuMapping {
    latest: Bound,
    /// Mirrored, as [`GpuTrack::enqueued`].
    earliest: Bound,
    /// The same with every drift that is possible.
    corridor: Corridor,
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
        self.corridor.at(stamp)
    }

    /// The stamps that the enqueues and the callbacks themselves are of, with their bounds, where there are any; in no
    /// order.
    pub fn bounded(&self) -> impl Iterator<Item = (u64, [u64; 2])> {
        self.corridor.stamps().filter_map(|stamp| Some((stamp, self.bounds(stamp)?)))
    }

    /// Whether the enqueues and the callbacks contradict each other at any of their own stamps: they are not of one
    /// clock.
    pub fn is_contradictory(&self) -> bool {
        self.corridor.is_contradictory()
    }

    /// How far the result can be off, nanoseconds: what the enqueues and the callbacks leave open; `None` as for
    /// [`GpuMapping::bounds`].
    pub fn error(&self, stamp: u64) -> Option<f64> {
        let off = self.bounds(stamp)?.map(|bound| bound.abs_diff(self.ticks(stamp)));
        Some(off[0].max(off[1]) as f64 * self.nanoseconds_per_tick)
    }
}
