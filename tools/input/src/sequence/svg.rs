//! The diagram as SVG.

use super::diagram::{DiagramRow, SequenceDiagram};
use maud::{Markup, html};

/// Sizes in pixels.
const LEFT: i32 = 96;
const LANE: i32 = 150;
const ROW: i32 = 18;
const LINE: i32 = 20;
const INDENT: i32 = 14;
const LETTER: f64 = 6.6;
const BELOW: i32 = 16;
/// Colours of the lanes, for people with any colour vision (Okabe and Ito).
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#6e6e6e"];

/// Draws the diagram.
pub(super) fn drawn(diagram: &SequenceDiagram) -> String {
    let x = |lane: usize| LEFT + LANE / 2 + LANE * lane as i32;
    let plugin = x(diagram.lanes.len().saturating_sub(1));
    let text_of = |row: &DiagramRow| plugin + 16 + INDENT * row.depth as i32;
    let width_of = |text: &str| (text.chars().count() as f64 * LETTER) as i32;
    let rows = diagram.rows.iter().map(|row| text_of(row) + width_of(&row.text));
    let headings = diagram.heading.iter().map(|line| 16 + width_of(line) * 5 / 4);
    let width = rows.chain(headings).max().unwrap_or(0).max(plugin) + 24;
    let top = 16 + LINE * diagram.heading.len() as i32 + 34;
    let bottom = top + ROW * diagram.rows.len() as i32 + 6;
    let height = bottom + BELOW;
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
            font-family="sans-serif" font-size="10" {
            rect width="100%" height="100%" fill="#fff" {}
            @for (place, line) in (0..).zip(&diagram.heading) {
                g font-size=(if place == 0 { 13 } else { 10 }) { (text(line, [16, 16 + LINE * place], "start")) }
            }
            (text("us", [LEFT, top - 14], "end"))
            @for (lane, (short, long)) in diagram.lanes.iter().enumerate() {
                (text(if long.is_empty() { short } else { long }, [x(lane), top - 14], "middle"))
                path d={ "M" (x(lane)) " " (top - 4) "V" (bottom) } stroke="#aaa" {}
            }
            @for (place, row) in (0..).zip(&diagram.rows) {
                @let (y, from) = (top + ROW * place + ROW / 2, x(row.lane));
                (text(&format!("{:.1}", row.us), [LEFT, y], "end"))
                g fill=(COLOURS[row.lane % COLOURS.len()]) stroke=(COLOURS[row.lane % COLOURS.len()]) {
                    circle cx=(from) cy=(y) r="2.5" {}
                    path d={ "M" (from) " " (y) "H" (plugin - 7) "v-3l6 3l-6 3v-3" } {}
                }
                (text(&row.text, [text_of(row), y], "start"))
            }
        }
    }
    .into_string()
}

/// Writes a text whose line is vertically centred at a place.
fn text(text: &str, [x, y]: [i32; 2], anchor: &str) -> Markup {
    html! { text x=(x) y=(y + 4) text-anchor=(anchor) { (text) } }
}
