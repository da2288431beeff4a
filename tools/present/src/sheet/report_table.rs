//! A table of the report whose columns are stated once: heading and text for people, name and value for programs.

use super::super::units::UNKNOWN;
use super::{Sheet, SheetColumn, Values};
use std::cmp::Ordering;

/// A type of values in a sheet.
pub(crate) trait SheetValue: Sized {
    /// Whether its texts are names, at the left of a cell and of any length; else they are figures.
    const IS_NAME: bool = false;

    /// Returns the value, unless it stands for an absent one.
    fn known(self) -> Option<Self> {
        Some(self)
    }

    fn values(values: Vec<Option<Self>>) -> Values;
}

impl SheetValue for f64 {
    fn values(values: Vec<Option<Self>>) -> Values {
        Values::Real(values)
    }
}

impl SheetValue for i64 {
    fn values(values: Vec<Option<Self>>) -> Values {
        Values::Integer(values)
    }
}

/// A number beyond 2^63 - 1 becomes that.
impl SheetValue for u64 {
    fn values(values: Vec<Option<Self>>) -> Values {
        let whole = |value: Self| i64::try_from(value).unwrap_or(i64::MAX);
        Values::Integer(values.into_iter().map(|value| value.map(whole)).collect())
    }
}

impl SheetValue for bool {
    const IS_NAME: bool = true;

    fn values(values: Vec<Option<Self>>) -> Values {
        Values::Flag(values)
    }
}

impl SheetValue for String {
    const IS_NAME: bool = true;

    fn values(values: Vec<Option<Self>>) -> Values {
        Values::Text(values)
    }
}

/// An empty text is absent.
impl SheetValue for &str {
    const IS_NAME: bool = true;

    fn known(self) -> Option<Self> {
        Some(self).filter(|text| !text.is_empty())
    }

    fn values(values: Vec<Option<Self>>) -> Values {
        Values::Text(values.into_iter().map(|value| value.map(str::to_owned)).collect())
    }
}

/// A value, or one that may be absent.
pub(crate) trait Figure {
    type Value: SheetValue;

    fn known(self) -> Option<Self::Value>;
}

impl<V: SheetValue> Figure for V {
    type Value = V;

    fn known(self) -> Option<V> {
        SheetValue::known(self)
    }
}

impl<V: SheetValue> Figure for Option<V> {
    type Value = V;

    fn known(self) -> Option<V> {
        self
    }
}

/// A column for people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Heading {
    pub(crate) text: &'static str,
    /// Whether its cells are names, and not figures.
    pub(crate) is_name: bool,
}

type Cell<'a, T> = Box<dyn Fn(T) -> String + 'a>;
type ValuesOf<'a, T> = Box<dyn Fn(&[T]) -> Values + 'a>;

/// Rows and columns of a table. Columns have one order, rows that of the report in a sheet and one for people.
pub(crate) struct ReportTable<'a, T> {
    name: &'static str,
    rows: Vec<T>,
    /// The rows in their order for people.
    ordered: Vec<T>,
    shown: Vec<(Heading, Cell<'a, T>)>,
    columns: Vec<(&'static str, ValuesOf<'a, T>)>,
    dispensable: Vec<&'static str>,
}

impl<'a, T: Copy + 'a> ReportTable<'a, T> {
    /// Takes the rows. The name is that of the sheet's file.
    pub(crate) fn new(name: &'static str, rows: impl IntoIterator<Item = T>) -> Self {
        let rows: Vec<T> = rows.into_iter().collect();
        Self { name, ordered: rows.clone(), rows, shown: vec![], columns: vec![], dispensable: vec![] }
    }

    /// Adds a column for programs alone.
    pub(crate) fn value<F: Figure>(mut self, name: &'static str, of: impl Fn(T) -> F + 'a) -> Self {
        let values = move |rows: &[T]| F::Value::values(rows.iter().map(|row| of(*row).known()).collect());
        self.columns.push((name, Box::new(values)));
        self
    }

    /// Adds a column of names for people alone.
    pub(crate) fn names(self, heading: &'static str, of: impl Fn(T) -> String + 'a) -> Self {
        self.cells(Heading { text: heading, is_name: true }, of)
    }

    /// Adds a column of figures for people alone.
    pub(crate) fn figures(self, heading: &'static str, of: impl Fn(T) -> String + 'a) -> Self {
        self.cells(Heading { text: heading, is_name: false }, of)
    }

    /// Adds a column.
    pub(crate) fn column<F: Figure>(
        self,
        heading: &'static str,
        name: &'static str,
        of: impl Fn(T) -> F + Copy + 'a,
        text: impl Fn(F::Value) -> String + 'a,
    ) -> Self {
        self.column_by_row(heading, name, of, move |value, _| text(value))
    }

    /// Adds a column whose text depends on the row, too.
    pub(crate) fn column_by_row<F: Figure>(
        self,
        heading: &'static str,
        name: &'static str,
        of: impl Fn(T) -> F + Copy + 'a,
        text: impl Fn(F::Value, T) -> String + 'a,
    ) -> Self {
        let cell = move |row| of(row).known().map_or_else(|| UNKNOWN.to_owned(), |value| text(value, row));
        self.cells(Heading { text: heading, is_name: F::Value::IS_NAME }, cell).value(name, of)
    }

    fn cells(mut self, heading: Heading, of: impl Fn(T) -> String + 'a) -> Self {
        self.shown.push((heading, Box::new(of)));
        self
    }

    /// Sorts the rows for people.
    pub(crate) fn in_order(mut self, by: impl FnMut(&T, &T) -> Ordering) -> Self {
        self.ordered.sort_by(by);
        self
    }

    /// Sets the headings of columns that a narrow terminal leaves out, first to last.
    pub(crate) fn without<const N: usize>(self, dispensable: [&'static str; N]) -> Self {
        Self { dispensable: dispensable.into(), ..self }
    }

    /// Leaves out the columns for people, but the first, in which no row has a figure.
    pub(crate) fn without_unknown(self) -> Self {
        let first = self.shown.first().map(|(heading, _)| heading.text);
        self.without_unknown_of(|heading| first != Some(heading))
    }

    /// Leaves out those columns for people of the ones that are meant in which no row has a figure.
    pub(crate) fn without_unknown_of(mut self, is_meant: impl Fn(&str) -> bool) -> Self {
        let Self { ordered, shown, dispensable, .. } = &mut self;
        shown.retain(|(heading, cell)| {
            !is_meant(heading.text) || ordered.iter().any(|row| !matches!(cell(*row).as_str(), "" | UNKNOWN))
        });
        dispensable.retain(|it| shown.iter().any(|(heading, _)| heading.text == *it));
        self
    }

    /// Returns the rows in their order for people.
    pub(crate) fn ordered(&self) -> &[T] {
        &self.ordered
    }

    /// Returns the columns for people.
    pub(crate) fn headings(&self) -> impl Iterator<Item = Heading> + '_ {
        self.shown.iter().map(|(heading, _)| *heading)
    }

    /// Returns the headings of columns that a narrow terminal leaves out, first to last.
    pub(crate) fn dispensable(&self) -> &[&'static str] {
        &self.dispensable
    }

    /// Returns the cells of each row for people.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = Vec<String>> + '_ {
        self.ordered.iter().map(|row| self.shown.iter().map(|(_, cell)| cell(*row)).collect())
    }

    /// Returns the table for programs.
    pub(crate) fn sheet(&self) -> Sheet {
        let column =
            |(name, values): &(&'static str, ValuesOf<'a, T>)| SheetColumn { name, values: values(&self.rows) };
        Sheet { name: self.name, columns: self.columns.iter().map(column).collect() }
    }
}
