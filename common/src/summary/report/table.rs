//! How a table is shown.

use super::figure::count;
use super::order::Order;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Rows of a table that a person reads, where nothing else is wanted.
pub const ROWS: u64 = 20;

/// How the tables are shown.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Columns of characters that a table may have; `None` for as many as it takes.
    pub width: Option<u16>,
    /// Rows of a table, at least one.
    pub rows: usize,
    /// What the rank pairs are sorted by; without it as in the summary, where there is room for all, else by bytes.
    pub order: Option<Order>,
}

impl Default for View {
    fn default() -> Self {
        Self { width: None, rows: ROWS as usize, order: None }
    }
}

/// A table whose columns behind the first ones are numbers.
pub(super) fn table(view: &View, header: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_FULL_CONDENSED).set_header(header);
    if let Some(width) = view.width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Nothing where all were.
pub(super) fn looked_at(one_in: impl Iterator<Item = u32>) -> String {
    let one_in = one_in.max().filter(|&one_in| one_in > 1);
    one_in.map_or_else(String::new, |one_in| format!("one operation in {} was looked at\n", count(one_in.into())))
}
