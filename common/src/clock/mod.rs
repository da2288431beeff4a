//! The clock that events are stamped with.
//!
//! With Score-P it is Score-P's clock, handed over before measurement begins, so that all times fit into the trace.
//! Without Score-P it is the processor's counter where the system trusts that, else CLOCK_MONOTONIC. Times are ticks of
//! that clock. The length of a tick is measured against CLOCK_MONOTONIC_RAW between two points in time, or, for
//! Score-P's clock, stated by `NCCL_SCOREP_TICK_RATE`.

mod counter;
pub(crate) mod gpu;
pub mod gpu_clocks;
pub mod gpu_track;
pub(crate) mod wall;

use crate::base::pause::pause_while;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Score-P's clock function, which returns the current ticks. It may be called from any thread.
pub type ClockFunction = unsafe extern "C" fn() -> u64;

/// Values of [`Clock::source`] that are no function's address. The first reader of the time replaces `UNDECIDED`.
const UNDECIDED: usize = 0;
/// CLOCK_MONOTONIC, in nanoseconds.
const SYSTEM: usize = 1;
/// The processor's counter.
const COUNTER: usize = 2;

/// Source of the times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClockSource {
    /// The system's clock: ticks are nanoseconds.
    System,
    /// The processor's counter.
    Counter,
    /// Score-P's clock.
    ScoreP,
}

/// Readings of both clocks for one pair, and within the first time of a clock, nanoseconds: a microsecond is a thousandth
/// of its first millisecond, and other work on the machine makes single readings as wrong as that.
const READINGS: u32 = 5;
const MANY_READINGS: u32 = 25;
const EARLY: u64 = 1_000_000_000;

/// The clock of this process' measurement.
pub static CLOCK: Clock = Clock::new();

/// A clock with a source and the length of its tick.
#[derive(Debug)]
pub struct Clock {
    /// Address of a [`ClockFunction`], or one of the values above.
    source: AtomicUsize,
    /// Stated ticks per second as bits of an f64; 0 if the rate is to be measured.
    stated: AtomicU64,
    /// First pair of (ticks, nanoseconds of CLOCK_MONOTONIC_RAW). The nanoseconds are 0 until the pair is taken.
    first: [AtomicU64; 2],
    /// Last result of [`Clock::nanoseconds_per_tick`] as bits of an f64; 0 when there was none.
    scale: AtomicU64,
}

impl Clock {
    /// Makes a clock that uses the processor's counter or the system's clock until [`Clock::set_function`].
    pub const fn new() -> Self {
        Self::of(UNDECIDED)
    }

    const fn of(source: usize) -> Self {
        Self {
            source: AtomicUsize::new(source),
            stated: AtomicU64::new(0),
            first: [AtomicU64::new(0), AtomicU64::new(0)],
            scale: AtomicU64::new(0),
        }
    }

    /// Switches to Score-P's clock.
    pub fn set_function(&self, function: ClockFunction) {
        self.source.store(function as usize, Ordering::Release);
        self.first[1].store(0, Ordering::Release);
        self.mark();
        self.forget_scale();
    }

    /// Returns the source of the times, decided by now.
    pub fn source(&self) -> ClockSource {
        let source = match self.source.load(Ordering::Acquire) {
            UNDECIDED => self.decide(),
            source => source,
        };
        match source {
            UNDECIDED | SYSTEM => ClockSource::System,
            COUNTER => ClockSource::Counter,
            _ => ClockSource::ScoreP,
        }
    }

    /// Returns whether times come from Score-P's clock.
    pub fn is_score_p(&self) -> bool {
        self.source() == ClockSource::ScoreP
    }

    /// Returns whether times come from the counter and the system has stopped trusting it.
    pub fn is_in_doubt(&self) -> bool {
        self.source() == ClockSource::Counter && counter::is_distrusted()
    }

    /// Takes the counter if it can be trusted. Two threads that decide at the same time end up with the same source.
    #[cold]
    fn decide(&self) -> usize {
        let source = if counter::is_trusted() { COUNTER } else { SYSTEM };
        match self.source.compare_exchange(UNDECIDED, source, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => source,
            Err(decided) => decided,
        }
    }

    /// States the tick rate, in ticks per second. Anything but a positive number counts as not stated.
    pub fn set_rate(&self, rate: f64) {
        let stated = if rate.is_finite() && rate > 0.0 { rate.to_bits() } else { 0 };
        self.stated.store(stated, Ordering::Relaxed);
        self.forget_scale();
    }

    fn forget_scale(&self) {
        let known = self.measure().map_or(0, f64::to_bits);
        self.scale.store(known, Ordering::Relaxed);
    }

    /// Returns the current ticks.
    #[inline]
    pub fn now(&self) -> u64 {
        match self.source.load(Ordering::Relaxed) {
            COUNTER => counter::read(),
            source => self.ask(source),
        }
    }

    /// Returns the current ticks of a source that takes more than one instruction to read.
    fn ask(&self, source: usize) -> u64 {
        match source {
            UNDECIDED => {
                self.decide();
                self.now()
            }
            SYSTEM => nanoseconds(libc::CLOCK_MONOTONIC),
            COUNTER => counter::read(),
            address => {
                // SAFETY: apart from the values above only `set_function` stores here, and it stores a `ClockFunction`.
                // Score-P guarantees that the function may be called from any thread while the plugin is loaded.
                let function: ClockFunction = unsafe { std::mem::transmute(address) };
                // SAFETY: as above.
                unsafe { function() }
            }
        }
    }

    /// Takes the first point of the rate measurement, unless it is taken already.
    pub fn mark(&self) {
        if self.first[1].load(Ordering::Acquire) == 0 {
            let (ticks, time) = self.pair(MANY_READINGS);
            self.first[0].store(ticks, Ordering::Relaxed);
            self.first[1].store(time, Ordering::Release);
        }
    }

    /// Waits, for a millisecond or two, until the length of a tick of the processor's counter is known. Returns at once
    /// for the other clocks; Score-P's has run long before NCCL begins.
    pub fn await_scale(&self) {
        self.mark();
        pause_while(3, || self.nanoseconds_per_tick().is_none() && self.source() == ClockSource::Counter);
    }

    /// Returns the nanoseconds per tick: the stated value, or 1 for the system's clock, or a measurement from
    /// [`Clock::mark`] until now. `None` while the two points are less than a millisecond apart, and if the clock did
    /// not advance.
    pub fn nanoseconds_per_tick(&self) -> Option<f64> {
        let scale = self.measure()?;
        self.scale.store(scale.to_bits(), Ordering::Relaxed);
        Some(scale)
    }

    /// Returns the last result of [`Clock::nanoseconds_per_tick`], if there is one, with one atomic load.
    pub fn last_scale(&self) -> Option<f64> {
        let scale = f64::from_bits(self.scale.load(Ordering::Relaxed));
        (scale > 0.0).then_some(scale)
    }

    fn measure(&self) -> Option<f64> {
        let stated = f64::from_bits(self.stated.load(Ordering::Relaxed));
        match self.source() {
            ClockSource::System => return Some(1.0),
            ClockSource::ScoreP if stated > 0.0 => return Some(1e9 / stated),
            // a stated rate holds for Score-P's clock alone
            ClockSource::ScoreP | ClockSource::Counter => {}
        }
        let first_time = self.first[1].load(Ordering::Acquire);
        let first_ticks = self.first[0].load(Ordering::Relaxed);
        let is_early = nanoseconds(libc::CLOCK_MONOTONIC_RAW).saturating_sub(first_time) < EARLY;
        let (ticks, time) = self.pair(if is_early { MANY_READINGS } else { READINGS });
        let elapsed = time.checked_sub(first_time).filter(|&elapsed| first_time > 0 && elapsed >= 1_000_000)?;
        let advanced = ticks.checked_sub(first_ticks).filter(|&advanced| advanced > 0)?;
        Some(elapsed as f64 / advanced as f64)
    }

    /// Reads both clocks so many times and returns the closest pair of readings.
    fn pair(&self, readings: u32) -> (u64, u64) {
        let reading = || {
            let before = nanoseconds(libc::CLOCK_MONOTONIC_RAW);
            let ticks = self.now();
            let after = nanoseconds(libc::CLOCK_MONOTONIC_RAW);
            (after.saturating_sub(before), ticks, before.midpoint(after))
        };
        let best = (1..readings).fold(reading(), |best, _| {
            let next = reading();
            if next.0 < best.0 { next } else { best }
        });
        (best.1, best.2)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads a clock of the system, in nanoseconds; 0 where it has no such clock.
pub fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Reads CLOCK_MONOTONIC in nanoseconds, for deadlines: they are real time, whatever clock events are stamped with.
pub fn monotonic() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn ten_times_raw() -> u64 {
        nanoseconds(libc::CLOCK_MONOTONIC_RAW) * 10
    }

    #[test]
    fn the_system_clock_counts_nanoseconds() {
        let clock = Clock::of(SYSTEM);
        clock.set_rate(2.1e9);
        assert_eq!(clock.nanoseconds_per_tick(), Some(1.0));
        assert!(clock.now() <= clock.now());
    }

    #[test]
    fn the_processors_counter_is_as_fast_as_the_systems_clock() {
        let clock = Clock::new();
        clock.await_scale();
        let read = || (clock.now(), nanoseconds(libc::CLOCK_MONOTONIC_RAW));
        let before = read();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let after = read();
        let counted = (after.0 - before.0) as f64 * clock.nanoseconds_per_tick().unwrap();
        let passed = (after.1 - before.1) as f64;
        assert!((counted / passed - 1.0).abs() < 0.05, "{counted} {passed}");
        assert_ne!(clock.source(), ClockSource::ScoreP);
    }

    #[test]
    fn a_stated_rate_is_believed() {
        let clock = Clock::new();
        clock.set_function(ten_times_raw);
        clock.set_rate(2.5e9);
        assert_eq!(clock.nanoseconds_per_tick(), Some(0.4));
        clock.set_rate(-1.0);
        assert_ne!(clock.nanoseconds_per_tick(), Some(-1e9));
    }

    #[test]
    fn a_rate_is_measured_between_two_points() {
        let clock = Clock::new();
        clock.set_function(ten_times_raw);
        assert_eq!(clock.nanoseconds_per_tick(), None);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let rate = clock.nanoseconds_per_tick().unwrap();
        assert!((rate - 0.1).abs() < 1e-3, "{rate}");
    }
}
