//! What people and programs read of a report: tables on the terminal, files, the page, Perfetto's trace.
//!
//! Answers come in from [`report`]; texts and files go out. It computes no figure, and knows no threshold.
//!
//! A table is stated once, in `tables`: columns with heading and text for people, name and value for programs, and the
//! order of rows. `terminal` and `page` lay it out beside their sentences and charts; `csv` and `parquet` write its
//! sheet.
//!
//! | chapter | `answer` | `analysis` | `tables` | `terminal` | `page` |
//! |---|---|---|---|---|---|
//! | complete | `Complete` | `complete.rs` | `members.rs` | `chapters.rs` | `section.rs` |
//! | steps | `Steps` | `steps` | `time.rs` | `chapters.rs` | `steps.rs` |
//! | budget, dimensions | `Budget` | `budget` | `time.rs` | `chapters.rs` | `budget.rs` |
//! | phases | `Phases` | `phases` | `time.rs` | `chapters.rs` | `phases.rs` |
//! | ranks, events | `Stragglers` | `stragglers` | `ranks.rs` | `chapters.rs` | `excess.rs` |
//! | findings | `WatchFindings` | the tool | `choices.rs` | `chapters.rs` | `section.rs` |
//! | late, worst | `Late` | `late` | `ranks.rs` | `chapters.rs` | `late.rs` |
//! | speed | `Speed` | `speed` | `network.rs` | `chapters.rs` | `speed.rs` |
//! | pairs | `Pairs` | `pairs` | `network.rs` | `chapters.rs` | `pairs.rs` |
//! | states, transfers | `NetworkTransfers` | `transfers.rs` | `transfers.rs` | `chapters.rs` | `states.rs`, `section.rs` |
//! | communicators | `Communicators` | `communicators.rs` | `members.rs` | `chapters.rs` | `section.rs` |
//! | tags | `Tags` | `tags.rs` | `members.rs` | `chapters.rs` | `section.rs` |
//! | nccl | `NcclChoices` | `choices` | `choices.rs` | `chapters.rs` | `section.rs` |
//! | unfinished | `Unfinished` | `unfinished` | `members.rs` | `chapters.rs` | `section.rs` |
//!
//! The answers to the three questions are laid out apart: in `terminal/questions.rs`, and in `page/answers.rs` and
//! `gains.rs`.

#![cfg_attr(
    not(test),
    deny(clippy::print_stdout, clippy::print_stderr, reason = "they panic where nothing can be written")
)]

mod chapter;
pub mod csv;
pub mod json;
pub mod names;
pub mod output;
pub mod page;
pub mod parquet;
pub mod perfetto;
pub mod sentences;
pub mod sheet;
mod tables;
pub mod terminal;
mod units;

pub use chapter::Chapter;
pub use tables::write;
pub use units::bytes;

#[cfg(test)]
#[path = "../../report/tests/blank/mod.rs"]
mod blank;
#[cfg(test)]
#[path = "../../report/tests/sample/mod.rs"]
mod sample;
