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
mod straight;
#[cfg(test)]
mod tests;

use bound::Bound;
pub(crate) use corridor::Corridor;
use lowest::{Anchor, Lowest};
use std::ops::RangeInclusive;
use straight::Sides;

/// Change of the drift by temperature, on top of the measured drift.
pub(crate) const WANDER: f64 = 1e-6;

/// Most that the clocks may drift apart. A length in stamps and its length in ticks differ by no more than that.
const MOST_DRIFT: f64 = 100e-6;

/// Drift of most clocks. What a short run shows of a larger one is most likely chance.
const USUAL_DRIFT: f64 = 10e-6;

/// Nanoseconds by which one of the closest pairs is closer than another by chance.
const CHANCE: f64 = 3_000.0;

/// Most that the stamps and the events of one GPU drift apart. Both are times of one timer: over 5 s of an H200, they
/// drifted 0.03 ppm apart, by CUPTI's kernels (docs/score-p.md). CUDA gives the milliseconds between two events in 24
/// bits, which may round off a 30 millionth of them.
const ONE_TIMER: f64 = 0.1e-6;

/// Least and most nanoseconds from before the record of an event in a free stream to the event, for the quickest event
/// of a run: 3.5 us in most runs on H200s, some more in others, by CUPTI's kernels.
const AFTER_RECORD: [f64; 2] = [3_500.0, 7_500.0];

/// Least nanoseconds from before the record of an anchor to the anchor, and from there to the look that shows it: 1.8 to
/// 4.6 us and 5.1 to 7.4 us on H100s, by CUPTI's kernels.
const ENCLOSED: [f64; 2] = [2_000.0, 5_000.0];

/// Most nanoseconds from a stamp to the quickest callbacks of stamps; and from an event to these where the two clocks are
/// known less closely, or to the quickest look of the collector's.
const CLOSE: f64 = 3_000.0;
const LOOSE: f64 = 8_000.0;

/// Nanoseconds to which the other clock has to be known for the earlier of its bounds to be a close one.
const WIDE: u64 = 20_000;

/// Nanoseconds that callbacks are good for beyond the first and the last of them.
const BEYOND: u64 = 1_000_000_000;

/// Number of parts of the run, of [`lowest::PARTS`], that need bounds from both sides before they show how the drift
/// changes.
const ENOUGH_PARTS: usize = 4;

/// The clocks of a track.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Clocks {
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
        self.mapping_by(nanoseconds_per_tick, |nominal| self.likely_drift(nominal))
    }

    /// Returns the mappings of two clocks of one timer, which drift alike, as [`GpuTrack::mapping`] does. Anchors show the
    /// drift.
    pub fn mappings(clocks: [&Self; 2], nanoseconds_per_tick: f64) -> [Option<GpuMapping>; 2] {
        let sides: Vec<Sides> = clocks.iter().filter_map(|track| Sides::new(&track.told, &track.enqueued)).collect();
        clocks.map(|track| track.mapping_by(nanoseconds_per_tick, |nominal| track.drift_by_anchors(&sides, nominal)))
    }

    /// Returns the mapping, given a function from the ticks per stamp without drift to the least and the most drift.
    fn mapping_by(&self, nanoseconds_per_tick: f64, drift: impl FnOnce(f64) -> [f64; 2]) -> Option<GpuMapping> {
        let nominal = self.nominal(nanoseconds_per_tick)?;
        let likely = slopes(nominal, drift(nominal));
        let [latest, earliest] = [&self.told, &self.enqueued].map(|lowest| Bound::new(lowest.anchors(), likely));
        let corridor = self.corridor(nominal);
        Some(GpuMapping {
            latest,
            earliest,
            corridor,
            follows: Follows::Callbacks,
            nanoseconds_per_tick,
            way: None,
            beside: None,
        })
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

    /// Returns the least and the most drift of the clocks, assuming that the closest pairs are close by chance and do
    /// not come ever later.
    fn likely_drift(&self, nominal: f64) -> [f64; 2] {
        let (drift, change) = self.trend(nominal).unwrap_or((0.0, self.most_drift()));
        [drift - change, drift + change]
    }

    /// Returns the drift that the side shows which comes close by chance and does not come ever later, and the most by
    /// which it changes.
    fn trend(&self, nominal: f64) -> Option<(f64, f64)> {
        let close = self.close_side();
        let line = close.line()?;
        let (drift, change) = (line.rate / nominal - 1.0, WANDER + close.unevenness(line) / nominal);
        // one that leaves more open than it explains is no trend
        (drift.abs() + change <= self.most_drift()).then_some((drift, change))
    }

    fn close_side(&self) -> &Lowest {
        if self.clocks == Clocks::Events { &self.enqueued } else { &self.told }
    }

    /// Returns the least and the most drift of the clocks, which is most likely near the mean of three estimates:
    ///
    /// - the trend of one side;
    /// - the drift of the straight lines between both sides of the clocks of this timer, which anchors bring close together;
    /// - the usual drift, which is small: in a short run, the others show chance.
    fn drift_by_anchors(&self, clocks: &[Sides], nominal: f64) -> [f64; 2] {
        let most = self.most_drift();
        let chance = CHANCE / self.close_side().length();
        let trend = self.trend(nominal).map(|(drift, change)| Estimate { drift, deviation: change / 2.0 + chance });
        let even = straight::rates(clocks, slopes(nominal, [-most, most])).map(|rates| {
            let [slowest, drift, fastest] = rates.map(|rate| rate / nominal - 1.0);
            Estimate { drift, deviation: WANDER / 2.0 + (fastest - slowest) / 8.0 }
        });
        let usual = Estimate { drift: 0.0, deviation: USUAL_DRIFT };
        let Estimate { drift, deviation } = Estimate::mean(trend.into_iter().chain(even).chain([usual]));
        [drift - WANDER - deviation, drift + WANDER + deviation].map(|drift| drift.clamp(-most, most))
    }

    /// Returns the most that the clocks of this track may drift apart.
    fn most_drift(&self) -> f64 {
        if self.clocks == Clocks::OneTimer { ONE_TIMER } else { MOST_DRIFT }
    }

    /// Returns the track of the stamps' clock against that of the events, where this is that of the events against that
    /// of the stamps.
    pub fn reversed(&self) -> Self {
        let mut reversed = Self::of_one_timer();
        self.told.anchors().iter().for_each(|&Anchor { stamp, ticks }| reversed.enqueued(stamp, ticks));
        self.enqueued.anchors().iter().for_each(|&Anchor { stamp, ticks }| reversed.told(!stamp, !ticks));
        reversed
    }

    /// Adds what another track knows of the same clock.
    pub fn join(&mut self, other: &Self) {
        other.told.anchors().iter().for_each(|&anchor| self.told.add(anchor));
        other.enqueued.anchors().iter().for_each(|&anchor| self.enqueued.add(anchor));
    }
}

/// An estimate of the drift, with its standard deviation.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    drift: f64,
    deviation: f64,
}

impl Estimate {
    /// Returns the mean of independent estimates, each weighted by the inverse of its variance.
    fn mean(all: impl Iterator<Item = Self>) -> Self {
        let weighted = all.map(|Self { drift, deviation }| (drift, deviation.powi(-2)));
        let (sum, weight) =
            weighted.fold((0.0, 0.0), |(sum, all), (drift, weight)| (sum + drift * weight, all + weight));
        Self { drift: sum / weight, deviation: weight.powf(-0.5) }
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
    follows: Follows,
    nanoseconds_per_tick: f64,
    /// See [`GpuMapping::by_way_of`].
    way: Option<Box<Way>>,
    /// See [`GpuMapping::beside`].
    beside: Option<Box<Beside>>,
}

/// The events' clock beside that of the stamps.
#[derive(Debug, Clone)]
struct Beside {
    /// Maps stamps to the events' clock.
    to: GpuMapping,
    events: GpuMapping,
    /// Nanoseconds from a stamp to the later bound that `to` gives.
    behind: u64,
}

impl Beside {
    fn ticks(&self, stamp: u64) -> Option<u64> {
        let [early, late] = self.to.bounds(stamp)?;
        Some(self.events.ticks(late.saturating_sub(self.behind).max(early)))
    }
}

/// The way to Score-P's clock by another clock of the same GPU.
#[derive(Debug, Clone)]
struct Way {
    to: GpuMapping,
    from: GpuMapping,
    ahead: Option<u64>,
}

impl Way {
    /// Returns the stamps of the other clock that its callbacks place.
    fn reach(&self) -> RangeInclusive<u64> {
        let stamps = || self.from.latest.stamps();
        let (first, last) = (stamps().next().unwrap_or(u64::MAX), stamps().last().unwrap_or(0));
        first.saturating_sub(BEYOND)..=last.saturating_add(BEYOND)
    }
}

/// The side that a mapping follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// The callbacks; those of the other clock, if there is one.
    Callbacks,
    Enqueues,
    /// Where the two agree, see [`GpuMapping::settled`].
    Both,
    /// Between the two, which anchors bring close together.
    Anchors,
}

impl GpuMapping {
    /// Has the callbacks of another clock of the same GPU limit this clock, too: `to` maps stamps to that clock, and
    /// `from` maps that clock to Score-P's. `ahead` is by how many nanoseconds a stamp is known to lie behind the earlier
    /// bound that `to` gives; `None` if that bound is not close.
    #[must_use]
    pub fn by_way_of(self, to: Self, from: Self, ahead: Option<u64>) -> Self {
        Self { way: Some(Box::new(Way { to, from, ahead })), ..self }
    }

    /// Has the stamps follow the events' clock, where that follows anchors and places nearly all known stamps
    /// where their callbacks do, or up to `most` nanoseconds earlier: then the best callbacks come that late. `to` maps
    /// stamps to the events' clock. A stamp lies `behind` nanoseconds before the later bound that it gives.
    #[must_use]
    pub fn beside(mut self, to: Self, events: &Self, behind: u64, most: f64) -> Self {
        // without a way, the two clocks are not known to be of one timer
        if events.follows != Follows::Anchors || events.way.is_none() {
            return self;
        }
        let beside = Beside { to, events: events.clone(), behind };
        let late = self.to_ticks(most);
        let known: Vec<(u64, u64)> =
            self.known().filter_map(|stamp| Some((beside.ticks(stamp)?, self.ticks(stamp)))).collect();
        let agreeing = known.iter().filter(|(early, callback)| callback.wrapping_sub(*early) <= late).count();
        if !known.is_empty() && agreeing * 20 >= known.len() * 19 {
            self.beside = Some(Box::new(beside));
        }
        self
    }

    /// Decides which side the mapping of the events' clock follows, by the known stamps:
    ///
    /// - both, each with what it comes late by (`ENCLOSED`), if anchors are close (`is_enclosed`) and bring the two within
    ///   `late` nanoseconds of each other for nearly all stamps;
    /// - the enqueues, if callbacks of the other clock cover less than four of five stamps;
    /// - both, each with what it comes late by (`AFTER_RECORD`, `CLOSE`, `LOOSE`), if the enqueues place nearly all
    ///   stamps where the callbacks do, or earlier by `late` nanoseconds at most;
    /// - the callbacks of the other clock, if the two clocks are known that closely: then enqueues have waited;
    /// - else the enqueues.
    #[must_use]
    pub fn settled(mut self, late: f64, is_enclosed: bool) -> Self {
        let ticks = self.to_ticks(late);
        let widths = self.way.iter().flat_map(|way| self.known().filter_map(|stamp| way.to.bounds(stamp)));
        let width = widths.map(|[early, late]| late - early).max().unwrap_or(u64::MAX);
        if let Some(way) = self.way.as_mut().filter(|_| width > WIDE) {
            way.ahead = None;
        }
        let all = self.known().count();
        let sides = |stamp| Some((self.by_enqueues(stamp)?, self.latest(stamp)?));
        let reach = self.way.as_ref().map(|way| way.reach());
        let is_covered = |stamp: &u64| match (&self.way, &reach) {
            (Some(way), Some(reach)) => way.to.bounds(*stamp).is_some_and(|it| it.iter().all(|it| reach.contains(it))),
            _ => true,
        };
        let covered: Vec<(u64, u64)> = self.known().filter(is_covered).filter_map(sides).collect();
        let agreeing = covered.iter().filter(|(early, late)| early <= late && late - early <= ticks).count();
        let is_within = |stamp| sides(stamp).is_some_and(|(early, late)| late.saturating_sub(early) <= ticks);
        let enclosed = self.known().filter(|&stamp| is_within(stamp)).count();
        let are_nearly_all = |part: usize| part * 20 >= covered.len() * 19;
        self.follows = match &self.way {
            _ if self.earliest.stamps().next().is_none() => Follows::Callbacks,
            _ if is_enclosed && enclosed * 20 >= all * 19 => Follows::Anchors,
            Some(_) if covered.len() * 5 < all * 4 => Follows::Enqueues,
            _ if are_nearly_all(agreeing) => Follows::Both,
            Some(_) if width <= ticks => Follows::Callbacks,
            _ => Follows::Enqueues,
        };
        self
    }

    /// Lists the stamps that this clock or the other one knows, in no order.
    fn known(&self) -> impl Iterator<Item = u64> {
        self.way.iter().flat_map(|way| way.to.corridor.stamps()).chain(self.corridor.stamps())
    }

    /// Returns Score-P's ticks of a stamp. The result never falls as stamps rise.
    pub fn ticks(&self, stamp: u64) -> u64 {
        let likely = match self.follows {
            Follows::Enqueues => {
                self.by_enqueues(stamp).map(|ticks| ticks.saturating_add(self.to_ticks(AFTER_RECORD[0])))
            }
            // close to either bound of the other clock
            Follows::Callbacks => self.by_callbacks(stamp, |[early, late]| early.midpoint(late)),
            Follows::Anchors => self.by_enqueues(stamp).zip(self.latest.ticks(stamp)).map(|(early, seen)| {
                let [after, before] = ENCLOSED.map(|nanoseconds| self.to_ticks(nanoseconds));
                let late = seen.saturating_sub(before);
                let late = self.by_callbacks_of_other(stamp).map_or(late, |callback| callback.min(late));
                early.saturating_add(after).midpoint(late)
            }),
            Follows::Both => self.by_enqueues(stamp).zip(self.latest(stamp)).map(|(early, late)| {
                let is_close = self.way.as_ref().is_some_and(|way| way.ahead.is_some());
                let [least, most] = AFTER_RECORD.map(|after| early.saturating_add(self.to_ticks(after)));
                let before = late.saturating_sub(self.to_ticks(if is_close { CLOSE } else { LOOSE }));
                let (earliest, latest) = (before.min(least.midpoint(most)).max(least), late.min(most));
                earliest.min(latest).midpoint(latest)
            }),
        };
        let ticks = likely.or_else(|| self.latest.ticks(stamp)).unwrap_or(u64::MAX);
        let ticks = self.beside.as_ref().and_then(|beside| beside.ticks(stamp)).unwrap_or(ticks);
        let is_other = self.way.is_some() || self.beside.is_some();
        let bounds = self.bounds(stamp).filter(|_| is_other);
        bounds.map_or(ticks, |[least, most]| ticks.clamp(least, most))
    }

    fn to_ticks(&self, nanoseconds: f64) -> u64 {
        (nanoseconds / self.nanoseconds_per_tick) as u64
    }

    /// Returns the ticks of a stamp by the best callbacks, which come late by little: those of the other clock, or this
    /// clock's own where they are closer, as anchors are.
    fn latest(&self, stamp: u64) -> Option<u64> {
        let ahead = self.way.as_ref().and_then(|way| way.ahead);
        let by_callbacks =
            self.by_callbacks(stamp, |[early, late]| ahead.map_or(late, |ahead| late.min(early.saturating_add(ahead))));
        by_callbacks.into_iter().chain(self.latest.ticks(stamp)).min()
    }

    /// Returns the ticks of a stamp by the callbacks; those of the other clock if there is one, where the stamp is at
    /// some place between its bounds there.
    fn by_callbacks(&self, stamp: u64, between: impl Fn([u64; 2]) -> u64) -> Option<u64> {
        match &self.way {
            None => self.latest.ticks(stamp),
            Some(way) => way.to.bounds(stamp).map(|bounds| way.from.ticks(between(bounds))),
        }
    }

    /// Returns the ticks of a stamp by the best callbacks of the other clock. `None` if there is none, or if the two
    /// clocks are not known closely.
    fn by_callbacks_of_other(&self, stamp: u64) -> Option<u64> {
        let way = self.way.as_ref()?;
        let ahead = way.ahead?;
        self.by_callbacks(stamp, |[early, late]| late.min(early.saturating_add(ahead)))
    }

    fn by_enqueues(&self, stamp: u64) -> Option<u64> {
        self.earliest.ticks(!stamp).map(|mirrored| !mirrored)
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
        let Way { to, from, .. } = &**self.way.as_ref()?;
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
