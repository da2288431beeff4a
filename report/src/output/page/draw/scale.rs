//! The scale of an axis: from values to coordinates.

use crate::output::units::{count, round};

/// A scale.
#[derive(Debug, Clone, Copy)]
pub(in crate::output::page) struct Scale {
    values: [f64; 2],
    pixels: [f64; 2],
    is_log: bool,
}

impl Scale {
    /// Makes a linear scale of these values over these coordinates.
    pub(in crate::output::page) fn linear(values: [f64; 2], pixels: [f64; 2]) -> Self {
        let [from, to] = values;
        let to = if to > from { to } else { from + 1.0 };
        Self { values: [from, to], pixels, is_log: false }
    }

    /// Makes a scale with equal room for each doubling of a value.
    pub(in crate::output::page) fn log(values: [f64; 2], pixels: [f64; 2]) -> Self {
        let from = values[0].max(f64::MIN_POSITIVE).log2();
        let to = values[1].max(f64::MIN_POSITIVE).log2();
        let [from, to] = if to - from < 1.0 { [from - 0.5, from + 0.5f64.max(to - from)] } else { [from, to] };
        Self { values: [from, to], pixels, is_log: true }
    }

    /// Returns the coordinate of a value; the scale's end for one beyond it.
    pub(in crate::output::page) fn at(&self, value: f64) -> f64 {
        let value = if self.is_log { value.max(f64::MIN_POSITIVE).log2() } else { value };
        let part = ((value - self.values[0]) / (self.values[1] - self.values[0])).clamp(0.0, 1.0);
        self.pixels[0] + part * (self.pixels[1] - self.pixels[0])
    }

    /// Returns some `about` round values of the scale with their texts.
    pub(in crate::output::page) fn numbers(&self, about: usize) -> Vec<(f64, String)> {
        self.marks(about).into_iter().map(|value| (value, round(value))).collect()
    }

    /// Returns some `about` round values of the scale that are whole numbers, with their texts.
    pub(in crate::output::page) fn counts(&self, about: usize) -> Vec<(f64, String)> {
        let whole = self.marks(about).into_iter().filter(|value| value.fract() == 0.0 && *value >= 0.0);
        whole.map(|value| (value, count(value as u64))).collect()
    }

    /// Returns some `about` round values of the scale.
    pub(in crate::output::page) fn marks(&self, about: usize) -> Vec<f64> {
        let [from, to] = self.values;
        let room = (to - from) / about.max(1) as f64;
        let step = if self.is_log { room.ceil().max(1.0) } else { round_up(room) };
        let (first, last) = ((from / step - 1e-9).ceil() as i64, (to / step + 1e-9).floor() as i64);
        let value = |place: i64| {
            let value = place as f64 * step;
            if self.is_log { value.exp2() } else { value }
        };
        (first..=last.min(first.saturating_add(100))).map(value).collect()
    }
}

/// Returns the smallest of 1, 2, 5, 10 and so on that is not below a number.
pub(in crate::output::page) fn round_up(number: f64) -> f64 {
    let power = 10f64.powf(number.max(f64::MIN_POSITIVE).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|round| *round >= number * 0.999)
        .unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_between_the_ends() {
        let scale = Scale::linear([0.0, 200.0], [10.0, 110.0]);
        assert_eq!([0.0, 50.0, 200.0, 900.0].map(|value| scale.at(value)), [10.0, 35.0, 110.0, 110.0]);
        let scale = Scale::log([1024.0, 1_048_576.0], [0.0, 100.0]);
        assert_eq!([512.0, 1024.0, 32_768.0].map(|value| scale.at(value)), [0.0, 0.0, 50.0]);
    }

    #[test]
    fn marks_are_round() {
        assert_eq!(Scale::linear([0.0, 410.0], [0.0, 1.0]).marks(5), [0.0, 100.0, 200.0, 300.0, 400.0]);
        assert_eq!(Scale::linear([-3.0, 5.0], [0.0, 1.0]).marks(4), [-2.0, 0.0, 2.0, 4.0]);
        assert_eq!(Scale::log([1024.0, 4096.0], [0.0, 1.0]).marks(4), [1024.0, 2048.0, 4096.0]);
        assert_eq!(Scale::linear([2.0, 2.0], [0.0, 1.0]).marks(2), [2.0, 2.5, 3.0]);
    }
}
