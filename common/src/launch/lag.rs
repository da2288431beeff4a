//! Pauses in asking for the GPU's stamps, when NCCL's thread that delivers them does not keep up.
//!
//! Up to NCCL 2.30 that is the proxy thread, which takes about a microsecond for each kernel channel. Where many
//! operations on many channels follow one another, launches wait for it (25 us for an operation of 24 channels,
//! docs/presets.md). Then the library does not ask for stamps for a while, and events time kernels.

use std::sync::atomic::{AtomicBool, Ordering};

/// The thread does not keep up if every stamp of a round comes later than the quickest recent one by more than this,
/// nanoseconds.
const LATE: f64 = 200e3;
/// Least number of stamps in a round that shows this.
const SOME: u32 = 64;
/// First pause, nanoseconds. Each further pause is twice as long, up to `LONGEST`.
const PAUSE: u64 = 1_000_000_000;
const LONGEST: u64 = 64 * PAUSE;
/// A pause ends early if there are at most this many kernel channels a second, for at least `WHILE` nanoseconds. NCCL's
/// thread takes about a microsecond for each channel.
const BEARABLE: f64 = 400e3;
const WHILE: u64 = 50_000_000;

/// Whether the library asks for the GPU's stamps just now.
#[derive(Debug)]
pub struct Stamps(AtomicBool);

impl Default for Stamps {
    fn default() -> Self {
        Self(AtomicBool::new(true))
    }
}

impl Stamps {
    /// Returns whether stamps are wanted.
    #[inline]
    pub fn are_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Asks for stamps again at once.
    pub fn want(&self) {
        if !self.are_wanted() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Lateness of the stamps of a round.
#[derive(Debug, Clone, Copy)]
pub struct Lag {
    least: f64,
    stamps: u32,
    /// Kernel channels of the operations that began, whether or not NCCL was asked for their stamps.
    channels: u64,
}

impl Default for Lag {
    fn default() -> Self {
        Self { least: f64::INFINITY, stamps: 0, channels: 0 }
    }
}

impl Lag {
    /// Counts a stamp that came `nanoseconds` later than the quickest recent one.
    #[inline]
    pub fn observe(&mut self, nanoseconds: f64) {
        self.least = self.least.min(nanoseconds);
        self.stamps += 1;
    }

    /// Counts the channels of an operation that began.
    #[inline]
    pub fn began(&mut self, channels: u8) {
        self.channels += u64::from(channels);
    }

    /// Adds the stamps and channels of another communicator.
    pub fn merge(&mut self, other: Self) {
        self.least = self.least.min(other.least);
        self.stamps += other.stamps;
        self.channels += other.channels;
    }
}

/// The current pause, if any. Times in nanoseconds.
#[derive(Debug)]
pub struct Pause {
    length: u64,
    until: u64,
    /// Begin of the count of kernel channels, and the count.
    since: u64,
    channels: u64,
}

impl Default for Pause {
    fn default() -> Self {
        Self { length: PAUSE, until: 0, since: 0, channels: 0 }
    }
}

impl Pause {
    /// Begins or ends a pause at the end of a round, at `now` nanoseconds, by the lateness of its stamps. A pause is
    /// possible only where events time kernels (`has_events`).
    pub fn look(&mut self, stamps: &Stamps, lag: Lag, now: u64, has_events: bool) {
        if !stamps.are_wanted() {
            if now >= self.until || !has_events || self.is_bearable(lag.channels, now) {
                stamps.0.store(true, Ordering::Relaxed);
            }
            return;
        }
        if has_events && lag.stamps >= SOME && lag.least > LATE {
            // a quiet time as long as the last pause: that pause has cured the delay
            let is_again = now.saturating_sub(self.until) < self.length;
            self.length = if is_again && self.until > 0 { (2 * self.length).min(LONGEST) } else { PAUSE };
            self.until = now.saturating_add(self.length);
            stamps.0.store(false, Ordering::Relaxed);
            (self.since, self.channels) = (now, 0);
        }
    }

    /// Returns whether there were few enough kernel channels for a while.
    fn is_bearable(&mut self, channels: u64, now: u64) -> bool {
        self.channels += channels;
        let passed = now.saturating_sub(self.since);
        if passed < WHILE {
            return false;
        }
        let a_second = self.channels as f64 * 1e9 / passed as f64;
        (self.since, self.channels) = (now, 0);
        a_second <= BEARABLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lag(count: u32, nanoseconds: f64) -> Lag {
        let mut lag = Lag::default();
        (0..count).for_each(|_| lag.observe(nanoseconds));
        lag
    }

    fn channels(count: u64) -> Lag {
        Lag { channels: count, ..Lag::default() }
    }

    #[test]
    fn stamps_are_asked_for_again_as_soon_as_there_is_little_to_tell() {
        let (stamps, mut pause, millisecond) = (Stamps::default(), Pause::default(), 1_000_000);
        pause.look(&stamps, lag(64, 1e6), 1000 * millisecond, true);
        for (now, count, wanted) in [(1049, 0, false), (1051, 51_000, false), (1102, 20_000, true)] {
            pause.look(&stamps, channels(count), now * millisecond, true);
            assert_eq!(stamps.are_wanted(), wanted, "{now}");
        }
    }

    #[test]
    fn stamps_are_done_without_while_they_come_late_and_for_longer_each_time() {
        let (stamps, mut pause, second) = (Stamps::default(), Pause::default(), 1_000_000_000);
        pause.look(&stamps, lag(63, 1e6), second, true);
        pause.look(&stamps, lag(64, 150e3), second, true);
        pause.look(&stamps, lag(64, 1e6), second, false);
        assert!(stamps.are_wanted());
        let mut now = second;
        for length in [1, 2, 4, 8, 16, 32, 64, 64] {
            pause.look(&stamps, lag(64, 1e6), now, true);
            pause.look(&stamps, channels(length * 1_000_000), now + length * second - 1, true);
            assert!(!stamps.are_wanted(), "{length}");
            now += length * second;
            pause.look(&stamps, Lag::default(), now, true);
            assert!(stamps.are_wanted(), "{length}");
        }
        now += 70 * second;
        pause.look(&stamps, lag(64, 1e6), now, true);
        pause.look(&stamps, Lag::default(), now + second, true);
        assert!(stamps.are_wanted());
    }

    #[test]
    fn one_stamp_that_comes_at_once_is_enough() {
        let (stamps, mut pause) = (Stamps::default(), Pause::default());
        let mut both = lag(64, 1e6);
        both.merge(lag(1, 3e3));
        pause.look(&stamps, both, 1, true);
        assert!(stamps.are_wanted());
    }
}
