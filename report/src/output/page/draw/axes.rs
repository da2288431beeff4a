//! The axes of a chart.

use super::path::Px;
use super::scale::Scale;
use maud::{Markup, html};

/// Largest number of letters of a name at the left of a chart.
const LETTERS: usize = 18;

/// The part of a drawing that data lies in.
#[derive(Debug, Clone, Copy)]
pub(in crate::output::page) struct Area {
    /// Left edge.
    pub(in crate::output::page) left: f64,
    /// Upper edge.
    pub(in crate::output::page) top: f64,
    /// Right edge.
    pub(in crate::output::page) right: f64,
    /// Lower edge.
    pub(in crate::output::page) bottom: f64,
}

impl Area {
    /// Returns the width.
    pub(in crate::output::page) fn width(&self) -> f64 {
        self.right - self.left
    }

    /// Returns the height.
    pub(in crate::output::page) fn height(&self) -> f64 {
        self.bottom - self.top
    }
}

/// Draws the axis below an area, with a text for each mark and the axis' title. Texts that would touch the one before
/// are left out.
pub(in crate::output::page) fn across(
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
pub(in crate::output::page) fn upright(
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
pub(in crate::output::page) fn margin(names: &[String]) -> f64 {
    let letters = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(LETTERS);
    (letters as f64 * 6.8 + 12.0).max(52.0)
}

/// Draws names of rows at the left of an area; the rows have this height. Names of rows that are lower than a text are
/// left out, except some.
pub(in crate::output::page) fn bars_beside(area: Area, names: &[String], height: f64) -> Markup {
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
pub(in crate::output::page) fn shortened(name: &str) -> String {
    let letters = name.chars().count();
    if letters <= LETTERS {
        return name.to_owned();
    }
    let (head, tail) = (LETTERS / 2 - 1, LETTERS / 2);
    name.chars().take(head).chain(['…']).chain(name.chars().skip(letters - tail)).collect()
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
}
