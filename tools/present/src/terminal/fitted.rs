//! A table of the report, with what its width and its number of rows leave out, and foreign texts that fit a cell.

use super::super::sheet::{Heading, ReportTable};
use super::super::units::count;
use common::report::TextTable;
use common::visible::visible;
use report::answer::Part;

/// The room for tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableRoom {
    /// Width in characters.
    pub(super) width: usize,
    /// Largest number of rows.
    pub(super) top: usize,
}

/// Writes a part, or why it is absent.
pub(super) fn known<T>(part: &Part<T>, view: &TableRoom, write: impl FnOnce(&T) -> String) -> String {
    match part {
        Part::Known(part) => write(part),
        Part::Absent(reason) => prose(&format!("Not known: {reason}"), view),
    }
}

/// Units that are not parted from their numbers.
const UNITS: [&str; 13] = ["%", "ns", "us", "ms", "s", "min", "B", "KiB", "MiB", "GiB", "TiB", "GB/s", "MB/s"];
/// A space that no line is broken at.
const FIRM: char = '\u{a0}';

/// Breaks a text between words, but not between a number and its unit.
pub(super) fn prose(text: &str, view: &TableRoom) -> String {
    let options = textwrap::Options::new(view.width.max(1))
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let line = |line: &str| textwrap::fill(&firm(&visible(line)), &options).replace(FIRM, " ");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n") + "\n"
}

/// Puts a firm space between numbers and their units, and between `rank` and its number.
fn firm(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for word in line.split(' ') {
        let is_digit = |letter: char| letter.is_ascii_digit();
        let is_unit = UNITS.contains(&word.trim_end_matches(|letter: char| ",.;:)".contains(letter)));
        let is_named = text.ends_with("rank") && word.starts_with(is_digit);
        if !text.is_empty() {
            text.push(if is_named || (is_unit && text.ends_with(is_digit)) { FIRM } else { ' ' });
        }
        text += word;
    }
    text
}

/// Lays out the first rows of a report's table.
pub(super) fn chapter<'a, T: Copy + 'a>(table: &ReportTable<'a, T>, view: &TableRoom, more: &str) -> String {
    let columns = table.headings().map(|heading| (heading.text, heading.is_name));
    let fit = |(text, heading): (String, Heading)| if heading.is_name { cell_name(&text) } else { visible(&text) };
    let rows = table.rows().map(|row| row.into_iter().zip(table.headings()).map(fit).collect::<Vec<_>>());
    fitted(TextTable::of(columns, table.dispensable()), rows, view, more)
}

/// Lays out the first rows, with a line that says how many more there are, and one that names columns left out.
/// `more` is how to see the rest.
pub(super) fn fitted(
    table: TextTable,
    rows: impl ExactSizeIterator<Item = impl Into<Vec<String>>>,
    view: &TableRoom,
    more: &str,
) -> String {
    let mut table = table;
    let all = rows.len();
    rows.take(view.top).for_each(|row| table.add_row(row));
    let (mut text, left_out) = table.fitted(u16::try_from(view.width).ok());
    let mut below = Vec::new();
    if all > view.top {
        below.push(format!("{} more{more}", count((all - view.top) as u64)));
    }
    if !left_out.is_empty() {
        below.push(format!("left out at this width: {}", left_out.join(", ")));
    }
    if !below.is_empty() {
        text += &prose(&below.join("; "), view);
    }
    text
}

/// Largest number of characters of a foreign text in a cell.
const LONGEST: usize = 24;

/// Writes a foreign text on one line, without control characters, cut to the room of a cell.
pub(super) fn cell_name(text: &str) -> String {
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
    fn a_number_is_not_parted_from_its_unit() {
        let view = |width| TableRoom { width, top: 1 };
        assert_eq!(prose("it takes 2.7 % of 4 MiB, or 3 us.", &view(11)), "it takes\n2.7 % of\n4 MiB, or\n3 us.\n");
        assert_eq!(prose("so is rank 13 of 16", &view(10)), "so is\nrank 13 of\n16\n");
        assert_eq!(prose("one\u{1b}[2J\ntwo", &view(80)), "one\\u{1b}[2J\ntwo\n");
    }

    #[test]
    fn the_rest_is_counted_and_named() {
        let rows = || (0..7).map(|row| [row.to_string(), "a".repeat(12)]);
        let table = || TextTable::new(&["row", "letters"], 1, &["letters"]);
        let text = fitted(table(), rows(), &TableRoom { width: 80, top: 5 }, ": --top 7");
        assert!(text.ends_with("\n2 more: --top 7\n") && text.lines().count() == 10, "{text}");
        let text = fitted(table(), rows(), &TableRoom { width: 12, top: 7 }, "");
        assert!(text.ends_with("left out at\nthis width:\nletters\n"), "{text}");
    }

    #[test]
    fn a_foreign_text_neither_steers_the_terminal_nor_widens_the_table() {
        assert_eq!(cell_name("a\u{1b}[2J"), "a\\u{1b}[2J");
        assert_eq!(cell_name(&"é".repeat(25)), format!("{}…", "é".repeat(23)));
        assert_eq!(cell_name(&"é".repeat(24)), "é".repeat(24));
    }
}
