//! Makes the columns of a table from rows.

use super::{Column, Sheet, Values};

/// Rows that become columns, one call for each column.
#[derive(Debug)]
pub(super) struct ColumnRows<'a, T> {
    name: &'static str,
    rows: &'a [T],
    columns: Vec<Column>,
}

impl<'a, T> ColumnRows<'a, T> {
    pub(super) fn new(name: &'static str, rows: &'a [T]) -> Self {
        Self { name, rows, columns: Vec::new() }
    }

    fn with(mut self, name: &'static str, values: Values) -> Self {
        self.columns.push(Column { name, values });
        self
    }

    /// Adds a column of texts that may be absent.
    pub(super) fn known_text(self, name: &'static str, of: impl Fn(&'a T) -> Option<String>) -> Self {
        let values = self.rows.iter().map(of).collect();
        self.with(name, Values::Text(values))
    }

    /// Adds a column of texts; an empty one is absent.
    pub(super) fn text(self, name: &'static str, of: impl Fn(&'a T) -> &'a str) -> Self {
        self.known_text(name, |row| Some(of(row).to_owned()).filter(|text| !text.is_empty()))
    }

    /// Adds a column of numbers that may be absent. A number beyond 2^63 - 1 becomes that.
    pub(super) fn known_count(self, name: &'static str, of: impl Fn(&'a T) -> Option<u64>) -> Self {
        let whole = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let values = self.rows.iter().map(|row| of(row).map(whole)).collect();
        self.with(name, Values::Integer(values))
    }

    /// Adds a column of numbers.
    pub(super) fn count(self, name: &'static str, of: impl Fn(&'a T) -> u64) -> Self {
        self.known_count(name, |row| Some(of(row)))
    }

    /// Adds a column of signed numbers that may be absent.
    pub(super) fn integer(self, name: &'static str, of: impl Fn(&'a T) -> Option<i64>) -> Self {
        let values = self.rows.iter().map(of).collect();
        self.with(name, Values::Integer(values))
    }

    /// Adds a column of real numbers that may be absent.
    pub(super) fn known_real(self, name: &'static str, of: impl Fn(&'a T) -> Option<f64>) -> Self {
        let values = self.rows.iter().map(of).collect();
        self.with(name, Values::Real(values))
    }

    /// Adds a column of real numbers.
    pub(super) fn real(self, name: &'static str, of: impl Fn(&'a T) -> f64) -> Self {
        self.known_real(name, |row| Some(of(row)))
    }

    /// Adds a column of truth values.
    pub(super) fn flag(self, name: &'static str, of: impl Fn(&'a T) -> bool) -> Self {
        let values = self.rows.iter().map(|row| Some(of(row))).collect();
        self.with(name, Values::Flag(values))
    }

    pub(super) fn sheet(self) -> Sheet {
        Sheet { name: self.name, columns: self.columns }
    }
}
