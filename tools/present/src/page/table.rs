//! A table behind a chart, closed at first.

use super::super::sheet::ReportTable;
use super::super::units::{UNKNOWN, count, counted};
use super::unbroken::unbroken;
use maud::{Markup, Render, html};

/// Largest number of rows of a table; more are in the tables of `--csv` and `--parquet`.
const ROWS: usize = 1024;

/// Number of letters from which on a text may be broken into lines.
const LONG: usize = 28;

/// A table. The first column heads its rows.
#[derive(Debug, Clone)]
pub(super) struct PageTable {
    caption: String,
    /// Headings, and whether the cells below are texts; else they are numbers.
    columns: Vec<(&'static str, bool)>,
    rows: Vec<Vec<String>>,
    /// Number of rows that did not fit.
    more: usize,
    is_open: bool,
}

impl PageTable {
    /// Takes rows until the table is full. The first `texts` columns are text.
    pub(super) fn new(
        caption: impl Into<String>,
        columns: &[&'static str],
        texts: usize,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Self {
        let columns = columns.iter().enumerate().map(|(place, heading)| (*heading, place < texts));
        Self::with(caption.into(), columns.collect(), rows)
    }

    /// Takes a table of the report.
    pub(super) fn of<'a, T: Copy + 'a>(caption: impl Into<String>, table: &ReportTable<'a, T>) -> Self {
        Self::with(caption.into(), table.headings().map(|it| (it.text, it.is_name)).collect(), table.rows())
    }

    fn with(caption: String, columns: Vec<(&'static str, bool)>, rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let mut rows = rows.into_iter();
        let kept = rows.by_ref().take(ROWS).collect();
        Self { caption, columns, rows: kept, more: rows.count(), is_open: false }
    }

    /// Leaves out the columns in which no row has anything.
    pub(super) fn without_unknown(mut self) -> Self {
        let is_known = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).any(|cell| !matches!(cell.as_str(), "" | UNKNOWN))
        };
        let kept: Vec<bool> = (0..self.columns.len()).map(is_known).collect();
        fn keep<C>(row: &mut Vec<C>, kept: &[bool]) {
            let mut kept = kept.iter();
            row.retain(|_| kept.next().copied().unwrap_or(true));
        }
        keep(&mut self.columns, &kept);
        self.rows.iter_mut().for_each(|row| keep(row, &kept));
        self
    }

    /// Keeps the first rows alone.
    pub(super) fn first(mut self, rows: usize) -> Self {
        self.more += self.rows.len().saturating_sub(rows);
        self.rows.truncate(rows);
        self
    }

    /// Shows the table from the beginning.
    pub(super) fn open(self) -> Self {
        Self { is_open: true, ..self }
    }
}

impl Render for PageTable {
    fn render(&self) -> Markup {
        let rows = self.rows.len() + self.more;
        let table = html! {
            div.scroll role="region" aria-label={ "Table: " (self.caption) } tabindex="0" {
                table {
                    caption { (self.caption) }
                    thead { tr { @for (heading, is_text) in &self.columns {
                        th.t[*is_text] scope="col" { (heading) }
                    } } }
                    tbody { @for row in &self.rows { tr {
                        @for (place, (cell, (_, is_text))) in row.iter().zip(&self.columns).enumerate() {
                            @if place == 0 && *is_text { th scope="row" { (cell) } }
                            @else if place == 0 { th.n scope="row" { (cell) } }
                            @else if *is_text { td.t.wide[cell.chars().count() > LONG] { (unbroken(cell)) } }
                            @else { td { (cell) } }
                        }
                    } } }
                }
            }
            @if self.more > 0 {
                p.note { (count(self.more as u64)) " more rows are in the tables of --csv and --parquet." }
            }
        };
        html! {
            @if rows > 0 && self.is_open { (table) }
            @else if rows > 0 {
                details {
                    summary { "Table: " (self.caption) " (" (counted(rows as u64, "row")) ")" }
                    (table)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_caption_and_scopes_and_escapes_its_text() {
        let table = PageTable::new("Waits", &["GPU", "wait"], 1, [vec!["<b>".into(), "1 us".into()]]).render().0;
        for part in ["<caption>Waits</caption>", r#"scope="col""#, r#"<th scope="row">&lt;b&gt;</th>"#, "(1 row)"] {
            assert!(table.contains(part), "{part}: {table}");
        }
    }

    #[test]
    fn rows_that_do_not_fit_are_counted() {
        let table = PageTable::new("Waits", &["GPU"], 1, (0..2000).map(|row| vec![row.to_string()])).render().0;
        assert_eq!(table.matches(r#"scope="row""#).count(), 1024);
        assert!(table.contains("976 more rows"), "{table}");
        let table = PageTable::new("Waits", &["GPU"], 1, (0..7).map(|row| vec![row.to_string()])).first(5).render().0;
        assert!(table.contains("(7 rows)") && table.contains("2 more rows"), "{table}");
    }

    #[test]
    fn columns_of_unknown_figures_are_left_out() {
        let rows = [vec!["a".to_owned(), "-".into(), "1".into()], vec!["b".into(), "".into(), "-".into()]];
        let table = PageTable::new("Waits", &["GPU", "nothing", "time"], 1, rows).without_unknown().render().0;
        assert!(!table.contains("nothing") && table.contains("time"), "{table}");
    }
}
