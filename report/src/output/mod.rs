//! The forms of a report for people and programs.

mod chapter;
mod names;
mod pace;
pub mod page;
pub mod sentences;
pub mod terminal;
mod units;

pub use chapter::Chapter;
