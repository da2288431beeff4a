//! What a reader of the figures must know, in words; part of the summary.

use crate::base::shortage;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

static NOTES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Adds a note; one that is there already is not repeated. Never called from the hot path.
pub fn add(note: String) {
    // whoever stops for want of memory must not hold the lock; and there is no summary then
    if shortage::is_out_of_memory() {
        return;
    }
    NOTES.lock().unwrap_or_else(PoisonError::into_inner).insert(note);
}

/// All notes.
pub fn all() -> Vec<String> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
}
