//! The forms of a report for people and programs.

mod names;
mod pace;
pub mod page;
pub mod sentences;
mod units;
