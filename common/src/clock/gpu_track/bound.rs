//! The bound that anchors set for all stamps, given the least and the most ticks per stamp.

use super::lowest::LowestPoint;

/// The most ticks that the anchors allow for each stamp.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    /// Ascending in stamps and ticks. No anchor lies on or above the bound of its neighbours.
    anchors: Vec<LowestPoint>,
    slopes: Slopes,
}

/// Least and most ticks per stamp, both positive.
#[derive(Debug, Clone, Copy)]
struct Slopes([f64; 2]);

impl Slopes {
    fn mean(self) -> f64 {
        self.0[0].midpoint(self.0[1])
    }

    /// Returns the most ticks that an anchor allows for a stamp.
    fn above(self, anchor: LowestPoint, stamp: u64) -> u64 {
        let [least, most] = self.0;
        beside(anchor, stamp, if stamp < anchor.stamp { least } else { most })
    }
}

/// Returns the ticks of a stamp on a line through an anchor. The result never falls as stamps rise, since a rounded
/// product with a positive number does not either.
fn beside(anchor: LowestPoint, stamp: u64, slope: f64) -> u64 {
    let stamps = i128::from(stamp) - i128::from(anchor.stamp);
    let ticks = (stamps as f64 * slope).floor() as i128;
    i128::from(anchor.ticks).saturating_add(ticks).clamp(0, i128::from(u64::MAX)) as u64
}

impl Bound {
    /// Makes the bound from anchors in ascending order and the least and most ticks per stamp.
    pub(super) fn new(all: &[LowestPoint], slopes: [f64; 2]) -> Self {
        let slopes = Slopes(slopes);
        let mut anchors: Vec<LowestPoint> = Vec::new();
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
        anchors.shrink_to_fit();
        Self { anchors, slopes }
    }

    /// Lists the stamps of the anchors, where the bound is closest.
    pub(super) fn stamps(&self) -> impl Iterator<Item = u64> {
        self.anchors.iter().map(|anchor| anchor.stamp)
    }

    /// Returns the number of anchors at or before a stamp.
    fn place(&self, stamp: u64) -> usize {
        let (Some(first), Some(last)) = (self.anchors.first(), self.anchors.last()) else { return 0 };
        if stamp < first.stamp {
            return 0;
        }
        if stamp >= last.stamp {
            return self.anchors.len();
        }
        // anchors lie at nearly even distances, so the search begins where the stamp would be if these were even
        let part = (stamp - first.stamp) as f64 / (last.stamp - first.stamp) as f64;
        let mut low = (part * (self.anchors.len() - 1) as f64) as usize;
        let (mut high, mut step) = (low + 1, 1);
        while self.anchors[low].stamp > stamp {
            (high, low, step) = (low, low.saturating_sub(step), step * 2);
        }
        while self.anchors.get(high).is_some_and(|anchor| anchor.stamp <= stamp) {
            (low, high, step) = (high, (high + step).min(self.anchors.len()), step * 2);
        }
        low + self.anchors[low..high].partition_point(|anchor| anchor.stamp <= stamp)
    }

    /// Returns the most ticks of a stamp; `None` without anchors.
    pub(super) fn most(&self, stamp: u64) -> Option<u64> {
        // the next anchor on either side lies below the bounds of the anchors beyond it, and so does its own bound
        let place = self.place(stamp);
        let neighbours = &self.anchors[place.saturating_sub(1)..self.anchors.len().min(place + 1)];
        neighbours.iter().map(|&anchor| self.slopes.above(anchor, stamp)).min()
    }

    /// Returns the ticks of a stamp on the straight lines from anchor to anchor; the first and the last line go on
    /// beyond. `None` without anchors. The result never falls as stamps rise. The lines are within the slopes, since
    /// otherwise one anchor would lie above the bound of another.
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

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    #[test]
    fn a_place_is_the_number_of_anchors_before() {
        let mut random = Rng::with_seed(3);
        for count in (0..40).chain([1000]) {
            let power = random.u32(1..50);
            let mut stamp = random.u64(..1 << 40);
            let anchors = (0..count).map(|_| {
                stamp += 1 + (random.u64(..1 << 50) >> random.u32(..power));
                LowestPoint { stamp, ticks: stamp }
            });
            let bound = Bound { anchors: anchors.collect(), slopes: Slopes([1.0; 2]) };
            let stamps = bound.anchors.iter().flat_map(|it| [it.stamp - 1, it.stamp, it.stamp + 1]);
            let between = (0..500).map(|_| random.u64(..) >> random.u32(..64));
            for stamp in stamps.chain(between).chain([0, u64::MAX]) {
                let expected = bound.anchors.partition_point(|anchor| anchor.stamp <= stamp);
                assert_eq!(bound.place(stamp), expected, "{stamp} in {count}");
            }
        }
    }
}
