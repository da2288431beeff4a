//! Where the operations of a process come from.

use super::RankOperation;
use thiserror::Error;

/// An input that cannot be read, or not further.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}{}: {cause}", .place.as_ref().map(|place| format!(", {place}")).unwrap_or_default())]
pub struct Unreadable {
    /// The file.
    pub file: String,
    /// The place in it: a line, a row group, a column.
    pub place: Option<String>,
    /// The cause, in words.
    pub cause: String,
}

/// Operations of one process, in the order in which its host enqueued them.
pub type ProcessOperations<'a> = Box<dyn Iterator<Item = Result<RankOperation, Unreadable>> + 'a>;

/// The operations' tables of a job. They may be read several times.
pub trait OperationTables {
    /// Returns the operations of the process at this place in [`super::Job::processes`].
    ///
    /// # Errors
    /// The process' table cannot be opened.
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable>;
}
