//! How late a time may be.

use std::time::{Duration, Instant};

/// Latest time of a process' clock, and latest time of day, nanoseconds: 146 years after a machine's boot, or after 1970.
/// Readers of files refuse later ones, so that the difference of any two times, also of different machines, fits 64 bits.
pub const LATEST: u64 = 1 << 62;

/// Returns the moment that is so much later; the moment itself at the end of a clock's time, which a clock of any value
/// may show.
pub fn after(moment: Instant, time: Duration) -> Instant {
    moment.checked_add(time).unwrap_or(moment)
}

/// Says that a time is too late.
pub fn refusal(time: u64) -> String {
    format!("{time} ns is no time: at most {LATEST} is believed")
}
