//! The rows of a process' operations. A row is made when nothing more will come of its operation, with the facts from
//! the operation's line.

use super::row::{OperationFacts, OperationRow};
use super::sorter::{Sorted, Sorter};
use common::timeline::{KeptOperation, OperationKeeper, OperationKey};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The rows so far.
#[derive(Debug)]
pub(super) struct OperationRows(Mutex<RowsSoFar>);

#[derive(Debug)]
struct RowsSoFar {
    /// Facts of the operations under way.
    under_way: BTreeMap<OperationKey, OperationFacts>,
    rows: Sorter<OperationRow>,
    /// The first error of a file.
    failed: Option<io::Error>,
    unmatched: u64,
}

impl OperationRows {
    /// Makes rows that take files in the directory `scratch`, where memory does not suffice.
    pub(super) fn new(scratch: &Path) -> Self {
        let (under_way, rows) = (BTreeMap::new(), Sorter::new(scratch));
        Self(Mutex::new(RowsSoFar { under_way, rows, failed: None, unmatched: 0 }))
    }

    /// Notes the facts of an operation that starts.
    pub(super) fn start(&self, key: OperationKey, facts: OperationFacts) {
        self.so_far().under_way.insert(key, facts);
    }

    /// Returns all rows in their order, and the number of operations that no line of the recording has started.
    ///
    /// # Errors
    /// A file could not be written, or cannot be read.
    pub(super) fn take(&self, scratch: &Path) -> io::Result<(Sorted<OperationRow>, u64)> {
        let mut so_far = self.so_far();
        let rows = std::mem::replace(&mut so_far.rows, Sorter::new(scratch));
        so_far.failed.take().map_or(Ok(()), Err)?;
        Ok((rows.sorted()?, so_far.unmatched))
    }

    fn so_far(&self) -> MutexGuard<'_, RowsSoFar> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OperationKeeper for OperationRows {
    fn keep(&self, kept: KeptOperation) {
        let mut so_far = self.so_far();
        let facts = so_far.under_way.remove(&kept.key);
        so_far.unmatched += u64::from(facts.is_none());
        let facts = facts.unwrap_or(OperationFacts { enqueued: kept.key.enqueued, ..OperationFacts::default() });
        if so_far.failed.is_none() {
            so_far.failed = so_far.rows.push(OperationRow { kept, facts }).err();
        }
    }

    fn leave_out(&self, key: OperationKey) {
        self.so_far().under_way.remove(&key);
    }
}
