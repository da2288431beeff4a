//! Foreign texts that fit a cell.

use common::visible::visible;

/// Largest number of characters of a foreign text in a cell.
const LONGEST: usize = 24;

/// Writes a foreign text on one line, without control characters, cut to the room of a cell.
pub(super) fn name(text: &str) -> String {
    let text = visible(text);
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
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
}
