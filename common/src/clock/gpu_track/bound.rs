//! The bound that anchors give for all stamps, when the ticks between two stamps are known to lie between two slopes.

use super::lowest::Anchor;

/// For each stamp the least ticks that an anchor leaves possible.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    /// Ascending in stamps and ticks; none lies on or above the bound that its neighbours give.
    anchors: Vec<Anchor>,
    slopes: Slopes,
}

/// Least and most ticks per stamp, both positive.
#[derive(Debug, Clone, Copy)]
struct Slopes([f64; 2]);

impl Slopes {
    fn mean(self) -> f64 {
        self.0[0].midpoint(self.0[1])
    }

    /// Most ticks that an anchor leaves for a stamp.
    fn above(self, anchor: Anchor, stamp: u64) -> u64 {
        let [least, most] = self.0;
        beside(anchor, stamp, if stamp < anchor.stamp { least } else { most })
    }
}

/// Ticks of a stamp on a line through an anchor. Never falls as stamps rise: neither does a product with a positive
/// number, rounded.
fn beside(anchor: Anchor, stamp: u64, slope: f64) -> u64 {
    let stamps = i128::from(stamp) - i128::from(anchor.stamp);
    let ticks = (stamps as f64 * slope).floor() as i128;
    i128::from(anchor.ticks).saturating_add(ticks).clamp(0, i128::from(u64::MAX)) as u64
}

impl Bound {
    /// From anchors in ascending order, and the least and most ticks per stamp.
    pub(super) fn new(all: &[Anchor], slopes: [f64; 2]) -> Self {
        let slopes = Slopes(slopes);
        let mut anchors: Vec<Anchor> = Vec::new();
        'all: for &anchor in all {
            while let Some(&before) = anchors.last() {
                if anchor.ticks >= slopes.above(before, anchor.stamp) {
                    continue 'all;
                }
                if before.ticks < slopes.above(anchor, before.stamp) {
                    break;
                }
                anchors.pop();
            }
            anchors.push(anchor);
        }
        Self { anchors, slopes }
    }

    /// Where it is closest.
    pub(super) fn stamps(&self) -> impl Iterator<Item = u64> {
        self.anchors.iter().map(|anchor| anchor.stamp)
    }

    /// Anchors at a stamp or before it: how many.
    fn place(&self, stamp: u64) -> usize {
        self.anchors.partition_point(|anchor| anchor.stamp <= stamp)
    }

    /// Most ticks of a stamp; `None` without anchors.
    pub(super) fn most(&self, stamp: u64) -> Option<u64> {
        // the next anchor on either side lies below what those beyond it give, and so does what it gives
        let place = self.place(stamp);
        let neighbours = &self.anchors[place.saturating_sub(1)..self.anchors.len().min(place + 1)];
        neighbours.iter().map(|&anchor| self.slopes.above(anchor, stamp)).min()
    }

    /// Ticks of a stamp on the straight lines from anchor to anchor, the first and the last of which go on beyond;
    /// `None` without anchors. Never falls as stamps rise, and is no steeper or flatter than the slopes: else one
    /// anchor would lie above the bound of another.
    pub(super) fn ticks(&self, stamp: u64) -> Option<u64> {
        let place = self.place(stamp).min(self.anchors.len().saturating_sub(1)).max(1);
        match self.anchors[place - 1..] {
            [from, to, ..] => {
                let (stamps, ticks) = to.since(from);
                let ticks = beside(from, stamp, ticks / stamps);
                Some(if stamp < to.stamp { ticks.min(to.ticks) } else { ticks.max(to.ticks) })
            }
            [only] => Some(beside(only, stamp, self.slopes.mean())),
            [] => None,
        }
    }
}
