//! A table that fits the width of the screen. No cell is ever broken, since a number with a line break in it reads as
//! another number.
//!
//! A table that is too wide is narrowed step by step. Headings are broken between words. Then communicators are
//! shortened to their first digits, if these distinguish them. Then columns are left out, in the table's own order, and
//! a line below names them.

use super::figure::count;
use super::order::PairOrder;
use crate::summary::Summary;
use comfy_table::{CellAlignment, presets};
use std::collections::BTreeSet;

/// Default number of rows of a table for people.
pub const ROWS: u64 = 20;
/// Number of first digits of a communicator's id, of 16, that distinguish the communicators of most jobs.
const DIGITS: usize = 8;

/// Settings of the tables.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Largest width of a table in characters; `None` for no limit.
    pub width: Option<u16>,
    /// Largest number of rows of a table, at least 1.
    pub rows: usize,
    /// Sort order of rank pairs. By default the order of the summary if all pairs fit, else by bytes.
    pub order: Option<PairOrder>,
}

impl Default for View {
    fn default() -> Self {
        Self { width: None, rows: ROWS as usize, order: None }
    }
}

/// A column: its heading, and the cell of a row.
pub(super) type TextColumn<R> = (&'static str, fn(&R) -> String);

/// Rows of cells under distinct headings.
#[derive(Debug)]
pub struct TextTable {
    /// Headings, and whether the cells below are texts; else they are numbers.
    columns: Vec<(&'static str, bool)>,
    /// Headings of the columns that may be left out, in this order.
    dispensable: Vec<&'static str>,
    /// Whether the first column is a communicator's id that may be shortened.
    is_shortened: bool,
    rows: Vec<Vec<String>>,
}

/// The steps taken to narrow a table.
#[derive(Debug, Clone, Copy, Default)]
struct NarrowTable {
    has_broken_headings: bool,
    has_short_communicators: bool,
    left_out: usize,
}

impl TextTable {
    /// Makes a table without rows. The first `texts` columns are texts. `dispensable` has the headings of columns that
    /// may be left out, in this order.
    pub fn new(header: &[&'static str], texts: usize, dispensable: &[&'static str]) -> Self {
        Self::of(header.iter().enumerate().map(|(place, heading)| (*heading, place < texts)), dispensable)
    }

    /// Makes a table without rows of columns with a heading each, and whether the cells below are texts.
    pub fn of(columns: impl Iterator<Item = (&'static str, bool)>, dispensable: &[&'static str]) -> Self {
        Self { columns: columns.collect(), dispensable: dispensable.to_vec(), is_shortened: false, rows: vec![] }
    }

    /// Makes a table of rows, by columns of a heading and a cell each. The first `texts` columns are texts.
    pub(super) fn by<'a, R: 'a>(
        columns: &[TextColumn<R>],
        texts: usize,
        dispensable: &[&'static str],
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Self {
        let header: Vec<&'static str> = columns.iter().map(|(heading, _)| *heading).collect();
        let mut table = Self::new(&header, texts, dispensable);
        rows.into_iter().for_each(|row| table.add_row(columns.iter().map(|(_, cell)| cell(row)).collect::<Vec<_>>()));
        table
    }

    /// Declares the first column as a communicator's id.
    pub(super) fn by_communicator(self, summary: &Summary) -> Self {
        let all: BTreeSet<&str> = summary.communicators.iter().map(|row| row.comm.as_str()).collect();
        let short: BTreeSet<&str> = all.iter().map(|comm| shortened(comm)).collect();
        Self { is_shortened: short.len() == all.len(), ..self }
    }

    /// Moves a heading to the end of the columns that may be left out.
    pub(super) fn keeping(mut self, heading: Option<&str>) -> Self {
        let place = self.dispensable.iter().position(|other| Some(*other) == heading);
        if let Some(kept) = place.map(|place| self.dispensable.remove(place)) {
            self.dispensable.push(kept);
        }
        self
    }

    /// Adds a row. A cell that it lacks is empty.
    pub fn add_row(&mut self, row: impl Into<Vec<String>>) {
        let mut row = row.into();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Lays the table out in this many characters, with a line below that names the columns left out.
    pub fn shown(&self, width: Option<u16>) -> String {
        let (mut text, left_out) = self.fitted(width);
        if !left_out.is_empty() {
            text += &format!("left out at this width: {}; --format json has all\n", left_out.join(", "));
        }
        text
    }

    /// Lays the table out in this many characters, and returns the headings of the columns that are left out.
    pub fn fitted(&self, width: Option<u16>) -> (String, &[&'static str]) {
        let fits =
            |table: &str| width.is_none_or(|width| table.lines().all(|line| line.chars().count() <= width.into()));
        let whole = self.laid_out(NarrowTable::default());
        if fits(&whole) {
            return (whole, &[]);
        }
        let broken = NarrowTable { has_broken_headings: true, ..NarrowTable::default() };
        let narrower = |left_out| NarrowTable { has_short_communicators: self.is_shortened, left_out, ..broken };
        let mut shapes = std::iter::once(broken).chain((0..=self.dispensable.len()).map(narrower));
        let narrowest = narrower(self.dispensable.len());
        let (shape, text) = shapes
            .find_map(|shape| Some((shape, self.laid_out(shape))).filter(|(_, table)| fits(table)))
            .unwrap_or_else(|| (narrowest, self.laid_out(narrowest)));
        (text, &self.dispensable[..shape.left_out])
    }

    fn laid_out(&self, shape: NarrowTable) -> String {
        let gone = &self.dispensable[..shape.left_out];
        let shown: Vec<usize> =
            (0..self.columns.len()).filter(|&column| !gone.contains(&self.columns[column].0)).collect();
        let cell = |row: &[String], column: usize| match column {
            0 if shape.has_short_communicators => shortened(&row[column]).to_owned(),
            _ => row[column].clone(),
        };
        let heading = |column: usize| {
            let width = self.rows.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or(0);
            match column {
                // a single word, longer than the digits
                0 if shape.has_short_communicators => "comm".to_owned(),
                _ if shape.has_broken_headings => broken(self.columns[column].0, width),
                _ => self.columns[column].0.to_owned(),
            }
        };
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::UTF8_FULL_CONDENSED).set_header(shown.iter().map(|&column| heading(column)));
        for row in &self.rows {
            table.add_row(shown.iter().map(|&column| cell(row, column)));
        }
        for (column, shown) in table.column_iter_mut().zip(shown) {
            if !self.columns[shown].1 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        format!("{table}\n")
    }
}

fn shortened(comm: &str) -> &str {
    comm.get(..DIGITS).unwrap_or(comm)
}

/// Breaks a heading into lines no longer than the cells below or its own longest word.
fn broken(heading: &str, cells: usize) -> String {
    let room = heading.split(' ').map(str::len).max().unwrap_or(0).max(cells);
    let mut text = String::new();
    let mut line = 0;
    for word in heading.split(' ') {
        let fits = line + 1 + word.len() <= room;
        text += if line == 0 { "" } else { ["\n", " "][usize::from(fits)] };
        text += word;
        line = if line > 0 && fits { line + 1 + word.len() } else { word.len() };
    }
    text
}

/// Writes how many rows of these a table leaves out, and what they are. Empty if it has all.
pub(super) fn others(all: usize, view: &View, what: &str) -> String {
    match all.saturating_sub(view.rows) {
        0 => String::new(),
        others => format!("and {} more{what}\n", count(others as u64)),
    }
}

/// Writes how many operations were looked at. Empty if all were.
pub(super) fn looked_at(one_in: impl Iterator<Item = u32>) -> String {
    let one_in = one_in.max().filter(|&one_in| one_in > 1);
    one_in.map_or_else(String::new, |one_in| format!("one operation in {} was looked at\n", count(one_in.into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::SummaryCommunicator;

    fn summary(comms: &[&str]) -> Summary {
        let communicator = |comm: &&str| SummaryCommunicator {
            comm: (*comm).to_owned(),
            nranks: 2,
            nnodes: 1,
            name: String::new(),
            ranks: vec![],
        };
        Summary { communicators: comms.iter().map(communicator).collect(), ..Summary::merge(vec![]) }
    }

    fn table(comms: &[&str]) -> TextTable {
        let mut table =
            TextTable::new(&["communicator", "R2", "sustained MB/s", "fit MB/s"], 1, &["R2", "sustained MB/s"]);
        comms
            .iter()
            .for_each(|comm| table.add_row([(*comm).to_owned(), "0.999".into(), "3367.6".into(), "3883 ± 747".into()]));
        table.by_communicator(&summary(comms))
    }

    /// Returns the headings, the first row, and the text below.
    fn shown(comms: &[&str], width: u16) -> (Vec<String>, Vec<String>, String) {
        let text = table(comms).shown(Some(width));
        let cells = |line: &str| {
            line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
        };
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('│')).collect();
        let below = text.lines().filter(|line| !line.starts_with(['│', '┌', '╞', '└'])).collect();
        (cells(rows[0]), cells(rows[rows.len() - comms.len()]), below)
    }

    const ONE: [&str; 2] = ["00000000000000ab", "10000000000000ab"];

    #[test]
    fn what_does_not_fit_is_left_out_in_order_and_named() {
        let cells = ["00000000000000ab", "0.999", "3367.6", "3883 ± 747"];
        assert_eq!(shown(&ONE, 60).1, cells);
        assert_eq!(shown(&ONE, 60).0[2], "sustained MB/s");
        let (headings, row, below) = shown(&ONE, 53);
        assert_eq!((headings[2].as_str(), row, below.as_str()), ("sustained", cells.map(str::to_owned).to_vec(), ""));
        assert_eq!(
            shown(&ONE, 45),
            (
                vec!["comm".into(), "R2".into(), "sustained".into(), "fit MB/s".into()],
                vec!["00000000".into(), "0.999".into(), "3367.6".into(), "3883 ± 747".into()],
                String::new()
            )
        );
        assert_eq!(shown(&ONE, 37).2, "left out at this width: R2; --format json has all");
        let (_, row, below) = shown(&ONE, 1);
        assert_eq!(row, ["00000000", "3883 ± 747"]);
        assert_eq!(below, "left out at this width: R2, sustained MB/s; --format json has all");
    }

    #[test]
    fn a_communicator_keeps_the_digits_that_tell_it_apart() {
        let alike = ["00000000000000ab", "00000000000000ac"];
        assert_eq!(shown(&alike, 1).1, ["00000000000000ab", "3883 ± 747"]);
        assert_eq!(shown(&["c0"], 1).1, ["c0", "3883 ± 747"]);
    }

    #[test]
    fn a_column_that_is_wanted_goes_last() {
        let text = table(&ONE).keeping(Some("R2")).shown(Some(35));
        assert!(text.ends_with("width: sustained MB/s; --format json has all\n"), "{text}");
    }

    #[test]
    fn headings_are_broken_between_words() {
        assert_eq!(
            [broken("GPU time ms", 3), broken("GPU time ms", 9), broken("R2", 0)],
            ["GPU\ntime\nms", "GPU time\nms", "R2"]
        );
    }
}
