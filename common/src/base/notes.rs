//! Notes: sentences that a reader of the summary must know. The summary contains them.

use crate::base::{lock, shortage};
use std::collections::BTreeSet;
use std::sync::Mutex;

static NOTES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Adds a note, unless it is there already. Never called from the hot path.
pub fn add(note: String) {
    // no summary is written when memory has run out
    if shortage::is_out_of_memory() {
        return;
    }
    if let Some(mut notes) = lock::hold(&NOTES) {
        notes.insert(note);
    }
}

/// Returns all notes; none if a thread that is out of memory holds them.
pub fn all() -> Vec<String> {
    lock::hold(&NOTES).map(|notes| notes.iter().cloned().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::shortage::tests::without_memory;

    #[test]
    fn nobody_waits_for_a_thread_that_is_out_of_memory_and_holds_them() {
        without_memory("base::notes::tests::nobody_waits_for_a_thread_that_is_out_of_memory_and_holds_them", || {
            let _held = NOTES.lock().unwrap();
            add("one".into());
            assert!(all().is_empty());
        });
    }
}
