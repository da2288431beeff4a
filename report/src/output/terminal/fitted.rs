//! A table of the report, with what its width and its number of rows leave out.

use super::super::units::count;
use crate::answer::Part;
use common::report::Table;

/// The room for tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    /// Width in characters.
    pub(super) width: usize,
    /// Largest number of rows.
    pub(super) top: usize,
}

/// Writes a part, or why it is absent.
pub(super) fn known<T>(part: &Part<T>, view: &View, write: impl FnOnce(&T) -> String) -> String {
    match part {
        Part::Known(part) => write(part),
        Part::Absent(reason) => prose(&format!("Not known: {reason}"), view),
    }
}

/// Breaks a text between words.
pub(super) fn prose(text: &str, view: &View) -> String {
    let options = textwrap::Options::new(view.width.max(1)).word_splitter(textwrap::WordSplitter::NoHyphenation);
    // a foreign name that is longer than a line is broken, too
    textwrap::fill(&text.split('\n').map(common::visible::visible).collect::<Vec<_>>().join("\n"), options) + "\n"
}

/// Lays out the first rows, with a line that says how many more there are, and one that names columns left out.
/// `more` is how to see the rest.
pub(super) fn fitted<const N: usize>(
    table: Table<N>,
    rows: impl ExactSizeIterator<Item = [String; N]>,
    view: &View,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_counted_and_named() {
        let rows = || (0..7).map(|row| [row.to_string(), "a".repeat(12)]);
        let table = || Table::new(["row", "letters"], 1, &["letters"]);
        let text = fitted(table(), rows(), &View { width: 80, top: 5 }, ": --top 7");
        assert!(text.ends_with("\n2 more: --top 7\n") && text.lines().count() == 10, "{text}");
        let text = fitted(table(), rows(), &View { width: 12, top: 7 }, "");
        assert!(text.ends_with("left out at\nthis width:\nletters\n"), "{text}");
    }
}
