//! The host's clock on the clock of CUDA's events, as far as the launches so far have shown it.
//!
//! An event happens after it was recorded. So each launch limits how late the events' clock was at a time of the host.
//! The closest recent limit counts, of the last one to three seconds: in that time, the clocks of H200s and their hosts
//! drifted up to 30 us apart.

use crate::launch::Anchor;

/// Nanoseconds after which the closest limit is looked for anew. The closest one of the interval before counts as well.
const RECENT: f64 = 1e9;

/// An event that waited for the previous kernel happens less than this many nanoseconds after that kernel's last event:
/// 2.4 to 3.3 us on H200s.
const BEHIND: u64 = 4_000;

/// An anchor between two times of the host that are this many nanoseconds apart shows where the clocks are: 9 to 30 us on
/// H100s.
const CLOSE: f64 = 40e3;

/// A time of the host, ticks, and a time of the events' clock, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostMoment {
    pub(super) ticks: u64,
    pub(super) time: u64,
}

impl HostMoment {
    /// Returns the events' clock at `ticks`, nanoseconds, if this pair is of one moment.
    pub(super) fn at(self, ticks: u64, scale: f64) -> u64 {
        let after = ticks.wrapping_sub(self.ticks) as i64;
        self.time.saturating_add_signed((after as f64 * scale) as i64)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct HostClock {
    since: u64,
    current: Option<HostMoment>,
    previous: Option<HostMoment>,
    /// Time of the last kernel's last event, nanoseconds of the events' clock.
    last: Option<u64>,
    /// Time of the last close anchor, ticks.
    anchor: Option<u64>,
}

impl HostClock {
    /// Takes in a launch: the ticks right before its first event was recorded, and the times of its two events. Returns
    /// whether the first event lies right behind another kernel: it has most likely waited for that kernel, and says
    /// nothing of the clocks.
    pub(super) fn learn(&mut self, before: u64, (first, last): (u64, u64), scale: f64) -> bool {
        let is_behind = self.last.replace(last).is_some_and(|ended| first.abs_diff(ended) < BEHIND);
        if !is_behind {
            self.observe(HostMoment { ticks: before, time: first }, scale);
        }
        is_behind
    }

    /// Takes in an anchor.
    pub(super) fn anchored(&mut self, Anchor { from, until, time }: Anchor, scale: f64) {
        if until.saturating_sub(from) as f64 * scale < CLOSE {
            self.anchor = Some(from);
        }
        self.observe(HostMoment { ticks: from, time }, scale);
    }

    /// Returns whether a recent close anchor shows the clocks at `ticks`.
    pub(super) fn is_anchored(&self, ticks: u64, scale: f64) -> bool {
        self.anchor.is_some_and(|anchor| anchor.abs_diff(ticks) as f64 * scale < 2.0 * RECENT)
    }

    fn observe(&mut self, pair: HostMoment, scale: f64) {
        let age = pair.ticks.saturating_sub(self.since) as f64 * scale;
        match self.current {
            Some(best) if age < RECENT => {
                if pair.time < best.at(pair.ticks, scale) {
                    self.current = Some(pair);
                }
            }
            best => {
                self.previous = best.filter(|_| age < 2.0 * RECENT);
                (self.since, self.current) = (pair.ticks, Some(pair));
            }
        }
    }

    /// Returns the latest time of the events' clock at `ticks`, nanoseconds; 0 if nothing is known.
    pub(super) fn latest(&self, ticks: u64, scale: f64) -> u64 {
        self.current.into_iter().chain(self.previous).map(|pair| pair.at(ticks, scale)).min().unwrap_or(0)
    }
}
