//! NCCL's predictions in a recording, each once.

use common::summary::Predicted;
use std::collections::BTreeMap;

/// Most predictions that are kept. A recording of this project's library has at most as many.
const MOST: usize = 1024;

/// The predictions of a recording.
#[derive(Debug, Default)]
pub(super) struct RecordedPredictions {
    /// By everything but the number of calls.
    rows: BTreeMap<String, Predicted>,
}

impl RecordedPredictions {
    /// Adds a line. The number of calls counts from the begin of the process, so a later line replaces an earlier one.
    pub(super) fn add(&mut self, row: Predicted) {
        let kind = Predicted { calls: 0, ..row.clone() }.json();
        if self.rows.len() < MOST || self.rows.contains_key(&kind) {
            self.rows.insert(kind, row);
        }
    }

    /// Returns the predictions.
    pub(super) fn into_rows(self) -> Vec<Predicted> {
        self.rows.into_values().collect()
    }
}
