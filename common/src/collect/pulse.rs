//! The pulse of the collector thread: it shows whether the thread is at work.

use std::sync::atomic::{AtomicU64, Ordering};

/// Changes for as long as the collector is at work.
static PULSE: AtomicU64 = AtomicU64::new(0);

/// Beats once. Only the collector thread calls this, for every event and operation.
#[inline]
pub(crate) fn beat() {
    PULSE.store(PULSE.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// Returns the number of beats so far.
pub(crate) fn beats() -> u64 {
    PULSE.load(Ordering::Relaxed)
}
