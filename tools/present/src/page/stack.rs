//! Bars of stacked shares, one below the other.

use super::super::units::share;
use super::draw::{Area, Px, Scale, across, bars_beside, margin};
use maud::{Markup, html};

/// A bar: its name and its parts from the left.
#[derive(Debug, Clone)]
pub(super) struct StackedBar<'a> {
    pub(super) name: String,
    pub(super) parts: Vec<StackedPart<'a>>,
}

/// A part of a bar.
#[derive(Debug, Clone, Copy)]
pub(super) struct StackedPart<'a> {
    pub(super) name: &'a str,
    /// Name of its colour.
    pub(super) class: &'a str,
    /// Its share of the bar's whole, 0 to 1.
    pub(super) share: f64,
}

/// Draws bars of this height and up to `right`. The axis of shares has a title. Returns the size, too.
pub(super) fn stack(bars: &[StackedBar<'_>], row: f64, right: f64, title: &str) -> ([f64; 2], Markup) {
    let bottom = 12.0 + row * bars.len() as f64;
    let texts: Vec<String> = bars.iter().map(|bar| bar.name.clone()).collect();
    let area = Area { left: margin(&texts), top: 12.0, right, bottom };
    let x = Scale::linear([0.0, 100.0], [area.left, area.right]);
    let marks = if area.width() > 400.0 { 10 } else { 5 };
    let drawing = html! {
        (across(area, &x, title, x.numbers(marks)))
        (bars_beside(area, &texts, row))
        @for (place, bar) in bars.iter().enumerate() {
            @let y = area.top + row * place as f64 + row * 0.12;
            @for (left, part) in stacked(&bar.parts) {
                @let (x, width) = (area.left + left * area.width(), part.share * area.width());
                rect class=(part.class) x=(Px(x)) y=(Px(y)) width=(Px(width)) height=(Px(row * 0.76)) {
                    title { (bar.name) ": " (part.name) " " (share(part.share)) }
                }
                @if width > 46.0 {
                    text class={ "inside on-" (part.class) } text-anchor="middle"
                        x=(Px(x + width / 2.0)) y=(Px(y + row * 0.38 + 4.0)) { (share(part.share)) }
                }
            }
        }
    };
    ([right + 14.0, bottom + 46.0], drawing)
}

/// Returns the parts with the share that lies before each.
pub(super) fn stacked<'a>(parts: &[StackedPart<'a>]) -> Vec<(f64, StackedPart<'a>)> {
    let mut before = 0.0;
    parts
        .iter()
        .map(|part| {
            let left = before;
            before += part.share;
            (left, *part)
        })
        .collect()
}
