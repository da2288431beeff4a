//! Cells of a matrix in some levels of colour, one path for each level, so that a page with many cells stays small; and
//! the part of a drawing that has coordinates of its own, whose values the page's script shows.

use super::axes::Area;
use super::path::{Path, Px};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Number of levels of a colour, from 1; level 0 is empty.
const LEVELS: i8 = 8;

/// A matrix of levels.
#[derive(Debug, Clone)]
pub(in crate::page) struct Cells {
    rows: Vec<Vec<i8>>,
}

impl Cells {
    /// Takes rows of levels, -8 to 8.
    pub(in crate::page) fn new(rows: Vec<Vec<i8>>) -> Self {
        Self { rows }
    }

    /// Draws the cells with the upper left corner at `x`, `y`; each cell is `width` x `height`.
    pub(in crate::page) fn draw(&self, [x, y]: [f64; 2], [width, height]: [f64; 2]) -> Markup {
        let scaled = format!("translate({x} {y}) scale({width:.5} {height:.5})");
        html! { g.cells transform=(scaled) { (self.paths()) } }
    }

    /// Draws the cells, each 1 x 1.
    pub(in crate::page) fn paths(&self) -> Markup {
        let mut levels: BTreeMap<i8, Path> = BTreeMap::new();
        for (row, cells) in self.rows.iter().enumerate() {
            let mut column = 0;
            for run in cells.chunk_by(|a, b| a == b) {
                if let Some(level) = run.first().filter(|level| **level != 0 && level.abs() <= LEVELS) {
                    let path = levels.entry(*level).or_default();
                    path.stroke(column as f64, row as f64 + 0.5, run.len() as f64);
                }
                column += run.len();
            }
        }
        html! { @for (level, path) in levels { path class=(class(level)) d=(path.data()) {} } }
    }

    /// Draws a key of both colours: the bounds of levels, with their texts, on a strip from the lowest to the highest.
    pub(in crate::page) fn strip(bounds: &[String], below: &str, above: &str) -> Markup {
        const BOX: f64 = 34.0;
        let levels = bounds.len() as i8;
        let x = |level: i8| 4.0 + BOX * f64::from(level + levels);
        let width = x(levels + 1) + 4.0;
        let texts = || bounds.iter().zip(1_i8..);
        html! {
            svg.strip viewBox={ "0 0 " (Px(width)) " 48" } {
                g.cells transform={ "translate(" (Px(x(-levels))) " 16) scale(" (Px(BOX)) " 12)" } {
                    @for level in (-levels..=levels).filter(|level| *level != 0) {
                        path class=(class(level)) d={ "M" (level + levels) " .5h1" } {}
                    }
                }
                rect.outline x=(Px(x(-levels))) y="16" width=(Px(x(levels + 1) - x(-levels))) height="12" {}
                @for (text, level) in texts() {
                    text x=(Px(x(level))) y="42" text-anchor="middle" { "+" (text) }
                    text x=(Px(x(1 - level))) y="42" text-anchor="middle" { "−" (text) }
                }
                text x=(Px(x(-levels))) y="11" { (below) }
                text x=(Px(x(levels + 1))) y="11" text-anchor="end" { (above) }
            }
        }
    }

    /// Draws a key: a box for each level with the text of its lower bound.
    pub(in crate::page) fn key(texts: &[String]) -> Markup {
        html! {
            ul.key {
                @for (level, text) in texts.iter().enumerate() {
                    li { (swatch(level as i8 + 1)) " " (text) }
                }
            }
        }
    }
}

/// Returns the class of a level.
fn class(level: i8) -> String {
    if level < 0 { format!("under level{}", -level) } else { format!("level{level}") }
}

/// Draws the box of a level.
fn swatch(level: i8) -> Markup {
    html! {
        svg.swatch width="18" height="12" aria-hidden="true" {
            g.cells transform="scale(18 12)" { path class=(class(level)) d="M0 .5h1" {} }
            rect.outline x=(Px(0.5)) y=(Px(0.5)) width="17" height="11" {}
        }
    }
}

/// A plot. Its content is as wide and high as `size`, and is stretched to `area`.
#[derive(Debug, Clone)]
pub(in crate::page) struct Plot {
    /// Class: `map` for cells with values, `calls` for strokes of calls.
    pub(in crate::page) class: &'static str,
    /// Where it lies in the drawing.
    pub(in crate::page) area: Area,
    /// Width and height of the content.
    pub(in crate::page) size: [f64; 2],
    /// First GPU of each row, from above.
    pub(in crate::page) rows: Vec<usize>,
    /// Neighbouring GPUs of a row.
    pub(in crate::page) together: usize,
    /// What the left and the right edge stand for.
    pub(in crate::page) span: [f64; 2],
    /// Unit of `span` for a map over time; `None` if a map's columns are steps.
    pub(in crate::page) across: Option<&'static str>,
    /// Unit of the values: that of `span` for calls.
    pub(in crate::page) unit: &'static str,
    /// Values of a map, and the largest one that they may have.
    pub(in crate::page) values: Option<(String, f64)>,
}

impl Plot {
    /// Draws the plot around its content.
    pub(in crate::page) fn draw(&self, content: &Markup) -> Markup {
        let [width, height] = self.size;
        let rows = self.rows.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        html! {
            svg class={ "plot " (self.class) } x=(Px(self.area.left)) y=(Px(self.area.top))
                width=(Px(self.area.width())) height=(Px(self.area.height()))
                viewBox={ "0 0 " (Px(width)) " " (Px(height)) } preserveAspectRatio="none"
                data-rows=(rows) data-together=(self.together) data-from=(self.span[0]) data-to=(self.span[1])
                data-across=[self.across] data-unit=(self.unit) data-most=[self.values.as_ref().map(|(_, most)| *most)]
                data-values=[self.values.as_ref().map(|(values, _)| values)] {
                // what no stroke covers hears of the pointer, too
                rect.bare width=(Px(width)) height=(Px(height)) {}
                (content)
            }
        }
    }
}

/// Writes values of a map as two digits of base 64 each: from 1, for the largest one below zero, over 2048 for zero to
/// 4095 for the largest one. 0 stands for an unknown one, which is no number.
pub(in crate::page) fn digits(values: impl IntoIterator<Item = f32>, most: f64) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digit = |place: usize| char::from(DIGITS.get(place % 64).copied().unwrap_or(b'A'));
    let mut text = String::new();
    for value in values {
        let part = if most > 0.0 { (f64::from(value) / most).clamp(-1.0, 1.0) } else { 0.0 };
        // of a value that is no number, this is 0
        let number = (2048.0 + (part * 2047.0).round()) as usize;
        text.extend([digit(number / 64), digit(number)]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{digits, *};

    #[test]
    fn neighbours_of_one_level_are_one_stroke() {
        let cells = Cells::new(vec![vec![1, 1, 0, 2, -2], vec![0, 0, 1, 1, 0]]);
        let text = cells.draw([10.0, 20.0], [4.0, 2.0]).0;
        assert!(text.contains(r#"<path class="level1" d="M0 0.5h2m0 1h2">"#), "{text}");
        assert!(text.contains(r#"<path class="level2" d="M3 0.5h1">"#), "{text}");
        assert!(text.contains(r#"<path class="under level2" d="M4 0.5h1">"#), "{text}");
        assert!(!text.contains("level0"), "{text}");
    }

    #[test]
    fn values_have_two_digits() {
        assert_eq!(digits([0.0, 8.0, -8.0, 4.0, 99.0], 8.0), "gA__ABwA__");
        assert_eq!(digits([1.0], 0.0), "gA");
        assert_eq!(digits([f32::NAN, 8.0], 8.0), "AA__");
    }
}
