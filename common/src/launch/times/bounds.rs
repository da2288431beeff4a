//! Bounds of the clock of CUDA's events at times of the host.
//!
//! An event happens after the host has asked for it, and before the host learns of it. So at the first of these times
//! the events' clock showed at most the event's time, and at the second one at least that.

use super::host_clock::HostMoment;

/// Nanoseconds that the clocks may drift apart in a nanosecond: three times of what H200s and their hosts do.
const DRIFT: f64 = 30e-6;
/// Nanoseconds by which CUDA's time between two events may be off.
pub(super) const RESOLUTION: u64 = 1_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    latest: Option<HostMoment>,
    earliest: Option<HostMoment>,
}

/// Returns by how much the clocks may have drifted apart between two times in ticks, nanoseconds.
fn drift(from: u64, to: u64, scale: f64) -> u64 {
    (from.abs_diff(to) as f64 * scale * DRIFT) as u64 + RESOLUTION
}

impl Bounds {
    /// Takes in an event that happened at `time` on the events' clock, after `ticks`.
    pub(super) fn happened_after(&mut self, ticks: u64, time: u64, scale: f64) {
        if self.latest(ticks, scale).is_none_or(|latest| time < latest) {
            self.latest = Some(HostMoment { ticks, time });
        }
    }

    /// Takes in an event that happened at `time` on the events' clock, before `ticks`.
    pub(super) fn happened_before(&mut self, ticks: u64, time: u64, scale: f64) {
        if self.earliest(ticks, scale).is_none_or(|earliest| time > earliest) {
            self.earliest = Some(HostMoment { ticks, time });
        }
    }

    /// Returns the latest time that the events' clock may have shown at `ticks`; `None` where nothing is known.
    pub(super) fn latest(&self, ticks: u64, scale: f64) -> Option<u64> {
        self.latest.map(|pair| pair.at(ticks, scale).saturating_add(drift(pair.ticks, ticks, scale)))
    }

    /// Returns the earliest time that the events' clock may have shown at `ticks`; `None` where nothing is known.
    pub(super) fn earliest(&self, ticks: u64, scale: f64) -> Option<u64> {
        self.earliest.map(|pair| pair.at(ticks, scale).saturating_sub(drift(pair.ticks, ticks, scale)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_bound_counts_until_the_clocks_may_have_drifted_past_it() {
        let mut bounds = Bounds::default();
        assert_eq!([bounds.latest(5, 1.0), bounds.earliest(5, 1.0)], [None; 2]);
        bounds.happened_after(1_000_000, 5_010_000, 1.0);
        bounds.happened_before(1_000_000, 4_990_000, 1.0);
        // neither says more than what is known
        bounds.happened_after(2_000_000, 6_050_000, 1.0);
        bounds.happened_before(2_000_000, 5_950_000, 1.0);
        let at = |bounds: &Bounds, ticks| [bounds.latest(ticks, 1.0), bounds.earliest(ticks, 1.0)].map(Option::unwrap);
        assert_eq!(at(&bounds, 1_000_000), [5_011_000, 4_989_000]);
        assert_eq!(at(&bounds, 2_000_000), [6_011_030, 5_988_970]);
        // before the pair as well
        assert_eq!(at(&bounds, 0), [4_011_030, 3_988_970]);
        // ten seconds later, the clocks may be 300 us apart
        bounds.happened_after(10_001_000_000, 10_005_200_000, 1.0);
        assert_eq!(bounds.latest(10_001_000_000, 1.0), Some(10_005_201_000));
    }
}
