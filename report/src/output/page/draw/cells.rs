//! Cells of a matrix in some levels of colour: one path for each level, so that a page with many cells stays small.

use super::path::{Path, Px};
use maud::{Markup, html};

/// Number of levels of colour, from 1; level 0 is empty.
pub(in crate::output::page) const LEVELS: usize = 8;

/// A matrix of levels.
#[derive(Debug, Clone)]
pub(in crate::output::page) struct Cells {
    rows: Vec<Vec<u8>>,
}

impl Cells {
    /// Takes rows of levels, 0 to 8.
    pub(in crate::output::page) fn new(rows: Vec<Vec<u8>>) -> Self {
        Self { rows }
    }

    /// Draws the cells with the upper left corner at `x`, `y`; each cell is `width` x `height`.
    pub(in crate::output::page) fn draw(&self, [x, y]: [f64; 2], [width, height]: [f64; 2]) -> Markup {
        let mut levels = vec![Path::default(); LEVELS + 1];
        for (row, cells) in self.rows.iter().enumerate() {
            let mut column = 0;
            for run in cells.chunk_by(|a, b| a == b) {
                if let Some(path) =
                    run.first().filter(|level| **level > 0).and_then(|level| levels.get_mut(*level as usize))
                {
                    path.stroke(column as f64, row as f64 + 0.5, run.len() as f64);
                }
                column += run.len();
            }
        }
        let scaled = format!("translate({x} {y}) scale({width:.5} {height:.5})");
        html! {
            g.cells transform=(scaled) {
                @for (level, path) in levels.into_iter().enumerate().filter(|(_, path)| !path.is_empty()) {
                    path class={ "level" (level) } d=(path.data()) {}
                }
            }
        }
    }

    /// Draws a key: a box for each level with the text of its lower bound.
    pub(in crate::output::page) fn key(texts: &[String]) -> Markup {
        html! {
            ul.key {
                @for (level, text) in texts.iter().enumerate() {
                    li { (swatch(level + 1)) " " (text) }
                }
            }
        }
    }
}

/// Draws the box of a level.
fn swatch(level: usize) -> Markup {
    html! {
        svg.swatch width="18" height="12" aria-hidden="true" {
            g.cells transform="scale(18 12)" { path class={ "level" (level) } d="M0 .5h1" {} }
            rect.outline x=(Px(0.5)) y=(Px(0.5)) width="17" height="11" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_level_are_one_stroke() {
        let cells = Cells::new(vec![vec![1, 1, 0, 2], vec![0, 0, 1, 1]]);
        let text = cells.draw([10.0, 20.0], [4.0, 2.0]).0;
        assert!(text.contains(r#"<path class="level1" d="M0 0.5h2M2 1.5h2">"#), "{text}");
        assert!(text.contains(r#"<path class="level2" d="M3 0.5h1">"#), "{text}");
        assert!(!text.contains("level0"), "{text}");
    }
}
