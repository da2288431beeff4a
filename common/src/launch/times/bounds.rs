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

impl HostMoment {
    /// Returns the latest time that the events' clock may have shown at `ticks`, if it showed at most this time.
    fn latest(self, ticks: u64, scale: f64) -> u64 {
        self.at(ticks, scale).saturating_add(drift(self.ticks, ticks, scale))
    }

    /// Returns the earliest time that the events' clock may have shown at `ticks`, if it showed at least this time.
    fn earliest(self, ticks: u64, scale: f64) -> u64 {
        self.at(ticks, scale).saturating_sub(drift(self.ticks, ticks, scale))
    }
}

impl Bounds {
    /// Takes in an event that happened at `time` on the events' clock, after `ticks`. What says more of the later one of
    /// two moments is kept, whichever is heard of first.
    pub(super) fn happened_after(&mut self, ticks: u64, time: u64, scale: f64) {
        let moment = HostMoment { ticks, time };
        let says_more = |of: HostMoment| {
            let at = ticks.max(of.ticks);
            moment.latest(at, scale) < of.latest(at, scale)
        };
        if self.latest.is_none_or(says_more) {
            self.latest = Some(moment);
        }
    }

    /// Takes in an event that happened at `time` on the events' clock, before `ticks`; keeps what says more, as above.
    pub(super) fn happened_before(&mut self, ticks: u64, time: u64, scale: f64) {
        let moment = HostMoment { ticks, time };
        let says_more = |of: HostMoment| {
            let at = ticks.max(of.ticks);
            moment.earliest(at, scale) > of.earliest(at, scale)
        };
        if self.earliest.is_none_or(says_more) {
            self.earliest = Some(moment);
        }
    }

    /// Returns the latest time that the events' clock may have shown at `ticks`; `None` where nothing is known.
    pub(super) fn latest(&self, ticks: u64, scale: f64) -> Option<u64> {
        self.latest.map(|moment| moment.latest(ticks, scale))
    }

    /// Returns the earliest time that the events' clock may have shown at `ticks`; `None` where nothing is known.
    pub(super) fn earliest(&self, ticks: u64, scale: f64) -> Option<u64> {
        self.earliest.map(|moment| moment.earliest(ticks, scale))
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

    /// Launches may be looked at long after they ended, and behind later ones.
    #[test]
    fn an_old_moment_takes_the_place_of_no_later_one_that_says_more_of_now() {
        let mut bounds = Bounds::default();
        bounds.happened_after(70_000_000_000, 75_010_000_000, 1.0);
        bounds.happened_before(70_000_000_000, 74_990_000_000, 1.0);
        let known = [Some(75_010_001_000), Some(74_989_999_000)];
        for old in [5_009_990_000, 5_009_000_000] {
            bounds.happened_after(0, old, 1.0);
            bounds.happened_before(0, 10_000_000_000 - old, 1.0);
            assert_eq!([bounds.latest(70_000_000_000, 1.0), bounds.earliest(70_000_000_000, 1.0)], known, "{old}");
        }
        // an old one that is much closer says more of now, too
        bounds.happened_after(0, 5_000_000_000, 1.0);
        bounds.happened_before(0, 5_000_000_000, 1.0);
        let known = [Some(75_002_101_000), Some(74_997_899_000)];
        assert_eq!([bounds.latest(70_000_000_000, 1.0), bounds.earliest(70_000_000_000, 1.0)], known);
    }
}
