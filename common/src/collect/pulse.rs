//! Whether the collector thread is at work.

use std::sync::atomic::{AtomicU64, Ordering};

/// Goes on while it is.
static PULSE: AtomicU64 = AtomicU64::new(0);

/// The collector is at work. Only its thread calls this, for every event and operation.
#[inline]
pub(crate) fn beat() {
    PULSE.store(PULSE.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// Beats so far.
pub(crate) fn beats() -> u64 {
    PULSE.load(Ordering::Relaxed)
}
