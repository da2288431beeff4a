//! The operations of one of the user's tags.

use common::conditions::ConditionRow;
use common::report::count;
use report::job::{OperationTables, ProcessOperations, RankOperation, Unreadable};
use std::cell::Cell;

/// Tables with the operations of one tag, or with all. Counts the operations as it reads a process for the first time.
pub(super) struct TaggedTables<'a> {
    tables: &'a dyn OperationTables,
    tag: Option<u64>,
    /// Operations with the tag, and all.
    counts: Cell<[u64; 2]>,
    /// Number of processes whose operations are counted: a pass reads them in order.
    counted: Cell<usize>,
}

/// Refuses a tag for a report of summaries.
///
/// # Errors
/// There is a tag.
pub(super) fn refuse(tag: Option<u64>) -> Result<(), String> {
    let refused = |tag| Err(format!("--tag {tag}: summaries have no tags; recordings and tables have them"));
    tag.map_or(Ok(()), refused)
}

impl<'a> TaggedTables<'a> {
    /// Takes the operations of this tag; all without one. Tag 0 is that of operations without a tag.
    pub(super) fn new(tables: &'a dyn OperationTables, tag: Option<u64>) -> Self {
        Self { tables, tag, counts: Cell::default(), counted: Cell::new(0) }
    }

    /// Returns why times between the chosen operations are not those of the ranks; `None` without a choice.
    pub(super) fn between_unknown(&self) -> Option<String> {
        let reason = |tag| {
            format!(
                "with --tag {tag}, operations of other tags are left out, so that the time between two operations is \
                 not all the rank's own; leave --tag out for this part."
            )
        };
        self.tag.map(reason)
    }

    /// Returns the remark on the chosen tag; `None` without a choice.
    pub(super) fn note(&self) -> Option<String> {
        let [chosen, all] = self.counts.get().map(count);
        let note = |tag| {
            format!(
                "Only the operations with tag {tag} are in the report: {chosen} of {all}. Parts that are made of times \
                 between operations are left out, because operations of other tags lie between these: steps, budget, \
                 phases, the cost of slow ranks, steps in detail, own and passed-on delay costs; leave --tag out for \
                 them. Transfers over the network by state and the rates of pairs by summaries are of all operations, \
                 and are left out."
            )
        };
        self.tag.map(note)
    }
}

impl OperationTables for TaggedTables<'_> {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        let rows = self.tables.operations(process)?;
        let Some(tag) = self.tag else { return Ok(rows) };
        let is_new = process >= self.counted.get();
        self.counted.set(self.counted.get().max(process + 1));
        let is_wanted = move |row: &Result<RankOperation, Unreadable>| {
            // a damage passes: the tables' reader must see it
            let Ok(row) = row else { return true };
            let is_chosen = row.tag == tag;
            if is_new {
                let [chosen, all] = self.counts.get();
                self.counts.set([chosen + u64::from(is_chosen), all + 1]);
            }
            is_chosen
        };
        Ok(Box::new(rows.filter(is_wanted)))
    }

    fn conditions(&self, process: usize) -> Result<Vec<ConditionRow>, Unreadable> {
        self.tables.conditions(process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes, with the tags of their operations.
    struct Given([&'static [u64]; 2]);

    impl OperationTables for Given {
        fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
            let row = |&tag: &u64| Ok(RankOperation { tag, bytes: 1000, ..RankOperation::default() });
            Ok(Box::new(self.0[process].iter().map(row)))
        }
    }

    fn tags(tables: &TaggedTables<'_>) -> Vec<u64> {
        let of = |process| tables.operations(process).map(|rows| rows.flatten().map(|row| row.tag).collect::<Vec<_>>());
        (0..2).flat_map(|process| of(process).unwrap_or_default()).collect()
    }

    #[test]
    fn a_tag_chooses_operations_and_all_are_counted_once() {
        let given = Given([&[7, 0, 7], &[9, 7]]);
        let all = TaggedTables::new(&given, None);
        assert_eq!([tags(&all), tags(&all)], [[7, 0, 7, 9, 7], [7, 0, 7, 9, 7]]);
        assert_eq!(all.note(), None);
        for (tag, expected, of) in [(7, vec![7, 7, 7], "3 of 5"), (0, vec![0], "1 of 5"), (8, vec![], "0 of 5")] {
            let chosen = TaggedTables::new(&given, Some(tag));
            assert_eq!([tags(&chosen), tags(&chosen)], [expected.clone(), expected]);
            let note = chosen.note().unwrap();
            assert!(
                note.starts_with(&format!("Only the operations with tag {tag} are in the report: {of}.")),
                "{note}"
            );
        }
    }
}
