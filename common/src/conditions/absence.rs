//! For how long the process did not run, as the collector notices it: it woke much later than it had asked for.
//!
//! The collector sleeps for 10 ms at a time while NCCL calls the plugin. A stop of the process (SIGSTOP, a debugger, a
//! virtual machine that is held) ends its sleep late. So does a lack of processors; the time for which the collector was
//! ready and had none is known from the system and taken off ([`super`]).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Lateness of a sleep from which on it counts.
const LATE: Duration = Duration::from_millis(5);

static SUM: AtomicU64 = AtomicU64::new(0);
/// The system's number of the collector's thread; 0 before it runs.
static COLLECTOR: AtomicU32 = AtomicU32::new(0);

/// Notes which thread is the collector's.
pub(crate) fn is_of(collector: u32) {
    COLLECTOR.store(collector, Ordering::Relaxed);
}

/// Returns the system's number of the collector's thread.
pub(super) fn collector() -> Option<u32> {
    Some(COLLECTOR.load(Ordering::Relaxed)).filter(|&thread| thread != 0)
}

/// Adds a sleep of the collector that was to take so long, and took so long. Only the collector calls this.
pub(crate) fn slept(wanted: Duration, taken: Duration) {
    let late = taken.saturating_sub(wanted);
    if late >= LATE {
        let late = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
        SUM.store(SUM.load(Ordering::Relaxed).saturating_add(late), Ordering::Relaxed);
    }
}

/// Returns the lateness of all sleeps so far, microseconds.
pub(super) fn sum() -> u64 {
    SUM.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_much_later_than_wanted_counts() {
        let [short, wanted, much] = [3, 10, 60].map(Duration::from_millis);
        slept(wanted, wanted + short);
        slept(wanted, short);
        assert_eq!(sum(), 0);
        slept(wanted, much);
        assert_eq!(sum(), 50_000);
    }
}
