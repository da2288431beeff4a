//! The report as tables on a terminal: whether all is there, the three questions, and the tables of the other parts.
//!
//! | file | task |
//! |---|---|
//! | `questions.rs` | the three questions, each in at most 15 lines |
//! | `grouped.rs` | rows of speed put together over communicators, for the third question |
//! | `ranks.rs` | own times of ranks, those that stand out, pauses |
//! | `waits.rs` | tables about time: steps, budget, phases, late ranks |
//! | `network.rs` | tables about the network: speed, pairs |
//! | `members.rs` | tables about ranks: what is missing, communicators, what is not over |
//! | `fitted.rs` | a table in the room for it, with a line about the rest |
//! | `two_runs.rs` | a comparison of two runs |
//! | `cell.rs` | texts that fit a cell, and times that the clocks resolve |

mod cell;
mod fitted;
mod grouped;
mod members;
mod network;
mod questions;
mod ranks;
mod two_runs;
mod waits;

pub use two_runs::two_runs;

use super::units::counted;
use super::{Chapter, sentences};
use crate::answer::Report;
use fitted::{TableRoom, prose};

/// Writes whether all is there, in the first line, and then the answers to the three questions, each in at most 15
/// lines of 80 characters. `width` is the width of the lines, `top` the largest number of rows of a table.
pub fn tables(report: &Report, width: usize, top: usize) -> String {
    let view = TableRoom { width, top };
    let remarks = match report.complete.notes.len() as u64 {
        0 => String::new(),
        number => format!(" {}: --part complete.", counted(number, "remark")),
    };
    let mut text = prose(&(sentences::complete(report) + &remarks), &view);
    for question in [questions::late, questions::cost, questions::network] {
        text.push('\n');
        text += &question(report, &view);
    }
    text
}

/// Writes tables of the report, each with a heading. Of a table with more than `top` rows, the line below says how many
/// more there are.
pub fn chapters(report: &Report, width: usize, top: usize, chapters: &[Chapter]) -> String {
    let view = TableRoom { width, top };
    let table = |chapter: &Chapter| match chapter {
        Chapter::Complete => members::complete(report, &view),
        Chapter::Steps => waits::steps(report, &view),
        Chapter::Budget => waits::budget(report, &view),
        Chapter::Dimensions => waits::dimensions(report, &view),
        Chapter::Phases => waits::phases(report, &view),
        Chapter::Ranks => ranks::ranks(report, &view),
        Chapter::Events => ranks::events(report, &view),
        Chapter::Late => waits::late(report, &view),
        Chapter::Worst => waits::worst(report, &view),
        Chapter::Speed => network::speed(report, &view),
        Chapter::Pairs => network::pairs(report, &view),
        Chapter::Communicators => members::communicators(report, &view),
        Chapter::Unfinished => members::unfinished(report, &view),
    };
    chapters.iter().map(|chapter| format!("\n{}\n{}", chapter.title(), table(chapter))).collect()
}

#[cfg(test)]
mod tests;
