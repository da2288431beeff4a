//! Texts that fit a cell, and times that the clocks resolve.

use super::super::units::{UNKNOWN, bytes, share, time};
use crate::answer::{Complete, Origin};
use common::visible::visible;

/// Largest number of characters of a foreign text in a cell.
const LONGEST: usize = 24;

/// Stands for a time that is smaller than the clocks' error.
pub(super) const NOT_RESOLVED: &str = "not resolved";

/// Writes a foreign text on one line, without control characters, cut to the room of a cell.
pub(super) fn name(text: &str) -> String {
    let text = visible(text);
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// Writes a difference of two ranks' times, microseconds. One below the clocks' error is not resolved.
pub(super) fn resolved(us: f64, complete: &Complete) -> String {
    if is_resolved(us, complete) { time(us) } else { NOT_RESOLVED.into() }
}

/// Returns whether a difference of two ranks' times is at least as large as the clocks' error.
pub(super) fn is_resolved(us: f64, complete: &Complete) -> bool {
    us.abs() >= complete.wait_error_us.unwrap_or_default()
}

/// Writes a share that may be unknown.
pub(super) fn part(value: Option<f64>) -> String {
    value.map_or_else(|| UNKNOWN.into(), share)
}

/// Writes a rate in GB/s that may be unknown, without its unit.
pub(super) fn rate(value: Option<f64>) -> String {
    value
        .map_or_else(|| UNKNOWN.into(), |value| if value < 0.1 { format!("{value:.3}") } else { format!("{value:.1}") })
}

/// Writes a range of sizes: one size, or the smallest and a sign for more.
pub(super) fn size(from: u64, to: u64) -> String {
    if from == to { bytes(from as f64) } else { format!("{} +", bytes(from as f64)) }
}

/// Writes where a dimension is from.
pub(super) fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::File => "file",
        Origin::Name => "name",
        Origin::Guessed => "guessed",
        Origin::Unknown => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_text_neither_steers_the_terminal_nor_widens_the_table() {
        assert_eq!(name("a\u{1b}[2J"), "a\\u{1b}[2J");
        assert_eq!(name(&"é".repeat(25)), format!("{}…", "é".repeat(23)));
        assert_eq!(name(&"é".repeat(24)), "é".repeat(24));
    }

    #[test]
    fn a_time_below_the_error_is_not_resolved() {
        let complete = Complete { wait_error_us: Some(4.0), ..Complete::default() };
        assert_eq!([3.9, 4.0, -4.5].map(|us| resolved(us, &complete)), [NOT_RESOLVED, "4.00 us", "-4.50 us"]);
        assert_eq!(resolved(0.1, &Complete::default()), "100 ns");
    }
}
