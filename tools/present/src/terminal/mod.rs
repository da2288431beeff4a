//! The report as tables on a terminal: whether all is there, the three questions, and the tables of the other parts.
//!
//! | file | task |
//! |---|---|
//! | `questions.rs` | the three questions, each in at most 15 lines; rows of speed put together over communicators |
//! | `chapters.rs` | the tables of the chapters, with the sentences above them |
//! | `fitted.rs` | a table in the room for it, with a line about the rest; foreign texts that fit a cell |
//! | `two_runs.rs` | a comparison of two runs |

mod chapters;
mod fitted;
mod questions;
mod two_runs;

pub use chapters::chapters;
pub use two_runs::two_runs;

use super::sentences;
use super::units::counted;
use fitted::{TableRoom, prose};
use report::answer::Report;

/// Writes whether all is there, in the first line, and then the answers to the three questions, each in at most 15
/// lines of 80 characters. `width` is the width of the lines, `top` the largest number of rows of a table.
pub fn tables(report: &Report, width: usize, top: usize) -> String {
    let view = TableRoom { width, top };
    let remarks = match report.complete.notes.len() as u64 {
        0 => String::new(),
        number => format!(" {}: --part complete.", counted(number, "remark")),
    };
    let mut text = prose(&(sentences::complete(report) + &remarks), &view);
    if let Some(fallback) = sentences::choices(report) {
        text += &prose(&fallback, &view);
    }
    for question in [questions::late, questions::cost, questions::network] {
        text.push('\n');
        text += &question(report, &view);
    }
    text
}

#[cfg(test)]
mod tests;
