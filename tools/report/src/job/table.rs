//! Where the operations of a process come from, and the error of an input.

use super::RankOperation;
use common::conditions::ConditionRow;
use std::path::Path;
use thiserror::Error;

/// Operations of one process, in the order in which its host enqueued them.
pub type ProcessOperations<'a> = Box<dyn Iterator<Item = Result<RankOperation, Unreadable>> + 'a>;

/// The operations' tables of a job. They may be read several times.
pub trait OperationTables {
    /// Returns the operations of the process at this place in [`super::Job::processes`].
    ///
    /// # Errors
    /// The process' table cannot be opened.
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable>;

    /// Returns the conditions of the process, in the order of time on its clock; none where they were not recorded.
    ///
    /// # Errors
    /// They cannot be read.
    fn conditions(&self, _process: usize) -> Result<Vec<ConditionRow>, Unreadable> {
        Ok(vec![])
    }
}

/// What sees the operations of a job, one process after the other.
pub trait RowListener {
    /// The operations of this process come next.
    fn begin(&mut self, process: usize);

    /// An operation of the process.
    fn row(&mut self, row: &RankOperation);

    /// The process has no more operations.
    fn end(&mut self);
}

/// Reads the operations of this number of processes once, for all listeners.
///
/// # Errors
/// A table cannot be read.
pub fn read_all(
    processes: usize,
    table: &dyn OperationTables,
    listeners: &mut [&mut dyn RowListener],
) -> Result<(), Unreadable> {
    for process in 0..processes {
        let rows = table.operations(process)?;
        listeners.iter_mut().for_each(|listener| listener.begin(process));
        for row in rows {
            let row = row?;
            listeners.iter_mut().for_each(|listener| listener.row(&row));
        }
        listeners.iter_mut().for_each(|listener| listener.end());
    }
    Ok(())
}

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

impl Unreadable {
    /// Of a whole file.
    pub fn whole(file: impl AsRef<Path>, cause: impl ToString) -> Self {
        Self { file: file.as_ref().display().to_string(), place: None, cause: cause.to_string() }
    }

    /// Adds the place.
    pub fn at(self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into()), ..self }
    }
}
