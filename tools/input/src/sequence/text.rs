//! The diagram as text.

use super::diagram::{DiagramRow, SequenceDiagram};

/// Columns of a lane.
const LANE: usize = 6;

/// Returns the diagram as lines.
pub(super) fn text(diagram: &SequenceDiagram) -> String {
    let mut text = String::new();
    diagram.heading.iter().for_each(|line| text += &format!("{line}\n"));
    let named: Vec<String> = diagram
        .lanes
        .iter()
        .filter(|(_, long)| !long.is_empty())
        .map(|(short, long)| format!("{short} is {long}"))
        .collect();
    text += &format!("{}\n\n", named.join("; "));
    let names: String = diagram.lanes.iter().map(|(short, _)| format!("{short:<LANE$}")).collect();
    text += &format!("{:>12}  {}\n", "us", names.trim_end());
    diagram.rows.iter().for_each(|row| text += &format!("{}\n", line(row, diagram.lanes.len())));
    text
}

fn line(row: &DiagramRow, lanes: usize) -> String {
    let lane = |place: usize| match (place.cmp(&row.lane), place + 1 == lanes) {
        (_, true) => ">|".to_owned(),
        (std::cmp::Ordering::Less, false) => format!("{:<LANE$}", "|"),
        // the arrow's head lies before the bar of the last lane
        (order, false) => {
            let sign = if order.is_eq() { 'o' } else { '+' };
            let length = if place + 2 == lanes { LANE - 2 } else { LANE - 1 };
            format!("{sign}{}", "-".repeat(length))
        }
    };
    let lanes: String = (0..lanes).map(lane).collect();
    format!("{:>12.1}  {lanes}  {}{}", row.us, "  ".repeat(row.depth), row.text)
}
