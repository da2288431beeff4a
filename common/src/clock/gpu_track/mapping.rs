//! Maps one GPU's stamps to Score-P's time.

use super::bound::Bound;
use super::corridor::Corridor;
use std::ops::RangeInclusive;

/// Least and most nanoseconds from before the record of an event in a free stream to the event, for the quickest event
/// of a run: 3.5 us in most runs on H200s, some more in others, by CUPTI's kernels.
const AFTER_RECORD: [f64; 2] = [3_500.0, 7_500.0];

/// Least nanoseconds from before the record of an anchor to the anchor, and from there to the look that shows it: 1.8 to
/// 4.6 us and 5.1 to 7.4 us on H100s, by CUPTI's kernels.
const ENCLOSED: [f64; 2] = [2_000.0, 5_000.0];

/// Most nanoseconds between the two sides of a clock that anchors place: 8 to 12 us on H100s, 10 to 25 us under Score-P's
/// CUDA adapter. And between sides that place a stamp closely.
const MOST_ENCLOSED: f64 = 30_000.0;
const CLOSELY_ENCLOSED: f64 = 15_000.0;

/// Most nanoseconds from a stamp to the quickest callbacks of stamps; and from an event to these where the two clocks are
/// known less closely, or to the quickest look of the collector's.
const CLOSE: f64 = 3_000.0;
const LOOSE: f64 = 8_000.0;

/// Nanoseconds to which the other clock has to be known for the earlier of its bounds to be a close one.
const WIDE: u64 = 20_000;

/// Nanoseconds that callbacks are good for beyond the first and the last of them.
const BEYOND: u64 = 1_000_000_000;

/// Maps one GPU's stamps to Score-P's ticks.
#[derive(Debug, Clone)]
pub struct GpuMapping {
    latest: Bound,
    /// Mirrored, like [`super::GpuTrack::enqueued`].
    earliest: Bound,
    /// Bounds from both sides that allow every possible drift.
    corridor: Corridor,
    follows: Follows,
    nanoseconds_per_tick: f64,
    /// See [`GpuMapping::by_way_of`].
    way: Option<Box<WayToHost>>,
    /// See [`GpuMapping::beside`].
    beside: Option<Box<EventsBesideStamps>>,
}

/// The events' clock beside that of the stamps.
#[derive(Debug, Clone)]
struct EventsBesideStamps {
    /// Maps stamps to the events' clock.
    to: GpuMapping,
    events: GpuMapping,
    /// Nanoseconds from a stamp to the later bound that `to` gives.
    behind: u64,
    /// Most by which the best callbacks come late, ticks.
    most: u64,
}

impl EventsBesideStamps {
    /// Returns the stamp's time on the events' clock.
    fn event(&self, stamp: u64) -> Option<u64> {
        let [early, late] = self.to.bounds(stamp)?;
        Some(late.saturating_sub(self.behind).max(early))
    }

    fn ticks(&self, stamp: u64) -> Option<u64> {
        Some(self.events.ticks(self.event(stamp)?))
    }

    /// Returns the ticks of a stamp whose callbacks place it at `callback`.
    fn within(&self, stamp: u64, callback: u64) -> Option<u64> {
        Some(self.ticks(stamp)?.clamp(callback.saturating_sub(self.most), callback))
    }
}

/// The way to Score-P's clock by another clock of the same GPU.
#[derive(Debug, Clone)]
struct WayToHost {
    to: GpuMapping,
    from: GpuMapping,
    ahead: Option<u64>,
}

impl WayToHost {
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
    /// Makes a mapping that follows the callbacks, from the likely bounds of both sides and the certain ones.
    pub(super) fn new([latest, earliest]: [Bound; 2], corridor: Corridor, nanoseconds_per_tick: f64) -> Self {
        let follows = Follows::Callbacks;
        Self { latest, earliest, corridor, follows, nanoseconds_per_tick, way: None, beside: None }
    }

    /// Has the callbacks of another clock of the same GPU limit this clock, too: `to` maps stamps to that clock, and
    /// `from` maps that clock to Score-P's. `ahead` is by how many nanoseconds a stamp is known to lie behind the earlier
    /// bound that `to` gives; `None` if that bound is not close.
    #[must_use]
    pub fn by_way_of(self, to: Self, from: Self, ahead: Option<u64>) -> Self {
        Self { way: Some(Box::new(WayToHost { to, from, ahead })), ..self }
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
        let beside = EventsBesideStamps { to, events: events.clone(), behind, most: self.to_ticks(most) };
        let known: Vec<(u64, u64)> =
            self.known().filter_map(|stamp| Some((beside.ticks(stamp)?, self.ticks(stamp)))).collect();
        let agreeing = known.iter().filter(|(early, callback)| callback.wrapping_sub(*early) <= beside.most).count();
        let is_close = |stamp| beside.to.bounds(stamp).is_some_and(|[early, late]| late - early <= WIDE);
        if !known.is_empty() && agreeing * 20 >= known.len() * 19 && self.known().all(is_close) {
            self.beside = Some(Box::new(beside));
        }
        self
    }

    /// Decides which side the mapping of the events' clock follows, by the known stamps:
    ///
    /// - both, each with what it comes late by (`ENCLOSED`), if anchors are close (`is_enclosed`) and bring the two within
    ///   `MOST_ENCLOSED` of each other for nearly all stamps;
    /// - the enqueues, if callbacks of the other clock cover less than four of five stamps;
    /// - both, each with what it comes late by (`AFTER_RECORD`, `CLOSE`, `LOOSE`), if the enqueues place nearly all
    ///   stamps where the callbacks do, or earlier by `late` nanoseconds at most;
    /// - the callbacks of the other clock, if the two clocks are known that closely: then enqueues have waited;
    /// - else the enqueues.
    #[must_use]
    pub fn settled(mut self, late: f64, is_enclosed: bool) -> Self {
        let [ticks, enclosed_ticks] = [late, MOST_ENCLOSED].map(|nanoseconds| self.to_ticks(nanoseconds));
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
        let is_within = |stamp| sides(stamp).is_some_and(|(early, late)| late.abs_diff(early) <= enclosed_ticks);
        let is_enclosed = || is_enclosed && self.known().filter(|&stamp| is_within(stamp)).count() * 20 >= all * 19;
        let are_nearly_all = |part: usize| part * 20 >= covered.len() * 19;
        self.follows = match &self.way {
            _ if self.earliest.stamps().next().is_none() => Follows::Callbacks,
            _ if is_enclosed() => Follows::Anchors,
            Some(_) if covered.len() * 5 < all * 4 => Follows::Enqueues,
            _ if are_nearly_all(agreeing) => Follows::Both,
            Some(_) if width <= ticks => Follows::Callbacks,
            _ => Follows::Enqueues,
        };
        self
    }

    /// Returns whether anchors place the stamp closely.
    pub fn is_anchored(&self, stamp: u64) -> bool {
        if let Some(beside) = &self.beside {
            return beside.event(stamp).is_some_and(|event| beside.events.is_anchored(event));
        }
        let room = || Some(self.latest.ticks(stamp)?.abs_diff(self.by_enqueues(stamp)?));
        self.follows == Follows::Anchors && room().is_some_and(|room| room <= self.to_ticks(CLOSELY_ENCLOSED))
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
        let ticks = self.beside.as_ref().and_then(|beside| beside.within(stamp, ticks)).unwrap_or(ticks);
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
        let WayToHost { to, from, .. } = &**self.way.as_ref()?;
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
