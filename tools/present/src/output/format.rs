//! Forms of an answer on standard output.

use clap::ValueEnum;

/// The form in which a command prints its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for a person.
    Table,
    /// The summary.
    Json,
}
