//! Coordinates, and the data of paths.

use maud::{Markup, PreEscaped, Render};
use std::fmt::Write;

/// A coordinate or length of a drawing, written with at most one digit after the point.
#[derive(Debug, Clone, Copy)]
pub(in crate::page) struct Px(pub(in crate::page) f64);

impl Render for Px {
    fn render_to(&self, buffer: &mut String) {
        let tenths = (self.0 * 10.0).round();
        let written = if tenths % 10.0 == 0.0 {
            write!(buffer, "{}", (tenths / 10.0) as i64)
        } else {
            write!(buffer, "{:.1}", tenths / 10.0)
        };
        debug_assert!(written.is_ok(), "a String takes all text");
    }
}

/// The data of a path: horizontal strokes and lines, as short as they can be written.
#[derive(Debug, Clone, Default)]
pub(in crate::page) struct Path {
    data: String,
    /// Where the last stroke ended, in tenths.
    end: Option<[i64; 2]>,
}

impl Path {
    /// Adds a horizontal stroke: by its distance from the one before, where that is shorter to write.
    pub(in crate::page) fn stroke(&mut self, x: f64, y: f64, length: f64) {
        let tenths = |value: f64| (value * 10.0).round() as i64;
        let [x, y, length] = [x, y, length].map(tenths);
        let here = go('M', x, y);
        let from_end = self.end.map(|[end, height]| go('m', x - end, y - height));
        self.data += &from_end.filter(|it| it.len() < here.len()).unwrap_or(here);
        self.data.push('h');
        self.number(length as f64 / 10.0);
        self.end = Some([x + length, y]);
    }

    /// Adds a vertical stroke.
    pub(in crate::page) fn rise(&mut self, x: f64, y: f64, length: f64) {
        self.data.push('M');
        self.number(x);
        self.data.push(' ');
        self.number(y);
        self.data.push('v');
        self.number(length);
    }

    /// Adds a line through these points.
    pub(in crate::page) fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>) {
        self.end = None;
        for (place, (x, y)) in points.into_iter().enumerate() {
            self.data.push(if place == 0 { 'M' } else { 'L' });
            self.number(x);
            self.data.push(' ');
            self.number(y);
        }
    }

    /// Returns whether nothing was added.
    pub(in crate::page) fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Returns the path as an attribute's value.
    pub(in crate::page) fn data(self) -> Markup {
        PreEscaped(self.data)
    }

    fn number(&mut self, value: f64) {
        Px(value).render_to(&mut self.data);
    }
}

/// Returns a move to a place, or by a distance, in tenths.
fn go(command: char, x: i64, y: i64) -> String {
    let [x, y] = [x, y].map(|tenths| Px(tenths as f64 / 10.0).render().0);
    format!("{command}{x} {y}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        let texts = [0.0, -0.04, 12.0, 12.04, 12.05001, -3.25].map(|value| Px(value).render().0);
        assert_eq!(texts, ["0", "0", "12", "12", "12.1", "-3.3"]);
    }

    #[test]
    fn a_path_has_strokes_and_lines() {
        let mut path = Path::default();
        path.stroke(1.0, 2.5, 10.0);
        path.line([(0.0, 1.0), (2.0, 3.0)]);
        path.stroke(1.0, 2.5, 2.0);
        path.stroke(4.06, 2.5, 1.0);
        path.stroke(4.0, 3.5, 1.0);
        path.stroke(65.0, 7.5, 1.0);
        assert_eq!(path.data().0, "M1 2.5h10M0 1L2 3M1 2.5h2m1.1 0h1M4 3.5h1m60 4h1");
    }
}
