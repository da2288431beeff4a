//! The axes of a chart, and their scales: from values to coordinates.

use super::path::Px;
use crate::units::{count, round};
use maud::{Markup, html};

/// Largest number of letters of a name at the left of a chart.
const LETTERS: usize = 18;

/// The part of a drawing that data lies in.
#[derive(Debug, Clone, Copy)]
pub(in crate::page) struct Area {
    /// Left edge.
    pub(in crate::page) left: f64,
    /// Upper edge.
    pub(in crate::page) top: f64,
    /// Right edge.
    pub(in crate::page) right: f64,
    /// Lower edge.
    pub(in crate::page) bottom: f64,
}

impl Area {
    /// Returns the width.
    pub(in crate::page) fn width(&self) -> f64 {
        self.right - self.left
    }

    /// Returns the height.
    pub(in crate::page) fn height(&self) -> f64 {
        self.bottom - self.top
    }
}

/// Draws the axis below an area, with a text for each mark and the axis' title. Texts that would touch the one before
/// are left out.
pub(in crate::page) fn across(
    area: Area,
    scale: &Scale,
    title: &str,
    marks: impl IntoIterator<Item = (f64, String)>,
) -> Markup {
    let mut free = f64::MIN;
    let marks: Vec<_> = marks
        .into_iter()
        .map(|(value, text)| {
            let (x, half) = (scale.at(value), text.chars().count() as f64 * 3.4);
            let fits = x - half > free;
            if fits {
                free = x + half + 6.0;
            }
            (x, fits.then_some(text))
        })
        .collect();
    html! {
        g.axis.across {
            @for (x, text) in marks {
                path.grid d={ "M" (Px(x)) " " (Px(area.top)) "V" (Px(area.bottom)) } {}
                @if let Some(text) = text { text x=(Px(x)) y=(Px(area.bottom + 16.0)) text-anchor="middle" { (text) } }
            }
            path.rule d={ "M" (Px(area.left)) " " (Px(area.bottom)) "H" (Px(area.right)) } {}
            text.name x=(Px((area.left + area.right) / 2.0)) y=(Px(area.bottom + 35.0)) text-anchor="middle" { (title) }
        }
    }
}

/// Draws the axis at the left of an area, with its title above it.
pub(in crate::page) fn upright(
    area: Area,
    scale: &Scale,
    title: &str,
    marks: impl IntoIterator<Item = (f64, String)>,
) -> Markup {
    html! {
        g.axis {
            @for (value, text) in marks {
                path.grid d={ "M" (Px(area.left)) " " (Px(scale.at(value))) "H" (Px(area.right)) } {}
                text x=(Px(area.left - 6.0)) y=(Px(scale.at(value) + 4.0)) text-anchor="end" { (text) }
            }
            text.name x="4" y=(Px(area.top - 12.0)) { (title) }
        }
    }
}

/// Returns the room at the left of a chart for names of rows.
pub(in crate::page) fn margin(names: &[String]) -> f64 {
    let letters = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(LETTERS);
    (letters as f64 * 6.8 + 12.0).max(52.0)
}

/// Draws names of rows at the left of an area; the rows have this height. Names of rows that are lower than a text are
/// left out, except some.
pub(in crate::page) fn bars_beside(area: Area, names: &[String], height: f64) -> Markup {
    let every = (14.0 / height.max(0.1)).ceil().max(1.0) as usize;
    html! {
        g.axis {
            @for (row, name) in names.iter().enumerate().step_by(every) {
                text x=(Px(area.left - 6.0)) y=(Px(area.top + (row as f64 + 0.5) * height + 4.0)) text-anchor="end" {
                    (shortened(name))
                }
            }
        }
    }
}

/// Returns a name that fits at the left of a chart, whole or without its middle.
pub(in crate::page) fn shortened(name: &str) -> String {
    let letters = name.chars().count();
    if letters <= LETTERS {
        return name.to_owned();
    }
    let (head, tail) = (LETTERS / 2 - 1, LETTERS / 2);
    name.chars().take(head).chain(['…']).chain(name.chars().skip(letters - tail)).collect()
}

/// A scale.
#[derive(Debug, Clone, Copy)]
pub(in crate::page) struct Scale {
    values: [f64; 2],
    pixels: [f64; 2],
    is_log: bool,
}

impl Scale {
    /// Makes a linear scale of these values over these coordinates.
    pub(in crate::page) fn linear(values: [f64; 2], pixels: [f64; 2]) -> Self {
        let [from, to] = values;
        let to = if to > from { to } else { from + 1.0 };
        Self { values: [from, to], pixels, is_log: false }
    }

    /// Makes a scale with equal room for each doubling of a value.
    pub(in crate::page) fn log(values: [f64; 2], pixels: [f64; 2]) -> Self {
        let from = values[0].max(f64::MIN_POSITIVE).log2();
        let to = values[1].max(f64::MIN_POSITIVE).log2();
        let [from, to] = if to - from < 1.0 { [from - 0.5, from + 0.5f64.max(to - from)] } else { [from, to] };
        Self { values: [from, to], pixels, is_log: true }
    }

    /// Returns the coordinate of a value; the scale's end for one beyond it.
    pub(in crate::page) fn at(&self, value: f64) -> f64 {
        let value = if self.is_log { value.max(f64::MIN_POSITIVE).log2() } else { value };
        let part = ((value - self.values[0]) / (self.values[1] - self.values[0])).clamp(0.0, 1.0);
        self.pixels[0] + part * (self.pixels[1] - self.pixels[0])
    }

    /// Returns some `about` round values of the scale with their texts.
    pub(in crate::page) fn numbers(&self, about: usize) -> Vec<(f64, String)> {
        self.marks(about).into_iter().map(|value| (value, round(value))).collect()
    }

    /// Returns some `about` round values of the scale that are whole numbers, with their texts.
    pub(in crate::page) fn counts(&self, about: usize) -> Vec<(f64, String)> {
        let whole = self.marks(about).into_iter().filter(|value| value.fract() == 0.0 && *value >= 0.0);
        whole.map(|value| (value, count(value as u64))).collect()
    }

    /// Returns some `about` round values of the scale.
    pub(in crate::page) fn marks(&self, about: usize) -> Vec<f64> {
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
pub(in crate::page) fn round_up(number: f64) -> f64 {
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
    fn texts_that_would_touch_are_left_out() {
        let area = Area { left: 0.0, top: 0.0, right: 100.0, bottom: 50.0 };
        let scale = Scale::linear([0.0, 100.0], [0.0, 100.0]);
        let text = across(area, &scale, "time, us", (0..=100).map(|mark| (f64::from(mark), mark.to_string()))).0;
        assert_eq!(text.matches(r#"text-anchor="middle">"#).count(), 7, "{text}");
        assert!(text.contains("time, us"));
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shortened("rank 3 GPU 1"), "rank 3 GPU 1");
        assert_eq!(shortened("rank 1000 to rank 1003"), "rank 100…rank 1003");
    }

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
