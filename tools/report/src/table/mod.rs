//! The operations' table: a dataset of Parquet files, one file for each process, one row for each operation and rank.
//!
//! ```text
//! DIR/process=<id>/operations.parquet
//! ```
//! Each file is whole in itself: the key-value metadata of its footer describe the process, its communicators and its
//! summary ([`About`]), as JSON. Rows are in the order in which the host enqueued the operations. [`Column`] lists the
//! columns; other programs (pandas, DuckDB, Spark) read them by these names.
//!
//! A reader of a file holds one page of each column: at most [`PAGE_ROWS`] rows, encoded. A writer holds one row group:
//! at most [`GROUP_ROWS`] rows.

mod about;
mod assembly;
mod column;
mod rows;
mod source;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

pub use about::{About, MadeCommunicator};
pub use assembly::assemble;
pub use column::{COLUMNS, Column, Form, TextNumbers};
pub use rows::FileRows;
pub use tables::{OpenedTables, Tables, files_of};
pub use writer::{TableWriter, directory};

/// Number of the format. A file with a larger one is refused. A column that readers cannot do without raises it; an
/// optional one does not.
pub const FORMAT: u32 = 1;
/// Name of the file of a process.
pub const FILE: &str = "operations.parquet";
/// Rows of a data page, at most.
pub const PAGE_ROWS: usize = 2048;
/// Rows of a row group, at most.
pub const GROUP_ROWS: usize = 1 << 15;
