//! The windows of a communicator, as sums.

use crate::figures::metric::Figure;
use crate::sums::enough::speaks_for_all;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Sums of what was enqueued in a window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WindowTotals {
    /// Bytes sent over the network.
    pub bytes: u64,
    /// Time with a send over the network under way, ticks.
    pub active: u64,
    /// Latency of these sends, if a fit gives one.
    pub latency_us: Option<f64>,
    /// Number of collectives.
    pub collectives: u64,
    /// Number of GPU-timed collectives.
    pub timed: u64,
    /// Sum of the GPU-timed collectives' times, nanoseconds.
    pub nanoseconds: u64,
    /// Sum over the GPU-timed collectives with a bus bandwidth: bytes times the function's factor.
    pub bus_bytes: f64,
    /// Sum of their kernels' times, nanoseconds. Each kernel counts with its first operation that has a bus bandwidth.
    pub bus_nanoseconds: u64,
}

impl WindowTotals {
    /// Adds more sums of the same window. A known latency replaces the earlier one.
    pub fn add(&mut self, more: &Self) {
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.active = self.active.saturating_add(more.active);
        self.latency_us = more.latency_us.or(self.latency_us);
        self.collectives += more.collectives;
        self.timed += more.timed;
        self.nanoseconds = self.nanoseconds.saturating_add(more.nanoseconds);
        self.bus_bytes += more.bus_bytes;
        self.bus_nanoseconds = self.bus_nanoseconds.saturating_add(more.bus_nanoseconds);
    }

    /// Returns a figure's value in the series' unit. `None` for a window without data, and for collectives if the GPU
    /// has timed too few.
    pub(super) fn value(&self, figure: Figure, nanoseconds_per_tick: f64) -> Option<f64> {
        let ratio = |above: f64, below: f64| (below > 0.0).then(|| above / below).filter(|value| value.is_finite());
        let of_timed =
            |above: f64, below: f64| ratio(above, below).filter(|_| speaks_for_all(self.timed, self.collectives));
        match figure {
            Figure::TransferRate => ratio(self.bytes as f64 * 1e9, self.active as f64 * nanoseconds_per_tick),
            Figure::TransferLatency => self.latency_us.map(|latency| latency * 1e3).filter(|value| value.is_finite()),
            Figure::CollectiveTime => of_timed(self.nanoseconds as f64, self.timed as f64),
            Figure::BusBandwidth => of_timed(self.bus_bytes * 1e9, self.bus_nanoseconds as f64),
            // of the process, and of no window
            Figure::NvlinkSent | Figure::NvlinkReceived => None,
        }
    }
}

/// Windows by opening time.
pub(super) type Windows = BTreeMap<u64, WindowTotals>;

/// The windows of a communicator that has series of its own.
#[derive(Debug, Default)]
pub(super) struct OwnWindows {
    /// Its name, as for lanes.
    pub(super) name: Option<String>,
    /// Opening times of windows. Each window ends where the next one begins.
    openings: BTreeSet<u64>,
    /// Opening time of the first window for which there was no room.
    full_from: Option<u64>,
    /// End of the communicator.
    ended: Option<u64>,
    pub(super) all: Windows,
    pub(super) peers: BTreeMap<i32, Windows>,
}

impl OwnWindows {
    /// Notes that a window opened at this time. The first window without room ends the windows that are kept. Returns
    /// whether one more opening is kept.
    pub(super) fn open(&mut self, time: u64, has_room: bool) -> bool {
        if !has_room && self.full_from.is_none() && !self.openings.contains(&time) {
            self.full_from = Some(time);
        }
        self.full_from.is_none_or(|full| time <= full) && self.openings.insert(time)
    }

    /// Returns whether the window at this time is not kept.
    pub(super) fn is_full_at(&self, time: u64) -> bool {
        self.full_from.is_some_and(|full| time >= full)
    }

    pub(super) fn end(&mut self, time: u64) {
        self.ended.get_or_insert(time);
    }

    /// Returns the opening time of the window at this time.
    pub(super) fn window_at(&self, time: u64) -> u64 {
        let before = self.openings.range(..=time).next_back();
        before.or_else(|| self.openings.first()).copied().unwrap_or(0)
    }

    /// Returns the end of the window with this opening time; the largest number while it is unknown.
    pub(super) fn end_of(&self, opening: u64) -> u64 {
        let next = self.openings.range((Bound::Excluded(opening), Bound::Unbounded)).next();
        next.copied().or(self.ended.map(|ended| ended.max(opening))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_where_the_next_begins_and_the_last_with_the_communicator() {
        let mut line = OwnWindows::default();
        assert!([100, 300, 200].map(|time| line.open(time, true)).iter().all(|&new| new) && !line.open(200, false));
        assert_eq!([100, 199, 200, 5000, 7].map(|time| line.window_at(time)), [100, 100, 200, 300, 100]);
        assert_eq!([100, 200, 300].map(|opening| line.end_of(opening)), [200, 300, u64::MAX]);
        line.end(450);
        line.end(900);
        assert_eq!(line.end_of(300), 450);
        // windows without room end the last window that is kept
        assert!(line.open(400, false) && !line.open(420, false) && !line.open(430, true));
        assert_eq!([300, 400].map(|time| line.end_of(time)), [400, 450]);
        assert_eq!([399, 400, 430].map(|time| line.is_full_at(time)), [false, true, true]);
    }

    #[test]
    fn values_are_ratios_of_sums() {
        let sums = WindowTotals {
            bytes: 8_000_000,
            active: 2_000_000,
            latency_us: Some(3.5),
            collectives: 4,
            timed: 4,
            nanoseconds: 10_000,
            bus_bytes: 600.0,
            bus_nanoseconds: 30,
        };
        let figures = [Figure::TransferRate, Figure::TransferLatency, Figure::CollectiveTime, Figure::BusBandwidth];
        // a tick is half a nanosecond: 8 MB in 1 ms
        assert_eq!(figures.map(|figure| sums.value(figure, 0.5)), [Some(8e9), Some(3500.0), Some(2500.0), Some(20e9)]);
        assert_eq!(figures.map(|figure| WindowTotals::default().value(figure, 0.5)), [None; 4]);
        // nine of ten are enough, and the mean is over these nine
        let of = |timed, collectives| WindowTotals { timed, collectives, ..sums }.value(Figure::CollectiveTime, 0.5);
        assert_eq!([of(9, 10), of(8, 9)], [Some(10_000.0 / 9.0), None]);
        assert_eq!(WindowTotals { timed: 1, collectives: 2, ..sums }.value(Figure::BusBandwidth, 0.5), None);
        let mut twice = sums;
        twice.add(&WindowTotals { latency_us: None, ..sums });
        assert_eq!(figures.map(|figure| twice.value(figure, 0.5)), figures.map(|figure| sums.value(figure, 0.5)));
    }
}
