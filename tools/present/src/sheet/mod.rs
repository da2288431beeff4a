//! Tables for programs: named columns of one type each, written as CSV or as Parquet.

mod operations;
mod report_table;

use report::Unwritten;
use std::path::Path;

pub use operations::OperationSheet;
pub(crate) use report_table::{Heading, ReportTable};

/// A table, or some rows of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Name of the table, which its file is named after.
    pub name: &'static str,
    /// The columns, all of one length.
    pub columns: Vec<SheetColumn>,
}

impl Sheet {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Returns whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetColumn {
    /// Its name, with the unit of its values at the end.
    pub name: &'static str,
    /// Its values, by row.
    pub values: Values,
}

/// Values of one type; `None` for one that is absent.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Real numbers.
    Real(Vec<Option<f64>>),
    /// Truth values.
    Flag(Vec<Option<bool>>),
}

impl Values {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Real(values) => values.len(),
            Self::Flag(values) => values.len(),
        }
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A file that takes a table in one or more parts.
pub trait SheetWriter: Sized {
    /// Begins the file of a table in a directory, which is made where it is missing.
    ///
    /// # Errors
    /// The directory or the file cannot be made.
    fn create(directory: &Path, name: &str) -> Result<Self, Unwritten>;

    /// Writes rows. All parts have the same columns.
    ///
    /// # Errors
    /// The file cannot be written.
    fn add(&mut self, sheet: &Sheet) -> Result<(), Unwritten>;

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// The file cannot be written completely.
    fn close(self) -> Result<(), Unwritten>;
}

#[cfg(test)]
mod tests;
