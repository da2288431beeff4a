//! The likely drift of the clocks.

use super::straight::Sides;
use super::{GpuTrack, Lowest, TrackClocks, WANDER};

/// Drift of most clocks. What a short run shows of a larger one is most likely chance.
const USUAL_DRIFT: f64 = 10e-6;

/// Nanoseconds by which one of the closest pairs is closer than another by chance.
const CHANCE: f64 = 3_000.0;

/// Part of a run that anchors have to cover before they show its drift.
const NEARLY_ALL: f64 = 0.9;

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

impl GpuTrack {
    /// Returns the least and the most drift of the clocks, assuming that the closest pairs are close by chance and do
    /// not come ever later.
    pub(super) fn likely_drift(&self, nominal: f64) -> [f64; 2] {
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
        if self.clocks == TrackClocks::Events { &self.enqueued } else { &self.told }
    }

    /// Returns the least and the most drift of the clocks. If both sides of one of the `clocks` of this timer leave room
    /// for straight lines, `late` nanoseconds at most, and do so nearly throughout, the drift is most likely near the mean
    /// of three estimates:
    ///
    /// - the trend of one side;
    /// - the drift of these straight lines;
    /// - the usual drift, which is small: in a short run, the others show chance.
    ///
    /// `rates` are those of the lines between the sides of all `clocks`.
    pub(super) fn drift_by_anchors(
        &self,
        (clocks, rates): (&[Sides], Option<[f64; 3]>),
        late: f64,
        nominal: f64,
    ) -> [f64; 2] {
        let most = self.most_drift();
        let length = self.told.length().max(self.enqueued.length());
        let is_shown = |[_, rate, _]: &[f64; 3]| {
            clocks.iter().any(|sides| sides.room(*rate) <= late * nominal && sides.length() >= NEARLY_ALL * length)
        };
        let Some(rates) = rates.filter(is_shown) else { return self.likely_drift(nominal) };
        let [slowest, drift, fastest] = rates.map(|rate| rate / nominal - 1.0);
        let even = Estimate { drift, deviation: WANDER / 2.0 + (fastest - slowest) / 8.0 };
        let chance = CHANCE / self.close_side().length();
        let trend = self.trend(nominal).map(|(drift, change)| Estimate { drift, deviation: change / 2.0 + chance });
        let usual = Estimate { drift: 0.0, deviation: USUAL_DRIFT };
        let Estimate { drift, deviation } = Estimate::mean(trend.into_iter().chain([even, usual]));
        [drift - WANDER - deviation, drift + WANDER + deviation].map(|drift| drift.clamp(-most, most))
    }
}
