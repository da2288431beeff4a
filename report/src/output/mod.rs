//! The forms of a report for people and programs.

mod chapter;
pub mod csv;
pub mod json;
mod names;
mod pace;
pub mod page;
pub mod parquet;
pub mod perfetto;
pub mod sentences;
pub mod sheet;
pub mod terminal;
mod units;

pub use chapter::Chapter;
