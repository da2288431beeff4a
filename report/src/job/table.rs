//! Where the operations of a process come from.

use super::{RankOperation, Unreadable};

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
