//! The clock that the Score-P stand-in gives to the plugin. It shows the capture's time, not the machine's.

use std::sync::atomic::{AtomicU64, Ordering};

/// Ticks per second: captures have nanoseconds.
pub(crate) const TICKS_PER_SECOND: u64 = 1_000_000_000;

static NOW: AtomicU64 = AtomicU64::new(0);

/// Score-P's clock function, for the plugin.
pub(crate) unsafe extern "C" fn read() -> u64 {
    NOW.load(Ordering::Acquire)
}

/// Sets the clock to the time of the next callback. A thread that reads this time also sees the effects of all earlier
/// callbacks.
pub(crate) fn set(time: u64) {
    NOW.store(time, Ordering::Release);
}
