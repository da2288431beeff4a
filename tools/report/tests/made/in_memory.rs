//! Operations in memory.

use report::job::{OperationTables, ProcessOperations, RankOperation, Unreadable};

/// The operations of each process, in the order in which its host enqueued them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct InMemory(pub(crate) Vec<Vec<RankOperation>>);

impl OperationTables for InMemory {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        match self.0.get(process) {
            Some(operations) => Ok(Box::new(operations.iter().copied().map(Ok))),
            None => Err(Unreadable {
                file: "operations in memory".into(),
                place: Some(format!("process {process}")),
                cause: format!("there are operations of {} processes only; the job must name no others", self.0.len()),
            }),
        }
    }
}
