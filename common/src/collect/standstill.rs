//! Whether the collector stands still: it neither works nor waits for a processor.
//!
//! On a crowded machine a thread may get no processor for seconds. Only the system knows that apart from a thread that
//! is blocked: it says so of each thread in /proc/self/task. A thread that computes for ever stands still, too: the time
//! counts for which it has a processor.

use crate::base::own_thread;
use crate::base::unseen::Unseen;
use crate::collect::pulse;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// Id of the collector's thread; 0 before there is one.
static COLLECTOR: AtomicI64 = AtomicI64::new(0);

/// Notes that the calling thread is the collector's.
pub(crate) fn is_here() {
    COLLECTOR.store(own_thread::number(), Ordering::Relaxed);
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Standstill {
    beats: u64,
    still: Duration,
    last: Instant,
    /// The processor time that it had used by then, where it was runnable.
    used: Option<Duration>,
}

impl Standstill {
    /// Begins to watch the collector.
    pub(crate) fn new() -> Self {
        Self { beats: pulse::beats(), still: Duration::ZERO, last: Instant::now(), used: None }
    }

    /// Returns for how long the collector has stood still, as far as it was looked at.
    pub(crate) fn look(&mut self) -> Duration {
        let (beats, now, used) = (pulse::beats(), Instant::now(), runnable());
        let passed = now.duration_since(self.last);
        let still = if beats != self.beats { Duration::ZERO } else { self.still + still(passed, self.used, used) };
        *self = Self { beats, still, last: now, used };
        still
    }
}

/// Returns how much of the time between two looks counts: what a runnable thread has used of a processor, and all of a
/// thread that is blocked, or of which the system says nothing.
fn still(passed: Duration, before: Option<Duration>, now: Option<Duration>) -> Duration {
    match (before, now) {
        (Some(before), Some(now)) => now.saturating_sub(before).min(passed),
        (None, Some(_)) => Duration::ZERO,
        (_, None) => passed,
    }
}

/// Returns the processor time of the collector's thread, if it has a processor or waits for one.
fn runnable() -> Option<Duration> {
    // Score-P must not record the read as the application's
    let _hidden = Unseen::look_up().enter();
    let mut stat = [0; 512];
    let mut file = File::open(format!("/proc/self/task/{}/stat", COLLECTOR.load(Ordering::Relaxed))).ok()?;
    let length = file.read(&mut stat).ok()?;
    of_stat(std::str::from_utf8(stat.get(..length)?).ok()?)
}

/// Returns the processor time of a runnable thread from the text of its stat file: its fields 3, 14 and 15.
fn of_stat(stat: &str) -> Option<Duration> {
    // the name, in parentheses, may have blanks and parentheses
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    if fields.next()? != "R" {
        return None;
    }
    let [user, system]: [u64; 2] = [fields.nth(10)?.parse().ok()?, fields.next()?.parse().ok()?];
    // SAFETY: sysconf only looks a value up.
    let each_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
    Some(Duration::from_millis(user.saturating_add(system).saturating_mul(1000).checked_div(each_second)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_runnable_thread_has_a_time() {
        let stat = |state| format!("77 (a) S b) {state} 4 5 6 7 8 9 10 11 12 13 150 250 16 17");
        assert_eq!(of_stat(&stat("R")), Some(Duration::from_secs(4)));
        assert_eq!((of_stat(&stat("S")), of_stat("77 (a) R 1"), of_stat("")), (None, None, None));
        // the thread that asks is the one
        is_here();
        assert!(runnable().is_some());
    }

    #[test]
    fn the_wait_for_a_processor_does_not_count() {
        let [none, passed, used] = [0, 100, 30].map(Duration::from_millis);
        assert_eq!(still(passed, Some(used), Some(used)), none);
        assert_eq!(still(passed, Some(none), Some(used)), used);
        assert_eq!(still(passed, Some(none), Some(Duration::from_secs(9))), passed);
        assert_eq!(still(passed, None, Some(used)), none);
        assert_eq!([still(passed, Some(used), None), still(passed, None, None)], [passed; 2]);
    }
}
