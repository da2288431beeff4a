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
mod lowest;
#[cfg(test)]
mod tests;

use bound::Bound;
use corridor::Corridor;
use lowest::{Anchor, Lowest};

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
enum Clocks {
    /// That of NCCL's stamps, against Score-P's. The mapping follows the callbacks.
    #[default]
    Stamps,
    /// That of CUDA's events, against Score-P's. The mapping follows the enqueues: the library asks for events now and
    /// then, any time after they happened, but most happen as soon as they are enqueued.
    Events,
    /// That of the events against that of the stamps.
    OneTimer,
}

/// Pairs known of one GPU's clock.
#[derive(Debug, Default, Clone)]
pub struct GpuTrack {
    clocks: Clocks,
    told: Lowest,
    /// Mirrored: both clocks run backwards here, so the last moment before a begin is the first one after it.
    enqueued: Lowest,
}

impl GpuTrack {
    /// Makes the track of the clock of CUDA's events.
    pub fn of_events() -> Self {
        Self { clocks: Clocks::Events, ..Self::default() }
    }

    /// Makes the track of the clock of CUDA's events against that of NCCL's stamps, whose nanoseconds stand in the
    /// place of ticks.
    pub fn of_one_timer() -> Self {
        Self { clocks: Clocks::OneTimer, ..Self::default() }
    }

    /// Adds a callback at `ticks` that reported `stamp`: the GPU had taken the stamp before.
    pub fn told(&mut self, ticks: u64, stamp: u64) {
        self.told.add(Anchor { stamp, ticks });
    }

    /// Adds a kernel that was enqueued at `ticks` and began at `stamp`: not before it was enqueued.
    pub fn enqueued(&mut self, ticks: u64, stamp: u64) {
        self.enqueued.add(Anchor { stamp: !stamp, ticks: !ticks });
    }

    /// Returns whether the track has no callback.
    pub fn is_empty(&self) -> bool {
        self.told.anchors().is_empty()
    }

    /// Returns the mapping, once the run is over; `None` without callbacks, or where `nanoseconds_per_tick` is no
    /// positive number. Stamps count nanoseconds.
    pub fn mapping(&self, nanoseconds_per_tick: f64) -> Option<GpuMapping> {
        let known = nanoseconds_per_tick.is_finite() && nanoseconds_per_tick > 0.0;
        if !known || self.told.anchors().is_empty() {
            return None;
        }
        let nominal = 1.0 / nanoseconds_per_tick;
        let likely = slopes(nominal, self.likely_drift(nominal));
        let [latest, earliest] = [&self.told, &self.enqueued].map(|lowest| Bound::new(lowest.anchors(), likely));
        let follows_enqueues = self.clocks == Clocks::Events && !self.enqueued.anchors().is_empty();
        let corridor = self.corridor(nominal);
        Some(GpuMapping {
            latest,
            earliest,
            corridor,
            follows_enqueues,
            nanoseconds_per_tick,
            way: None,
            follows_way: false,
        })
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

    /// Returns the least and the most drift of the clocks, assuming that the closest pairs are close by chance and do
    /// not come ever later.
    fn likely_drift(&self, nominal: f64) -> [f64; 2] {
        let close = if self.clocks == Clocks::Events { &self.enqueued } else { &self.told };
        let most = self.most_drift();
        let (drift, change) = close.line().map_or((0.0, most), |line| {
            let drift = line.rate / nominal - 1.0;
            let change = WANDER + close.unevenness(line) / nominal;
            // a trend that leaves more open than it explains is no trend
            if drift.abs() + change <= most { (drift, change) } else { (0.0, most) }
        });
        [drift - change, drift + change]
    }

    /// Returns the most that the clocks of this track may drift apart.
    fn most_drift(&self) -> f64 {
        if self.clocks == Clocks::OneTimer { ONE_TIMER } else { MOST_DRIFT }
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

/// Maps one GPU's stamps to Score-P's ticks.
#[derive(Debug, Clone)]
pub struct GpuMapping {
    latest: Bound,
    /// Mirrored, like [`GpuTrack::enqueued`].
    earliest: Bound,
    /// Bounds from both sides that allow every possible drift.
    corridor: Corridor,
    follows_enqueues: bool,
    nanoseconds_per_tick: f64,
    /// The mapping to another clock of the same GPU, and that clock's mapping.
    way: Option<Box<[Self; 2]>>,
    /// Whether that way gives the ticks, or their bounds alone.
    follows_way: bool,
}

impl GpuMapping {
    /// Has the stamps mapped by way of another clock of the same GPU: `to` maps them to that clock, and `from` maps
    /// that clock to Score-P's.
    #[must_use]
    pub fn by_way_of(self, to: Self, from: Self) -> Self {
        Self { way: Some(Box::new([to, from])), follows_way: true, ..self }
    }

    /// Has the other clock bound the ticks and give none.
    #[must_use]
    pub fn bounded_only(self) -> Self {
        Self { follows_way: false, ..self }
    }

    /// Returns whether the enqueues or callbacks place each stamp that either clock knows where the other clock does,
    /// or `ticks` earlier at most.
    pub fn is_earlier_by(&self, ticks: u64) -> bool {
        let by_way = |stamp| self.by_way(stamp).map(|other| (self.own_ticks(stamp), other));
        self.known().filter_map(by_way).all(|(own, other)| own <= other && other - own <= ticks)
    }

    /// Lists the stamps that this clock or the other one knows, in no order.
    fn known(&self) -> impl Iterator<Item = u64> {
        self.way.iter().flat_map(|way| way[0].corridor.stamps()).chain(self.corridor.stamps())
    }

    /// Returns Score-P's ticks of a stamp. The result never falls as stamps rise.
    pub fn ticks(&self, stamp: u64) -> u64 {
        if self.way.is_none() {
            return self.own_ticks(stamp);
        }
        let by_way = self.by_way(stamp).filter(|_| self.follows_way);
        let ticks = by_way.unwrap_or_else(|| self.own_ticks(stamp));
        self.bounds(stamp).map_or(ticks, |[least, most]| ticks.clamp(least, most))
    }

    /// Returns the ticks of a stamp by way of the other clock.
    fn by_way(&self, stamp: u64) -> Option<u64> {
        let [to, from] = &**self.way.as_ref()?;
        // the middle, since the other clock lies as close to the one bound as to the other
        to.bounds(stamp).map(|[early, late]| from.ticks(early.midpoint(late)))
    }

    fn own_ticks(&self, stamp: u64) -> u64 {
        let enqueued = || self.earliest.ticks(!stamp).map(|mirrored| !mirrored).filter(|_| self.follows_enqueues);
        enqueued().or_else(|| self.latest.ticks(stamp)).unwrap_or(u64::MAX)
    }

    /// Returns the least and the most ticks of a stamp that the enqueues and the callbacks allow. `None` where either
    /// side is missing, and where the two contradict each other by more than the two ticks of rounding.
    pub fn bounds(&self, stamp: u64) -> Option<[u64; 2]> {
        let own = self.corridor.at(stamp)?;
        Some(self.bounds_by_way(stamp, own).unwrap_or(own))
    }

    /// Returns the part of a stamp's bounds that the other clock allows; `None` without another clock, or if that
    /// allows no part of them.
    fn bounds_by_way(&self, stamp: u64, own: [u64; 2]) -> Option<[u64; 2]> {
        let [to, from] = &**self.way.as_ref()?;
        let [early, late] = to.bounds(stamp)?;
        let [least, most] = [from.bounds(early)?[0].max(own[0]), from.bounds(late)?[1].min(own[1])];
        (least <= most.saturating_add(2)).then_some([least.min(most), most])
    }

    /// Returns whether the other clock allows a part of the bounds of every stamp that either clock knows. If not, the
    /// two are not of one GPU, or one of them has wrong stamps.
    pub fn agrees(&self) -> bool {
        self.known()
            .filter_map(|stamp| Some((stamp, self.corridor.at(stamp)?)))
            .all(|(stamp, own)| self.bounds_by_way(stamp, own).is_some())
    }

    /// Lists the stamps of the enqueues and the callbacks with their bounds, where there are bounds, in no order.
    pub fn bounded(&self) -> impl Iterator<Item = (u64, [u64; 2])> {
        self.corridor.stamps().filter_map(|stamp| Some((stamp, self.bounds(stamp)?)))
    }

    /// Returns whether the enqueues and the callbacks contradict each other at any of their own stamps. Then they do
    /// not belong to one clock.
    pub fn is_contradictory(&self) -> bool {
        self.corridor.is_contradictory()
    }

    /// Returns the largest possible error of [`GpuMapping::ticks`] in nanoseconds, from the bounds; `None` as for
    /// [`GpuMapping::bounds`].
    pub fn error(&self, stamp: u64) -> Option<f64> {
        let off = self.bounds(stamp)?.map(|bound| bound.abs_diff(self.ticks(stamp)));
        Some(off[0].max(off[1]) as f64 * self.nanoseconds_per_tick)
    }
}
