//! The frame of a chart: heading, key, the drawing with its title and description for screen readers, and folded away
//! the sign to look for, remarks and tables.

use super::path::Px;
use maud::{Markup, Render, html};

/// A chart.
#[derive(Debug, Clone)]
pub(in crate::page) struct Chart<'a> {
    /// Id in the page.
    pub(in crate::page) id: &'a str,
    /// Heading.
    pub(in crate::page) title: &'a str,
    /// A sentence on the sign to look for.
    pub(in crate::page) look: &'a str,
    /// The drawing in words, for those who do not see it.
    pub(in crate::page) description: String,
    /// Width and height of the drawing.
    pub(in crate::page) size: [f64; 2],
    /// The meanings of colours and signs.
    pub(in crate::page) key: Markup,
    /// The drawing.
    pub(in crate::page) drawing: Markup,
    /// Remarks, paragraph by paragraph.
    pub(in crate::page) notes: Markup,
    /// Tables below the drawing.
    pub(in crate::page) below: Markup,
}

impl Render for Chart<'_> {
    fn render(&self) -> Markup {
        let [width, height] = self.size;
        let wide = match width {
            wide if wide > 700.0 => "wide",
            middle if middle > 500.0 => "middle",
            _ => "narrow",
        };
        html! {
            figure id=(self.id) aria-labelledby={ (self.id) "-heading" } {
                h3 id={ (self.id) "-heading" } { (self.title) }
                (self.key)
                div class={ "scroll " (wide) } role="region" aria-label={ "Chart: " (self.title) } tabindex="0" {
                    svg.chart role="img" aria-labelledby={ (self.id) "-title" } aria-describedby={ (self.id) "-desc" }
                        viewBox={ "0 0 " (Px(width)) " " (Px(height)) } {
                        title id={ (self.id) "-title" } { (self.title) }
                        desc id={ (self.id) "-desc" } { (self.description) }
                        (self.drawing)
                    }
                }
                details.help {
                    summary { "How to read this" }
                    p.look { (self.look) }
                    (self.notes)
                }
                (self.below)
            }
        }
    }
}

/// A sign of a series. Series differ by sign and by colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::page) enum Mark {
    /// A box with the fill of a class.
    Box,
    /// A line with the series' marker.
    Line(usize),
    /// A line alone.
    Plain,
    /// An upright line.
    Upright,
    /// A ring.
    Ring,
    /// A triangle on its tip.
    Wedge,
}

/// An entry of a key.
#[derive(Debug, Clone)]
pub(in crate::page) struct LegendEntry<'a> {
    /// Class that gives the colour.
    pub(in crate::page) class: &'a str,
    /// Sign.
    pub(in crate::page) mark: Mark,
    /// Text.
    pub(in crate::page) text: String,
}

impl LegendEntry<'_> {
    /// Draws a key.
    pub(in crate::page) fn draw(keys: &[Self]) -> Markup {
        html! { ul.key { @for key in keys { li { (key.swatch()) " " (key.text) } } } }
    }

    fn swatch(&self) -> Markup {
        html! {
            svg.swatch width="22" height="12" aria-hidden="true" {
                @match self.mark {
                    Mark::Box => rect class=(self.class) x="0.5" y="0.5" width="21" height="11" {},
                    Mark::Plain => path class=(self.class) d="M0 6h22" {},
                    Mark::Upright => path class=(self.class) d="M11 0v12" {},
                    Mark::Wedge => path class=(self.class) d="M11 10l4.5 -8h-9z" {},
                    Mark::Ring => circle class=(self.class) cx="11" cy="6" r="4.6" {},
                    Mark::Line(series) => {
                        path class=(self.class) d="M0 6h22" {}
                        path class={ (self.class) " marker" } d=(marker(series, 11.0, 6.0)) {}
                    },
                }
            }
        }
    }
}

/// Returns the outline of a series' marker around a point: a disc, square, triangle, rhomb and so on.
pub(in crate::page) fn marker(series: usize, x: f64, y: f64) -> String {
    let at = format!("M{x:.1} {y:.1}");
    at + match series % 6 {
        0 => "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z",
        1 => "m-3-3h6v6h-6z",
        2 => "m0-4l4 7h-8z",
        3 => "m0-4.4l4 4.4l-4 4.4l-4-4.4z",
        4 => "m0 4l4-7h-8z",
        _ => "m-1.2-4h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8v-2.4h2.8z",
    }
}
