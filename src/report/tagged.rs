//! The operations of one of the user's tags, and the tags of all operations.

use common::conditions::ConditionRow;
use common::report::count;
use common::summary::Predicted;
use report::job::{OperationTables, ProcessOperations, RankOperation, Unreadable};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Most tags that are counted one by one: a program may have a tag for each step.
const MOST: usize = 4096;
/// Tags that the remark names.
const NAMED: usize = 10;

/// Tables with the operations of one tag, or with all. Counts the tags as it reads a process for the first time.
pub(super) struct TaggedTables<'a> {
    tables: &'a dyn OperationTables,
    tag: Option<u64>,
    seen: RefCell<Tags>,
    /// Number of processes whose tags are counted: a pass reads them in order.
    counted: Cell<usize>,
}

/// Operations and bytes of tags.
#[derive(Debug, Default)]
struct Tags {
    by_tag: BTreeMap<u64, (u64, u64)>,
    /// Operations of tags beyond [`MOST`].
    rest: u64,
}

/// Refuses a tag for a report of summaries.
///
/// # Errors
/// There is a tag.
pub(super) fn refuse(tag: Option<u64>) -> Result<(), String> {
    let refused = |tag| Err(format!("--tag {tag}: summaries have no tags; recordings and tables have them"));
    tag.map_or(Ok(()), refused)
}

impl Tags {
    fn add(&mut self, row: &RankOperation) {
        if self.by_tag.len() >= MOST && !self.by_tag.contains_key(&row.tag) {
            self.rest += 1;
            return;
        }
        let (operations, bytes) = self.by_tag.entry(row.tag).or_default();
        (*operations, *bytes) = (*operations + 1, bytes.saturating_add(row.bytes));
    }
}

impl<'a> TaggedTables<'a> {
    /// Takes the operations of this tag; all without one. Tag 0 is that of operations without a tag.
    pub(super) fn new(tables: &'a dyn OperationTables, tag: Option<u64>) -> Self {
        Self { tables, tag, seen: RefCell::default(), counted: Cell::new(0) }
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

    /// Returns remarks on the tags, a sentence each; none without tags.
    pub(super) fn notes(&self) -> Vec<String> {
        let seen = self.seen.borrow();
        let all = seen.by_tag.values().fold(seen.rest, |sum, (operations, _)| sum + operations);
        let chosen = self.tag.map(|tag| {
            let (operations, _) = seen.by_tag.get(&tag).copied().unwrap_or_default();
            format!(
                "Only the operations with tag {tag} are in the report: {} of {}. Parts that are made of times between \
                 operations are left out, because operations of other tags lie between these: steps, budget, phases, \
                 the cost of slow ranks, steps in detail, own and passed-on delay costs; leave --tag out for them. \
                 Transfers over the network by state and the rates of pairs by summaries are of all operations, and \
                 are left out.",
                count(operations),
                count(all)
            )
        });
        let is_tagged = seen.rest > 0 || seen.by_tag.keys().any(|&tag| tag != 0);
        let mut rows: Vec<(u64, (u64, u64))> = seen.by_tag.iter().map(|(&tag, &sums)| (tag, sums)).collect();
        rows.sort_by_key(|&(tag, (operations, bytes))| (std::cmp::Reverse((bytes, operations)), tag));
        let row = |&(tag, (operations, bytes)): &(u64, (u64, u64))| {
            let tag = if tag == 0 { "none".to_owned() } else { tag.to_string() };
            format!("{tag} ({} operations, {} bytes)", count(operations), count(bytes))
        };
        let named: Vec<String> = rows.iter().take(NAMED).map(row).collect();
        let others = rows.len().saturating_sub(NAMED) + usize::from(seen.rest > 0);
        let others = if others > 0 { format!(", and {} or more others", count(others as u64)) } else { String::new() };
        let tags = is_tagged.then(|| format!("Tags of operations, by bytes: {}{others}.", named.join(", ")));
        chosen.into_iter().chain(tags).collect()
    }
}

impl OperationTables for TaggedTables<'_> {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        let is_new = process >= self.counted.get();
        self.counted.set(self.counted.get().max(process + 1));
        let rows = self.tables.operations(process)?.inspect(move |row| {
            if let (true, Ok(row)) = (is_new, row) {
                self.seen.borrow_mut().add(row);
            }
        });
        // a damage passes: the tables' reader must see it
        let is_wanted = |row: &Result<RankOperation, Unreadable>| match (self.tag, row) {
            (Some(tag), Ok(row)) => row.tag == tag,
            _ => true,
        };
        Ok(Box::new(rows.filter(is_wanted)))
    }

    fn conditions(&self, process: usize) -> Result<Vec<ConditionRow>, Unreadable> {
        self.tables.conditions(process)
    }

    fn predicted(&self, process: usize) -> Result<Vec<Predicted>, Unreadable> {
        self.tables.predicted(process)
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
        let rows = "Tags of operations, by bytes: 7 (3 operations, 3,000 bytes), none (1 operations, 1,000 bytes), 9 (1 \
                    operations, 1,000 bytes).";
        assert_eq!(all.notes(), [rows]);
        let chosen = TaggedTables::new(&given, Some(7));
        assert_eq!([tags(&chosen), tags(&chosen)], [[7, 7, 7], [7, 7, 7]]);
        assert!(chosen.notes()[0].starts_with("Only the operations with tag 7 are in the report: 3 of 5."));
        assert_eq!(chosen.notes()[1], rows);
        let without = Given([&[0], &[0, 0]]);
        let untagged = TaggedTables::new(&without, None);
        assert_eq!((tags(&untagged).len(), untagged.notes()), (3, vec![]));
    }
}
