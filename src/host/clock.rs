//! The clock that the Score-P stand-in hands to the plugin: it shows the capture's time, not the machine's.

use std::sync::atomic::{AtomicU64, Ordering};

/// Ticks a second: captures count nanoseconds.
pub(crate) const TICKS_PER_SECOND: u64 = 1_000_000_000;

static NOW: AtomicU64 = AtomicU64::new(0);

/// Score-P's clock function.
pub(crate) unsafe extern "C" fn read() -> u64 {
    NOW.load(Ordering::Acquire)
}

/// The callback about to be made happened at that time. Whoever reads it sees all that the callbacks before have done.
pub(crate) fn set(time: u64) {
    NOW.store(time, Ordering::Release);
}
