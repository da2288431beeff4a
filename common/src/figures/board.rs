//! The board: the process' counters. The collector writes them, and any thread reads a counter with one atomic load.

use crate::figures::metric::COUNTERS;
use std::sync::atomic::{AtomicU64, Ordering};

static BOARD: [AtomicU64; COUNTERS] = [const { AtomicU64::new(0) }; COUNTERS];

/// Adds to a counter, which saturates. Only the collector adds.
pub fn add(counter: usize, amount: u64) {
    if let Some(value) = BOARD.get(counter) {
        value.store(value.load(Ordering::Relaxed).saturating_add(amount), Ordering::Relaxed);
    }
}

/// Raises a counter to a value. A counter never falls, since Score-P aborts the application if one does.
pub fn raise(counter: usize, to: u64) {
    if let Some(value) = BOARD.get(counter) {
        value.fetch_max(to, Ordering::Relaxed);
    }
}

/// Returns the place of a counter's value, to be read only.
pub fn value(counter: usize) -> Option<&'static AtomicU64> {
    BOARD.get(counter)
}

/// Returns the value of a counter.
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
