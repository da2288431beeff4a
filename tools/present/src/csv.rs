//! Tables as CSV (RFC 4180, UTF-8): the first line has the names of the columns, an absent value is empty. A text that a
//! spreadsheet would run as a formula has an apostrophe before it.

use super::sheet::{Sheet, SheetWriter, Values};
use report::{PartFilePlace, Unwritten};
use std::path::Path;
use tempfile::NamedTempFile;

/// A table that is being written as CSV.
#[derive(Debug)]
pub struct CsvFile {
    /// Dropped before its place, through which it is reached.
    file: csv::Writer<NamedTempFile>,
    place: PartFilePlace,
    has_names: bool,
}

/// The path of the incomplete file.
impl AsRef<Path> for CsvFile {
    fn as_ref(&self) -> &Path {
        self.file.get_ref().path()
    }
}

impl SheetWriter for CsvFile {
    fn create(directory: &Path, name: &str) -> Result<Self, Unwritten> {
        let (place, part) = PartFilePlace::begin(directory, format!("{name}.csv"))?;
        Ok(Self { place, file: csv::Writer::from_writer(part), has_names: false })
    }

    fn add(&mut self, sheet: &Sheet) -> Result<(), Unwritten> {
        let mut write = || -> csv::Result<()> {
            if !self.has_names {
                self.file.write_record(sheet.columns.iter().map(|column| column.name))?;
                self.has_names = true;
            }
            (0..sheet.len()).try_for_each(|row| {
                self.file.write_record(sheet.columns.iter().map(|column| cell(&column.values, row)))
            })
        };
        write().map_err(|error| self.place.unwritten(error))
    }

    fn close(self) -> Result<(), Unwritten> {
        let Self { place, file, .. } = self;
        let part = file.into_inner().map_err(|error| place.unwritten(error.into_error()))?;
        place.appear(part)
    }
}

/// Returns a text that no spreadsheet takes for a formula, as OWASP advises: one that begins as formulas do, with
/// `=`, `+`, `-`, `@`, a tab or a carriage return, gets an apostrophe before it. Names come from the application.
pub fn no_formula(text: String) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text }
}

/// Writes a value with all its digits; an absent one is empty.
fn cell(values: &Values, row: usize) -> String {
    fn text<T: ToString>(values: &[Option<T>], row: usize) -> String {
        values.get(row).and_then(Option::as_ref).map_or_else(String::new, T::to_string)
    }
    match values {
        Values::Text(values) => no_formula(text(values, row)),
        Values::Integer(values) => text(values, row),
        Values::Real(values) => text(values, row),
        Values::Flag(values) => text(values, row),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_formulas_and_numbers_stay_numbers() {
        let texts = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "a=1", ""];
        let column = Values::Text(texts.iter().map(|text| Some((*text).to_owned())).collect());
        let cells: Vec<String> = (0..texts.len()).map(|row| cell(&column, row)).collect();
        let quoted = ["'=cmd|' /C calc'!A0", "'+1", "'-1", "'@SUM(A1)", "'\t=1", "'\r=1", "a=1", ""];
        assert_eq!(cells, quoted);
        assert_eq!(cell(&Values::Integer(vec![Some(-7)]), 0), "-7");
        assert_eq!(cell(&Values::Real(vec![Some(-0.5)]), 0), "-0.5");
    }
}
