//! The newest values of somebody who is compared with others, and whether he stands out.

use report::analysis::robust::{NORMAL, median};

/// Values that are kept, the newest ones.
pub(super) const KEPT: usize = 16;
/// Values in a row after which somebody has begun to stand out, or does no more.
pub(super) const HELD: u8 = 4;
/// Values that must be there before anything is said.
const LEAST: usize = 5;

/// How far a value is beyond those of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beyond {
    /// Not so far as half the threshold.
    No,
    /// More than half the threshold.
    Half,
    /// More than the threshold.
    Whole,
}

impl Beyond {
    /// Compares a value and its robust z with their thresholds.
    pub(super) fn of(value: f64, least: f64, z: f64, least_z: f64) -> Self {
        if value > least && z > least_z {
            Self::Whole
        } else if value > least / 2.0 && z > least_z / 2.0 {
            Self::Half
        } else {
            Self::No
        }
    }
}

/// What a value has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Same,
    Begins,
    Over,
}

/// The track of one value: of a rank's excess in windows of one length, or of a link's rate.
#[derive(Debug, Clone, Default)]
pub(super) struct Track {
    values: [f32; KEPT],
    count: u32,
    /// Values in a row beyond the threshold; of who stands out: in a row below half of it.
    row: u8,
    /// Values in a row between half the threshold and the threshold, which do not end `row`.
    halves: u8,
    pub(super) stands: bool,
}

impl Track {
    /// Returns whether there are enough values for a judgement.
    pub(super) fn is_known(&self) -> bool {
        self.count as usize >= LEAST
    }

    /// Returns the number of values in a row beyond the threshold.
    pub(super) fn rising(&self) -> u8 {
        if self.stands { 0 } else { self.row }
    }

    /// Returns the newest values, at most so many, the newest first.
    pub(super) fn newest(&self, most: usize) -> impl Iterator<Item = f64> {
        let there = (self.count as usize).min(KEPT).min(most);
        (0..there).map(|back| f64::from(self.values[(self.count as usize - 1 - back) % KEPT]))
    }

    /// Returns the median of the newest values.
    pub(super) fn recent(&self, most: usize) -> f64 {
        median(&mut self.newest(most).collect::<Vec<f64>>())
    }

    /// Returns the median of the values before the newest so many; `None` where there are not enough.
    pub(super) fn usual(&self, without: usize) -> Option<f64> {
        let mut earlier: Vec<f64> = self.newest(KEPT).skip(without).collect();
        (earlier.len() >= LEAST).then(|| median(&mut earlier))
    }

    /// Returns the deviation of single values: of the differences of neighbours, which a lasting change does not widen.
    pub(super) fn deviation(&self) -> f64 {
        let values: Vec<f64> = self.newest(KEPT).collect();
        let mut steps: Vec<f64> = values.windows(2).map(|pair| (pair[0] - pair[1]).abs()).collect();
        NORMAL * median(&mut steps) / std::f64::consts::SQRT_2
    }

    /// Takes a value.
    pub(super) fn take(&mut self, value: f64, beyond: Beyond) -> Turn {
        let is_known = self.is_known();
        self.values[self.count as usize % KEPT] = value as f32;
        // from there on only the place in the ring matters
        self.count = if self.count == u32::MAX { KEPT as u32 } else { self.count + 1 };
        self.halves = if beyond == Beyond::Half { self.halves.saturating_add(1) } else { 0 };
        self.row = match (self.stands, beyond) {
            (false, Beyond::Whole) if is_known => self.row.saturating_add(1),
            (false, Beyond::Half) if self.halves < HELD => self.row,
            (true, Beyond::No) => self.row.saturating_add(1),
            _ => 0,
        };
        if self.row < HELD {
            return Turn::Same;
        }
        (self.stands, self.row) = (!self.stands, 0);
        if self.stands { Turn::Begins } else { Turn::Over }
    }

    /// Returns whether it stands out, and its newest value is below half the threshold.
    pub(super) fn is_falling(&self) -> bool {
        self.stands && self.row > 0
    }

    /// Interrupts what is in a row: there is a look without a value.
    pub(super) fn pause(&mut self) {
        (self.row, self.halves) = (0, 0);
    }

    /// Forgets that it stands out, and keeps the values.
    pub(super) fn settle(&mut self) {
        (self.stands, self.row) = (false, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wild_value_changes_nothing_and_four_in_a_row_do() {
        let mut track = Track::default();
        (0..9).for_each(|_| assert_eq!(track.take(0.0, Beyond::No), Turn::Same));
        assert_eq!([track.take(9.0, Beyond::Whole), track.take(0.0, Beyond::No)], [Turn::Same; 2]);
        let turns: Vec<Turn> = (0..4).map(|_| track.take(2.0, Beyond::Whole)).collect();
        assert_eq!(turns, [Turn::Same, Turn::Same, Turn::Same, Turn::Begins]);
        assert_eq!((track.recent(4), track.usual(5), track.deviation()), (2.0, Some(0.0), 0.0));
        let turns: Vec<Turn> = (0..4).map(|_| track.take(0.0, Beyond::No)).collect();
        assert_eq!(turns[3], Turn::Over);
    }

    #[test]
    fn values_beyond_the_threshold_are_not_hours_apart() {
        let mut track = Track::default();
        (0..9).for_each(|_| assert_eq!(track.take(0.0, Beyond::No), Turn::Same));
        for _ in 0..9 {
            assert_eq!(track.take(2.0, Beyond::Whole), Turn::Same);
            (0..=HELD).for_each(|_| assert_eq!(track.take(1.0, Beyond::Half), Turn::Same));
            assert_eq!(track.rising(), 0);
        }
    }

    #[test]
    fn nothing_is_judged_before_it_is_known() {
        let mut track = Track::default();
        let turns: Vec<Turn> = (0..9).map(|_| track.take(1.0, Beyond::Whole)).collect();
        assert_eq!(turns.iter().position(|turn| *turn == Turn::Begins), Some(8));
    }
}
