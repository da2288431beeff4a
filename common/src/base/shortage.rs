//! Whether the process is out of memory.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set once an allocation of this library has failed.
static OUT_OF_MEMORY: AtomicBool = AtomicBool::new(false);

/// Whether an allocation of this library has failed: then its threads answer nothing any more, and no file is written.
#[inline]
pub fn is_out_of_memory() -> bool {
    OUT_OF_MEMORY.load(Ordering::Relaxed)
}

/// An allocation has failed.
pub(crate) fn note() {
    OUT_OF_MEMORY.store(true, Ordering::Relaxed);
}
