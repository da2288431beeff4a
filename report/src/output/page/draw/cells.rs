//! Cells of a matrix in some levels of colour: one path for each level, so that a page with many cells stays small.
//! Levels below zero have a colour of their own.

use super::path::{Path, Px};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Number of levels of a colour, from 1; level 0 is empty.
const LEVELS: i8 = 8;

/// A matrix of levels.
#[derive(Debug, Clone)]
pub(in crate::output::page) struct Cells {
    rows: Vec<Vec<i8>>,
}

impl Cells {
    /// Takes rows of levels, -8 to 8.
    pub(in crate::output::page) fn new(rows: Vec<Vec<i8>>) -> Self {
        Self { rows }
    }

    /// Draws the cells with the upper left corner at `x`, `y`; each cell is `width` x `height`.
    pub(in crate::output::page) fn draw(&self, [x, y]: [f64; 2], [width, height]: [f64; 2]) -> Markup {
        let scaled = format!("translate({x} {y}) scale({width:.5} {height:.5})");
        html! { g.cells transform=(scaled) { (self.paths()) } }
    }

    /// Draws the cells, each 1 x 1.
    pub(in crate::output::page) fn paths(&self) -> Markup {
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
    pub(in crate::output::page) fn strip(bounds: &[String], below: &str, above: &str) -> Markup {
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
    pub(in crate::output::page) fn key(texts: &[String]) -> Markup {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_level_are_one_stroke() {
        let cells = Cells::new(vec![vec![1, 1, 0, 2, -2], vec![0, 0, 1, 1, 0]]);
        let text = cells.draw([10.0, 20.0], [4.0, 2.0]).0;
        assert!(text.contains(r#"<path class="level1" d="M0 0.5h2m0 1h2">"#), "{text}");
        assert!(text.contains(r#"<path class="level2" d="M3 0.5h1">"#), "{text}");
        assert!(text.contains(r#"<path class="under level2" d="M4 0.5h1">"#), "{text}");
        assert!(!text.contains("level0"), "{text}");
    }
}
