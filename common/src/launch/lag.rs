//! Whether NCCL's thread that hands on the GPU's stamps keeps up. Up to 2.30 it is the proxy thread, which takes about
//! a microsecond for each kernel channel; where many operations on many channels follow one another, launches wait for
//! it (25 us an operation of 24 channels, docs/presets.md). Then stamps are not asked for, for a while, and events time
//! kernels.

use std::sync::atomic::{AtomicBool, Ordering};

/// Nanoseconds by which all stamps of a round come later than the quickest one of late: then the thread does not keep
/// up.
const LATE: f64 = 200e3;
/// Stamps of a round that tell as much.
const SOME: u32 = 64;
/// Nanoseconds for which stamps are not asked for, at first; twice as long each time, up to the most.
const PAUSE: u64 = 1_000_000_000;
const LONGEST: u64 = 64 * PAUSE;
/// They are asked for again sooner where there are no more kernel channels a second than this, for so many nanoseconds:
/// NCCL's thread takes about a microsecond for each.
const BEARABLE: f64 = 400e3;
const WHILE: u64 = 50_000_000;

/// Whether the GPU's stamps are wanted just now.
#[derive(Debug)]
pub struct Stamps(AtomicBool);

impl Default for Stamps {
    fn default() -> Self {
        Self(AtomicBool::new(true))
    }
}

impl Stamps {
    /// Whether they are.
    #[inline]
    pub fn are_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Wants them again at once.
    pub fn want(&self) {
        if !self.are_wanted() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// How late stamps came.
#[derive(Debug, Clone, Copy)]
pub struct Lag {
    least: f64,
    stamps: u32,
    /// Kernel channels of the operations that began, whether or not they were asked for.
    channels: u64,
}

impl Default for Lag {
    fn default() -> Self {
        Self { least: f64::INFINITY, stamps: 0, channels: 0 }
    }
}

impl Lag {
    /// A stamp came so many nanoseconds later than the quickest one of late.
    #[inline]
    pub fn observe(&mut self, nanoseconds: f64) {
        self.least = self.least.min(nanoseconds);
        self.stamps += 1;
    }

    /// An operation began that runs on so many channels.
    #[inline]
    pub fn began(&mut self, channels: u8) {
        self.channels += u64::from(channels);
    }

    /// Takes in another communicator's.
    pub fn merge(&mut self, other: Self) {
        self.least = self.least.min(other.least);
        self.stamps += other.stamps;
        self.channels += other.channels;
    }
}

/// When stamps are asked for again, nanoseconds.
#[derive(Debug)]
pub struct Pause {
    length: u64,
    until: u64,
    /// Since when kernel channels are counted, and how many there were.
    since: u64,
    channels: u64,
}

impl Default for Pause {
    fn default() -> Self {
        Self { length: PAUSE, until: 0, since: 0, channels: 0 }
    }
}

impl Pause {
    /// A round is over at a time, nanoseconds, in which stamps came so late. They may be done without only where events
    /// time kernels.
    pub fn look(&mut self, stamps: &Stamps, lag: Lag, now: u64, has_events: bool) {
        if !stamps.are_wanted() {
            if now >= self.until || !has_events || self.is_bearable(lag.channels, now) {
                stamps.0.store(true, Ordering::Relaxed);
            }
            return;
        }
        if has_events && lag.stamps >= SOME && lag.least > LATE {
            // quiet for as long as the last pause was: that one has cured it
            let is_again = now.saturating_sub(self.until) < self.length;
            self.length = if is_again && self.until > 0 { (2 * self.length).min(LONGEST) } else { PAUSE };
            self.until = now.saturating_add(self.length);
            stamps.0.store(false, Ordering::Relaxed);
            (self.since, self.channels) = (now, 0);
        }
    }

    /// Whether there were few enough kernel channels for a while.
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
