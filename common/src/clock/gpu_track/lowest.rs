//! For each stretch of time, the pair of stamp and ticks with the fewest ticks for its stamp.

/// Most stretches that are kept. Beyond that, stretches become longer.
pub(super) const MOST: usize = 1024;

/// Parts of the time in which the straightness of a line is checked.
pub(super) const PARTS: u64 = 8;

/// A moment on both clocks, or a bound of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LowestPoint {
    pub(super) stamp: u64,
    pub(super) ticks: u64,
}

impl LowestPoint {
    /// Returns the stamps and ticks from `other` to this anchor.
    pub(super) fn since(self, other: Self) -> (f64, f64) {
        let difference = |to: u64, from: u64| (i128::from(to) - i128::from(from)) as f64;
        (difference(self.stamp, other.stamp), difference(self.ticks, other.ticks))
    }
}

/// A straight line of ticks over stamps.
#[derive(Debug, Clone, Copy)]
pub(super) struct LowestLine {
    through: LowestPoint,
    /// Ticks per stamp.
    pub(super) rate: f64,
}

impl LowestLine {
    fn between(from: LowestPoint, to: LowestPoint) -> Self {
        let (stamps, ticks) = to.since(from);
        Self { through: from, rate: ticks / stamps }
    }

    /// Returns by how many ticks an anchor lies above the line.
    fn below(self, anchor: LowestPoint) -> f64 {
        let (stamps, ticks) = anchor.since(self.through);
        ticks - stamps * self.rate
    }
}

/// The lowest anchor of each stretch of time.
#[derive(Debug, Default, Clone)]
pub(super) struct Lowest {
    /// One anchor for each stretch, ascending.
    anchors: Vec<LowestPoint>,
    /// Length of a stretch, as a power of two of stamps.
    length: u32,
    /// Ticks per stamp, as known when stretches became longer. If this rate is off, the anchor that a stretch keeps may
    /// not be its lowest: by at most the error of the rate times the stretch's length.
    rate: f64,
}

impl Lowest {
    pub(super) fn anchors(&self) -> &[LowestPoint] {
        &self.anchors
    }

    /// Takes in an anchor.
    pub(super) fn add(&mut self, anchor: LowestPoint) {
        let (length, rate) = (self.length, self.rate);
        let stretch = anchor.stamp >> length;
        let place = self.anchors.partition_point(|known| known.stamp >> length < stretch);
        match self.anchors.get_mut(place) {
            Some(known) if known.stamp >> length == stretch => lower(known, anchor, rate),
            _ => {
                self.anchors.insert(place, anchor);
                if self.anchors.len() > MOST {
                    self.lengthen();
                }
            }
        }
    }

    /// Makes the stretches longer, so that there is room for a while.
    fn lengthen(&mut self) {
        let rate = self.line().map_or(0.0, |line| line.rate);
        self.rate = rate;
        while self.anchors.len() > MOST / 4 * 3 && self.length < u64::BITS - 1 {
            self.length += 1;
            let length = self.length;
            self.anchors.dedup_by(|anchor, before| {
                let same = anchor.stamp >> length == before.stamp >> length;
                if same {
                    lower(before, *anchor, rate);
                }
                same
            });
        }
    }

    fn ends(&self) -> Option<(LowestPoint, LowestPoint)> {
        Some((*self.anchors.first()?, *self.anchors.last()?))
    }

    /// Returns the line closest below all anchors in the middle of their time: an edge of their lower hull. It shows
    /// the drift of the clocks if callbacks are late by chance. `None` for fewer than two anchors.
    pub(super) fn line(&self) -> Option<LowestLine> {
        let (first, last) = self.ends()?;
        let middle = first.stamp.midpoint(last.stamp);
        let mut hull: Vec<LowestPoint> = Vec::new();
        for &anchor in &self.anchors {
            while let [.., before, corner] = hull[..]
                && LowestLine::between(before, anchor).below(corner) >= 0.0
            {
                hull.pop();
            }
            hull.push(anchor);
        }
        let edge = hull.windows(2).find(|edge| edge[1].stamp > middle)?;
        Some(LowestLine::between(edge[0], edge[1]))
    }

    /// Returns by how much the slope differs from the line's at times, in ticks per stamp: the height of each part's
    /// lowest anchor above the line, at its largest, divided by the length of a part.
    pub(super) fn unevenness(&self, line: LowestLine) -> f64 {
        let lowest = self.in_parts().filter_map(|part| part.iter().map(|&anchor| line.below(anchor)).reduce(f64::min));
        lowest.fold(0.0, f64::max) / self.part() as f64
    }

    /// Returns the stamps from the first anchor to the last.
    pub(super) fn length(&self) -> f64 {
        self.ends().map_or(0.0, |(first, last)| (last.stamp - first.stamp) as f64)
    }

    /// Returns the length of a part in stamps.
    fn part(&self) -> u64 {
        self.ends().map_or(1, |(first, last)| (last.stamp - first.stamp) / PARTS + 1)
    }

    fn in_parts(&self) -> impl Iterator<Item = &[LowestPoint]> {
        let (part, begin) = (self.part(), self.anchors.first().map_or(0, |first| first.stamp));
        self.anchors.chunk_by(move |a, b| (a.stamp - begin) / part == (b.stamp - begin) / part)
    }

    /// Lists the anchors in the first half of each part. The anchors of two parts are at least half a part apart.
    pub(super) fn in_first_halves(&self) -> impl Iterator<Item = &[LowestPoint]> {
        let (part, begin) = (self.part(), self.anchors.first().map_or(0, |first| first.stamp));
        self.in_parts()
            .map(move |anchors| &anchors[..anchors.partition_point(|it| (it.stamp - begin) % part <= part / 2)])
    }
}

/// Replaces an anchor if the other one is lower.
fn lower(known: &mut LowestPoint, anchor: LowestPoint, rate: f64) {
    if (LowestLine { through: *known, rate }).below(anchor) < 0.0 {
        *known = anchor;
    }
}
