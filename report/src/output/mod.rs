//! The forms of a report for people and programs.

mod names;
pub mod page;
pub mod sentences;
mod units;
