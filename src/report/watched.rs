//! The tables as the analysis reads them: with a progress bar, and as far as they can be read.

use crate::output::progress::Progress;
use common::conditions::ConditionRow;
use common::summary::Predicted;
use report::analysis::whole::Pass;
use report::job::{OperationTables, ProcessOperations, Unreadable};
use std::cell::RefCell;

/// Rows between two steps of the progress bar.
const AT_A_TIME: u64 = 4096;

/// Tables whose rows are counted on a progress bar. A damaged table ends at its damage, so that one of a thousand does
/// not cost the report of all others.
pub(super) struct CountedTables<'a> {
    tables: &'a dyn OperationTables,
    rows: u64,
    progress: RefCell<Progress>,
    damaged: RefCell<Vec<Unreadable>>,
}

impl<'a> CountedTables<'a> {
    /// Watches tables with this number of rows in all.
    pub(super) fn new(tables: &'a dyn OperationTables, rows: u64) -> Self {
        let progress = RefCell::new(Progress::new("reading", "operations", 0));
        Self { tables, rows, progress, damaged: RefCell::default() }
    }

    /// Begins a pass anew.
    pub(super) fn begin(&self, pass: Pass) {
        let verb = match pass {
            Pass::Survey => "looking over",
            Pass::Stream => "matching",
        };
        *self.progress.borrow_mut() = Progress::new(verb, "operations", self.rows);
    }

    /// Returns the damaged tables so far.
    pub(super) fn damaged(&self) -> Vec<Unreadable> {
        self.damaged.borrow().clone()
    }

    /// Notes a damage, which each pass finds again.
    fn note(&self, damage: Unreadable) {
        let mut damaged = self.damaged.borrow_mut();
        if damaged.iter().all(|known| known.file != damage.file) {
            let cause = format!("{}; its operations from there on are not in the report", damage.cause);
            damaged.push(Unreadable { cause, ..damage });
        }
    }
}

impl OperationTables for CountedTables<'_> {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        let rows = match self.tables.operations(process) {
            Ok(rows) => rows,
            Err(damage) => {
                self.note(damage);
                return Ok(Box::new(std::iter::empty()));
            }
        };
        let mut count = 0;
        let rows = rows.map_while(|row| row.map_err(|damage| self.note(damage)).ok()).map(move |row| {
            count += 1;
            if count % AT_A_TIME == 0 {
                self.progress.borrow_mut().add(AT_A_TIME);
            }
            Ok(row)
        });
        Ok(Box::new(rows))
    }

    fn conditions(&self, process: usize) -> Result<Vec<ConditionRow>, Unreadable> {
        // a damage costs the causes of this process alone
        Ok(self.tables.conditions(process).map_err(|damage| self.note(damage)).unwrap_or_default())
    }

    fn predicted(&self, process: usize) -> Result<Vec<Predicted>, Unreadable> {
        // a damage costs the predictions of this process alone; the ranks of a communicator have the same
        Ok(self.tables.predicted(process).map_err(|damage| self.note(damage)).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::job::RankOperation;

    /// Process 0 has two operations; process 1 has one, and a damage behind it; process 2 cannot be opened.
    struct Damaged;

    impl OperationTables for Damaged {
        fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
            let broken =
                || Unreadable { file: format!("table {process}"), place: Some("row 1".into()), cause: "torn".into() };
            let row = || Ok(RankOperation::default());
            match process {
                0 => Ok(Box::new([row(), row()].into_iter())),
                1 => Ok(Box::new([row(), Err(broken()), row()].into_iter())),
                _ => Err(broken()),
            }
        }
    }

    #[test]
    fn a_damaged_table_ends_at_its_damage_and_is_named_once() {
        let watched = CountedTables::new(&Damaged, 5);
        for _ in 0..2 {
            let count = |process| watched.operations(process).unwrap().map(Result::unwrap).count();
            assert_eq!([0, 1, 2].map(count), [2, 1, 0]);
        }
        let texts: Vec<String> = watched.damaged().iter().map(ToString::to_string).collect();
        let fate = "torn; its operations from there on are not in the report";
        assert_eq!(texts, [1, 2].map(|process| format!("table {process}, row 1: {fate}")));
    }
}
