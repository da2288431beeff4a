//! The diagram as SVG.

use super::diagram::SequenceDiagram;
use crate::picture::timeline::write;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use std::error::Error;

/// Sizes in pixels.
const LEFT: i32 = 96;
const LANE: i32 = 150;
const ROW: i32 = 18;
const LINE: i32 = 20;
const INDENT: i32 = 14;
const LETTER: f64 = 6.6;
const BELOW: i32 = 16;
const LIFELINE: RGBColor = RGBColor(170, 170, 170);
/// Colours of the lanes, for people with any colour vision (Okabe and Ito).
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(110, 110, 110),
];

/// Returns the picture.
///
/// # Errors
/// In words, when it cannot be drawn.
pub(super) fn drawn(diagram: &SequenceDiagram) -> Result<String, String> {
    let mut picture = String::new();
    draw(diagram, &mut picture).map_err(|error| format!("the sequence cannot be drawn: {error}"))?;
    Ok(picture)
}

fn draw(diagram: &SequenceDiagram, picture: &mut String) -> Result<(), Box<dyn Error + Send + Sync>> {
    let x = |lane: usize| LEFT + LANE / 2 + LANE * lane as i32;
    let plugin = x(diagram.lanes.len().saturating_sub(1));
    let texts = plugin + 16;
    let width_of = |text: &str| (text.chars().count() as f64 * LETTER) as i32;
    let rows = diagram.rows.iter().map(|row| texts + INDENT * row.depth as i32 + width_of(&row.text));
    let headings = diagram.heading.iter().map(|line| 16 + width_of(line) * 5 / 4);
    let width = rows.chain(headings).max().unwrap_or(0).max(texts) + 24;
    let top = 16 + LINE * diagram.heading.len() as i32 + 34;
    let bottom = top + ROW * diagram.rows.len() as i32 + 6;
    let area =
        SVGBackend::with_string(picture, (width.unsigned_abs(), (bottom + BELOW).unsigned_abs())).into_drawing_area();
    area.fill(&WHITE)?;
    for (place, line) in (0..).zip(&diagram.heading) {
        write(&area, line, (16, 16 + LINE * place), if place == 0 { 15 } else { 12 }, HPos::Left)?;
    }
    write(&area, "us", (LEFT, top - 14), 12, HPos::Right)?;
    for (lane, (short, long)) in diagram.lanes.iter().enumerate() {
        let name = if long.is_empty() { short } else { long };
        write(&area, name, (x(lane), top - 14), 12, HPos::Center)?;
        area.draw(&PathElement::new([(x(lane), top - 4), (x(lane), bottom)], LIFELINE))?;
    }
    for (place, row) in (0..).zip(&diagram.rows) {
        let (y, from) = (top + ROW * place + ROW / 2, x(row.lane));
        let colour = COLOURS[row.lane % COLOURS.len()];
        write(&area, &format!("{:.1}", row.us), (LEFT, y), 12, HPos::Right)?;
        area.draw(&Circle::new((from, y), 3, colour.filled()))?;
        area.draw(&PathElement::new([(from, y), (plugin - 1, y)], colour))?;
        area.draw(&Polygon::new([(plugin - 8, y - 3), (plugin - 8, y + 3), (plugin - 1, y)], colour.filled()))?;
        write(&area, &row.text, (texts + INDENT * row.depth as i32, y), 12, HPos::Left)?;
    }
    area.present()?;
    drop(area);
    Ok(())
}
