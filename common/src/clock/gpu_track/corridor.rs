//! The range of ticks that the callbacks and the enqueues together allow for a stamp.

use super::bound::Bound;
use super::lowest::{Lowest, LowestPoint};

/// The bounds from both sides: callbacks and enqueues.
#[derive(Debug, Clone)]
pub(crate) struct Corridor {
    latest: Bound,
    /// Mirrored, like [`super::GpuTrack::enqueued`].
    earliest: Bound,
}

/// A stamp, and the least and the most of its ticks.
type StampWindow = (u64, [u64; 2]);

impl Corridor {
    /// Makes the bounds from the closest callbacks and enqueues and the least and most ticks per stamp.
    pub(super) fn new(told: &Lowest, enqueued: &Lowest, slopes: [f64; 2]) -> Self {
        Self { latest: Bound::new(told.anchors(), slopes), earliest: Bound::new(enqueued.anchors(), slopes) }
    }

    /// See [`super::GpuMapping::bounds`].
    pub(crate) fn at(&self, stamp: u64) -> Option<[u64; 2]> {
        let (least, most) = (!self.earliest.most(!stamp)?, self.latest.most(stamp)?);
        (least <= most.saturating_add(2)).then_some([least.min(most), most])
    }

    /// Lists the stamps at which either bound is closest.
    pub(super) fn stamps(&self) -> impl Iterator<Item = u64> {
        self.latest.stamps().chain(self.earliest.stamps().map(|mirrored| !mirrored))
    }

    /// See [`super::GpuMapping::is_contradictory`].
    pub(super) fn is_contradictory(&self) -> bool {
        let is_bounded = self.latest.stamps().next().is_some() && self.earliest.stamps().next().is_some();
        is_bounded && self.stamps().any(|stamp| self.at(stamp).is_none())
    }

    /// Returns the least and the most ticks per stamp from one part of the time to the next that both sides allow.
    /// `None` if fewer than `enough` parts have bounds.
    pub(super) fn slopes(&self, told: &Lowest, enough: usize) -> Option<[f64; 2]> {
        let windows: Vec<StampWindow> = told.in_first_halves().filter_map(|part| self.narrowest(part)).collect();
        let slopes = windows.windows(2).filter_map(|pair| <&[StampWindow; 2]>::try_from(pair).ok()).map(between);
        let widest = |known: [f64; 2], other: [f64; 2]| [known[0].min(other[0]), known[1].max(other[1])];
        slopes.reduce(widest).filter(|_| windows.len() >= enough)
    }

    fn narrowest(&self, anchors: &[LowestPoint]) -> Option<StampWindow> {
        let windows = anchors.iter().filter_map(|anchor| Some((anchor.stamp, self.at(anchor.stamp)?)));
        windows.min_by_key(|(_, [least, most])| most - least)
    }
}

/// Returns the least and the most ticks per stamp from one window to a later one. The ticks of each bound are rounded.
fn between(&[(from, [from_least, from_most]), (to, [to_least, to_most])]: &[StampWindow; 2]) -> [f64; 2] {
    let ticks = |to: u64, from: u64| (i128::from(to) - i128::from(from)) as f64;
    [ticks(to_least, from_most) - 2.0, ticks(to_most, from_least) + 2.0].map(|ticks| ticks / (to - from) as f64)
}
