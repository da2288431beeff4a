//! Series: values over time, one per closed window. They go to Score-P at the end of the measurement.

use crate::notes;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// A value at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Ticks.
    pub time: u64,
    /// In the series' unit.
    pub value: f64,
}

/// Points kept of all series together, 16 MiB of them.
const MOST_POINTS: usize = 1 << 20;
/// Series kept: those of the process, and those of its first so many peers.
const MOST_SERIES: usize = 1024;

static WANTED: AtomicBool = AtomicBool::new(false);

/// Somebody will ask for series: they are kept from here on. Without, a long job would keep for hours what nobody reads.
pub fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

/// Whether somebody will.
pub fn are_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// All series of the process, by name.
#[derive(Debug, Default)]
pub struct SeriesStore {
    points: BTreeMap<String, Vec<Point>>,
    count: usize,
    left_out: u64,
}

impl SeriesStore {
    /// Adds a point; values that are no numbers are left out, as are those that find no room.
    pub fn push(&mut self, series: &str, time: u64, value: Option<f64>) {
        let Some(value) = value.filter(|value| are_wanted() && value.is_finite()) else { return };
        let full = self.points.len() >= MOST_SERIES && !self.points.contains_key(series);
        let points = if full { None } else { Some(self.points.entry(series.to_owned()).or_default()) };
        match points.filter(|_| self.count < MOST_POINTS) {
            Some(points) => {
                self.count += 1;
                points.push(Point { time, value });
            }
            None => {
                self.left_out += 1;
                notes::add("the series are incomplete: there were more windows than are kept".into());
            }
        }
    }

    /// The points of a series in the order of time, as Score-P wants them.
    pub fn sorted(&self, series: &str) -> Vec<Point> {
        let mut points = self.points.get(series).cloned().unwrap_or_default();
        points.sort_by_key(|point| point.time);
        points
    }

    /// Points that found no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_come_back_in_order() {
        want();
        let mut store = SeriesStore::default();
        store.push("a", 20, Some(2.0));
        store.push("a", 10, Some(1.0));
        store.push("a", 30, None);
        store.push("a", 30, Some(f64::NAN));
        let values: Vec<f64> = store.sorted("a").iter().map(|point| point.value).collect();
        assert_eq!(values, [1.0, 2.0]);
        assert!(store.sorted("b").is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        want();
        let mut store = SeriesStore::default();
        (0..MOST_POINTS as u64 + 5).for_each(|time| store.push("a", time, Some(0.0)));
        (0..MOST_SERIES).for_each(|peer| store.push(&format!("a@{peer}"), 0, Some(0.0)));
        assert_eq!(store.left_out(), 5 + MOST_SERIES as u64);
    }
}
