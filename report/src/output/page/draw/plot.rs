//! The part of a drawing that has coordinates of its own and rows of GPUs. The page's script shows its values, and
//! changes the part of it that is seen.

use super::axes::Area;
use super::path::Px;
use maud::{Markup, html};

/// A plot. Its content is as wide and high as `size`, and is stretched to `area`.
#[derive(Debug, Clone)]
pub(in crate::output::page) struct Plot {
    /// Class: `map` for cells with values, `calls` for strokes of calls.
    pub(in crate::output::page) class: &'static str,
    /// Where it lies in the drawing.
    pub(in crate::output::page) area: Area,
    /// Width and height of the content.
    pub(in crate::output::page) size: [f64; 2],
    /// First GPU of each row, from above.
    pub(in crate::output::page) rows: Vec<usize>,
    /// Neighbouring GPUs of a row.
    pub(in crate::output::page) together: usize,
    /// What the left and the right edge stand for.
    pub(in crate::output::page) span: [f64; 2],
    /// Unit of `span` for a map over time; `None` if a map's columns are steps.
    pub(in crate::output::page) across: Option<&'static str>,
    /// Unit of the values: that of `span` for calls.
    pub(in crate::output::page) unit: &'static str,
    /// Values of a map, and the largest one that they may have.
    pub(in crate::output::page) values: Option<(String, f64)>,
}

impl Plot {
    /// Draws the plot around its content.
    pub(in crate::output::page) fn draw(&self, content: &Markup) -> Markup {
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
pub(in crate::output::page) fn digits(values: impl IntoIterator<Item = f32>, most: f64) -> String {
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
    use super::digits;

    #[test]
    fn values_have_two_digits() {
        assert_eq!(digits([0.0, 8.0, -8.0, 4.0, 99.0], 8.0), "gA__ABwA__");
        assert_eq!(digits([1.0], 0.0), "gA");
        assert_eq!(digits([f32::NAN, 8.0], 8.0), "AA__");
    }
}
