//! The operations' tables with the times of NCCL's own kernels.

use super::matching::MatchedTimes;
use super::own::OwnKernel;
use common::conditions::ConditionRow;
use report::job::{OperationTables, ProcessOperations, Unreadable};

/// Tables whose operations have the times of their kernels, where a profiler has seen these.
pub struct Timed<'a> {
    tables: &'a dyn OperationTables,
    by_process: Vec<MatchedTimes>,
}

impl<'a> Timed<'a> {
    /// Looks for the kernels of all operations: those of each process, by its place.
    pub fn of(tables: &'a dyn OperationTables, kernels: Vec<Vec<OwnKernel>>) -> Self {
        let matched = |(process, kernels): (usize, Vec<OwnKernel>)| {
            let operations = (!kernels.is_empty()).then(|| tables.operations(process).ok()).flatten();
            operations.map(|operations| MatchedTimes::of(kernels, operations)).unwrap_or_default()
        };
        Self { tables, by_process: kernels.into_iter().enumerate().map(matched).collect() }
    }

    /// Returns remarks on NCCL's kernels in the profiles, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let sum = |of: fn(&MatchedTimes) -> usize| self.by_process.iter().map(of).sum::<usize>();
        let (matched, unmatched) = (sum(MatchedTimes::count), sum(|matched| matched.unmatched));
        let timed = match matched {
            0 => None,
            1 => Some("1 of NCCL's kernels in the profiles has timed its operations.".into()),
            count => Some(format!("{count} of NCCL's kernels in the profiles have timed their operations.")),
        };
        let why = "no operation that the GPU has timed ran within 30 us of it, with a function of its name";
        let not = match unmatched {
            0 => None,
            1 => Some(format!("1 of NCCL's kernels in the profiles has timed nothing: {why}.")),
            count => Some(format!("{count} of NCCL's kernels in the profiles have timed nothing: {why}.")),
        };
        timed.into_iter().chain(not).collect()
    }
}

impl OperationTables for Timed<'_> {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        let operations = self.tables.operations(process)?;
        Ok(match self.by_process.get(process).filter(|matched| matched.count() > 0) {
            Some(matched) => Box::new(operations.map(|operation| operation.map(|operation| matched.timed(operation)))),
            None => operations,
        })
    }

    fn conditions(&self, process: usize) -> Result<Vec<ConditionRow>, Unreadable> {
        self.tables.conditions(process)
    }
}
