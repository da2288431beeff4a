//! The pairs of stamp and ticks with the fewest ticks for their stamp, one for each stretch of time.

/// Stretches kept apart; when there are more, stretches twice as long are.
pub(super) const MOST: usize = 1024;

/// Parts of the time that are looked at for how straight a line is.
pub(super) const PARTS: u64 = 8;

/// A moment on both clocks, or the bound of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Anchor {
    pub(super) stamp: u64,
    pub(super) ticks: u64,
}

impl Anchor {
    /// Stamps and ticks from another to this one.
    pub(super) fn since(self, other: Self) -> (f64, f64) {
        let difference = |to: u64, from: u64| (i128::from(to) - i128::from(from)) as f64;
        (difference(self.stamp, other.stamp), difference(self.ticks, other.ticks))
    }
}

/// A straight line of ticks over stamps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    through: Anchor,
    /// Ticks per stamp.
    pub(super) rate: f64,
}

impl Line {
    fn between(from: Anchor, to: Anchor) -> Self {
        let (stamps, ticks) = to.since(from);
        Self { through: from, rate: ticks / stamps }
    }

    /// Ticks by which an anchor lies above.
    fn below(self, anchor: Anchor) -> f64 {
        let (stamps, ticks) = anchor.since(self.through);
        ticks - stamps * self.rate
    }
}

/// The lowest anchor of each stretch of time.
#[derive(Debug, Default, Clone)]
pub(super) struct Lowest {
    /// One a stretch, ascending.
    anchors: Vec<Anchor>,
    /// A stretch is this power of two of stamps long.
    length: u32,
    /// Ticks per stamp, as far as it was known when stretches became longer: by as much as it is off, the anchor kept
    /// of a stretch is not the lowest, at most by so much of the stretch's length.
    rate: f64,
}

impl Lowest {
    pub(super) fn anchors(&self) -> &[Anchor] {
        &self.anchors
    }

    /// Takes an anchor in.
    pub(super) fn add(&mut self, anchor: Anchor) {
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

    /// Makes stretches as much longer as leaves room for a while.
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

    fn ends(&self) -> Option<(Anchor, Anchor)> {
        Some((*self.anchors.first()?, *self.anchors.last()?))
    }

    /// The line that lies closest below all anchors, in the middle of their time: an edge of their lower hull. That is
    /// how clocks drift, if callbacks are late by chance. `None` of fewer than two anchors.
    pub(super) fn line(&self) -> Option<Line> {
        let (first, last) = self.ends()?;
        let middle = first.stamp.midpoint(last.stamp);
        let mut hull: Vec<Anchor> = Vec::new();
        for &anchor in &self.anchors {
            while let [.., before, corner] = hull[..]
                && Line::between(before, anchor).below(corner) >= 0.0
            {
                hull.pop();
            }
            hull.push(anchor);
        }
        let edge = hull.windows(2).find(|edge| edge[1].stamp > middle)?;
        Some(Line::between(edge[0], edge[1]))
    }

    /// How much steeper or flatter than the line ticks rise at times, ticks per stamp: the lowest anchor of a part of
    /// the time lies at most so far above the line as comes together in a part.
    pub(super) fn unevenness(&self, line: Line) -> f64 {
        let lowest = self.in_parts().filter_map(|part| part.iter().map(|&anchor| line.below(anchor)).reduce(f64::min));
        lowest.fold(0.0, f64::max) / self.part() as f64
    }

    /// How many stamps a part has.
    fn part(&self) -> u64 {
        self.ends().map_or(1, |(first, last)| (last.stamp - first.stamp) / PARTS + 1)
    }

    fn in_parts(&self) -> impl Iterator<Item = &[Anchor]> {
        let (part, begin) = (self.part(), self.anchors.first().map_or(0, |first| first.stamp));
        self.anchors.chunk_by(move |a, b| (a.stamp - begin) / part == (b.stamp - begin) / part)
    }

    /// The anchors in the first half of each part: those of two parts are half a part apart at least.
    pub(super) fn in_first_halves(&self) -> impl Iterator<Item = &[Anchor]> {
        let (part, begin) = (self.part(), self.anchors.first().map_or(0, |first| first.stamp));
        self.in_parts()
            .map(move |anchors| &anchors[..anchors.partition_point(|it| (it.stamp - begin) % part <= part / 2)])
    }
}

/// Takes the lower of two anchors.
fn lower(known: &mut Anchor, anchor: Anchor, rate: f64) {
    if (Line { through: *known, rate }).below(anchor) < 0.0 {
        *known = anchor;
    }
}
