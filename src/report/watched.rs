//! The tables as the analysis reads them: with a progress bar, and as far as they can be read.

use common::conditions::ConditionRow;
use present::output::progress::Progress;
use report::analysis::whole::Pass;
use report::job::{OperationTables, ProcessOperations, Unreadable};
use std::cell::RefCell;

/// Rows between two steps of the progress bar.
const AT_A_TIME: u64 = 4096;
/// Parts of a table that a damage costs.
const OPERATIONS: &str = "its operations from there on";
const CONDITIONS: &str = "its conditions";

/// Tables whose rows are counted on a progress bar. A damaged table ends at its damage, so that one of a thousand does
/// not cost the report of all others.
pub(super) struct CountedTables<'a> {
    tables: &'a dyn OperationTables,
    rows: u64,
    progress: RefCell<Progress>,
    /// The first damage of each part of a table, and that part.
    damaged: RefCell<Vec<(Unreadable, &'static str)>>,
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
        let with_fate = |(damage, lacks): &(Unreadable, &str)| Unreadable {
            cause: format!("{}; {lacks} are not in the report", damage.cause),
            ..damage.clone()
        };
        self.damaged.borrow().iter().map(with_fate).collect()
    }

    /// Notes a damage, which each pass finds again, with the part of the table that the report lacks for it.
    fn note(&self, damage: Unreadable, lacks: &'static str) {
        let mut damaged = self.damaged.borrow_mut();
        // a file that cannot be opened has one cause for all of its parts
        let is_known = |(known, of): &(Unreadable, &str)| {
            known.file == damage.file && (*of == lacks || known.cause == damage.cause)
        };
        if !damaged.iter().any(is_known) {
            damaged.push((damage, lacks));
        }
    }
}

impl OperationTables for CountedTables<'_> {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        let rows = match self.tables.operations(process) {
            Ok(rows) => rows,
            Err(damage) => {
                self.note(damage, OPERATIONS);
                return Ok(Box::new(std::iter::empty()));
            }
        };
        let mut count = 0;
        let rows = rows.map_while(|row| row.map_err(|damage| self.note(damage, OPERATIONS)).ok()).map(move |row| {
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
        Ok(self.tables.conditions(process).map_err(|damage| self.note(damage, CONDITIONS)).unwrap_or_default())
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

        fn conditions(&self, process: usize) -> Result<Vec<ConditionRow>, Unreadable> {
            let broken =
                |cause: &str| Unreadable { file: format!("table {process}"), place: None, cause: cause.into() };
            match process {
                0 => Err(broken("bent")),
                1 => Ok(vec![]),
                _ => Err(broken("torn")),
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
        let texts = || watched.damaged().iter().map(ToString::to_string).collect::<Vec<String>>();
        let fate = "torn; its operations from there on are not in the report";
        let of_operations = [1, 2].map(|process| format!("table {process}, row 1: {fate}"));
        assert_eq!(texts(), of_operations);
        for _ in 0..2 {
            (0..3).for_each(|process| assert!(watched.conditions(process).unwrap().is_empty()));
        }
        // that table 2 cannot be opened is said once
        let of_conditions = "table 0: bent; its conditions are not in the report".to_owned();
        assert_eq!(texts(), [&of_operations[..], &[of_conditions]].concat());
    }
}
