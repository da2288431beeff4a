//! The board: the process' counters, written by the collector and read with one atomic load by whoever asks.

use crate::figures::metric::COUNTERS;
use std::sync::atomic::{AtomicU64, Ordering};

static BOARD: [AtomicU64; COUNTERS] = [const { AtomicU64::new(0) }; COUNTERS];

/// Adds to a counter, which stays at its end rather than fall. Only the collector adds.
pub fn add(counter: usize, amount: u64) {
    if let Some(value) = BOARD.get(counter) {
        value.store(value.load(Ordering::Relaxed).saturating_add(amount), Ordering::Relaxed);
    }
}

/// Raises a counter to a value; it never falls, since Score-P aborts the application over a counter that does.
pub fn raise(counter: usize, to: u64) {
    if let Some(value) = BOARD.get(counter) {
        value.fetch_max(to, Ordering::Relaxed);
    }
}

/// Where a counter's value is; only to be read.
pub fn value(counter: usize) -> Option<&'static AtomicU64> {
    BOARD.get(counter)
}

/// The value of a counter now.
pub fn read(counter: usize) -> u64 {
    value(counter).map_or(0, |value| value.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_add_up_and_never_fall() {
        let counter = COUNTERS - 1;
        add(counter, 5);
        raise(counter, 3);
        assert_eq!(read(counter), 5);
        raise(counter, 9);
        assert_eq!(read(counter), 9);
        add(COUNTERS, 1);
        assert_eq!(read(COUNTERS), 0);
    }
}
