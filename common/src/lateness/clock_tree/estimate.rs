//! Where a clock most likely stood, beside what is certain.

/// Most that two clocks drift apart in an estimate: each by 100 ppm. Moments that show more are of no two clocks.
const MOST_DRIFT: f64 = 200e-6;

/// What a parent's clock most likely showed at the times of a process' clock: straight lines between moments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Estimate {
    /// At least one, ascending on both clocks.
    moments: Vec<MomentOnBoth>,
    /// Error that 19 of 20 times do not exceed, ticks.
    likely: f64,
}

/// The same moment on both clocks, ticks of each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MomentOnBoth {
    pub(crate) own: u64,
    pub(crate) parents: u64,
}

impl MomentOnBoth {
    /// Returns the ticks that the parent's clock gains per own tick until a later moment.
    fn gain(self, later: Self) -> f64 {
        let [own, parents] =
            [(later.own, self.own), (later.parents, self.parents)].map(|(to, from)| i128::from(to) - i128::from(from));
        (parents - own) as f64 / own as f64
    }
}

impl Estimate {
    /// Makes an estimate. `None` without moments, and for moments that are not of two clocks.
    pub(crate) fn new(moments: Vec<MomentOnBoth>, likely: f64) -> Option<Self> {
        let is_drift = |pair: &[MomentOnBoth]| pair[0].own < pair[1].own && pair[0].gain(pair[1]).abs() <= MOST_DRIFT;
        let are_of_clocks = !moments.is_empty() && moments.windows(2).all(is_drift);
        (are_of_clocks && likely.is_finite() && likely >= 0.0).then_some(Self { moments, likely })
    }

    /// Returns the same estimate seen from the parent.
    pub(crate) fn reversed(mut self) -> Self {
        self.moments.iter_mut().for_each(|it| *it = MomentOnBoth { own: it.parents, parents: it.own });
        self
    }

    /// Returns the parent's ticks at these own ticks.
    pub(super) fn parents_ticks(&self, ticks: u64) -> i128 {
        let last = self.moments.len() - 1;
        // before the first moment and after the last one, the nearest line goes on
        let from = self.moments.partition_point(|moment| moment.own <= ticks).clamp(1, last.max(1)) - 1;
        let gain = self.moments.get(from + 1).map_or(0.0, |&next| self.moments[from].gain(next));
        let since = i128::from(ticks) - i128::from(self.moments[from].own);
        i128::from(self.moments[from].parents) + since + (since as f64 * gain).round() as i128
    }

    /// Returns the error that 19 of 20 times do not exceed, ticks.
    pub(super) fn likely(&self) -> f64 {
        self.likely
    }
}

/// How far a time may be off, ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Uncertainty {
    /// How much earlier and how much later it may be.
    pub certain: [f64; 2],
    /// Error that 19 of 20 times do not exceed.
    pub likely: f64,
}

impl Uncertainty {
    /// Returns the uncertainty of a time of which nothing but its largest error is known.
    pub(super) fn even(error: f64) -> Self {
        Self { certain: [error; 2], likely: error }
    }

    /// Returns the uncertainty of a time that lies `off` from the middle of its bounds, and whose estimate lies `beside`
    /// them.
    pub(super) fn within(error: f64, off: f64, beside: f64, likely: f64) -> Self {
        let certain = [error + off, error - off];
        Self { certain, likely: (likely + beside).min(error + off.abs()) }
    }

    /// Returns the larger one of the two certain errors.
    pub fn error(self) -> f64 {
        self.certain[0].max(self.certain[1])
    }

    /// Returns the uncertainty of two steps, one after the other. Their estimates are independent.
    pub(super) fn and(self, next: Self) -> Self {
        let certain = [0, 1].map(|side| self.certain[side] + next.certain[side]);
        Self { certain, likely: self.likely.hypot(next.likely) }
    }

    pub(super) fn scaled(self, by: f64) -> Self {
        Self { certain: self.certain.map(|error| error * by), likely: self.likely * by }
    }
}
