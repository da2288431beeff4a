//! Pauses of a thread.

use crate::base::bell;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

/// Attempts at a pause that signals interrupt.
const TRIES: u32 = 1000;

/// Pauses for a time; for less if signals interrupt it a thousand times. (A pause of the standard library never ends
/// where the system interrupts each attempt.)
pub fn pause(time: Duration) {
    let begun = Instant::now();
    let mut left = time;
    let word = AtomicU32::new(0);
    for _ in 0..TRIES {
        if left.is_zero() || !bell::is_interrupted(&word, 0, left) {
            return;
        }
        left = time.saturating_sub(begun.elapsed());
    }
}

/// Pauses for a millisecond after each look that finds that `is_so`; for so many looks at most, since a clock may stand
/// still.
pub(crate) fn pause_while(looks: u32, mut is_so: impl FnMut() -> bool) {
    for _ in 0..looks {
        if !is_so() {
            return;
        }
        pause(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_with_its_cause_or_with_the_looks() {
        let mut looks = 0;
        pause_while(5, || {
            looks += 1;
            looks < 3
        });
        assert_eq!(looks, 3);
        pause_while(5, || {
            looks += 1;
            true
        });
        assert_eq!(looks, 8);
    }

    #[test]
    fn it_lasts_as_long_as_it_should() {
        for milliseconds in [0, 1, 20] {
            let (time, begun) = (Duration::from_millis(milliseconds), Instant::now());
            pause(time);
            assert!(begun.elapsed() >= time, "{milliseconds} ms");
        }
    }
}
