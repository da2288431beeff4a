//! Whether the collector stands still: it neither works nor waits for a processor.
//!
//! On a crowded machine a thread may get no processor for seconds. Only the system knows that apart from a thread that
//! is blocked: it says so of each thread in /proc/self/task. A thread that computes for ever stands still, too: the time
//! counts for which it has a processor.

use crate::base::unseen::Unseen;
use crate::base::{birth, own_thread, system_file};
use crate::collect::pulse;
use crate::conditions::absence;
use std::ffi::CString;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time between two looks.
pub(crate) const LOOK: Duration = Duration::from_millis(100);
/// Time of a processor between two looks that counts at most.
const MOST: Duration = Duration::from_millis(200);

/// The collector's thread.
static COLLECTOR: OnceLock<Collector> = OnceLock::new();

#[derive(Debug)]
struct Collector {
    /// Path of its stat file.
    stat: CString,
    /// Looked up beforehand, since that takes the loader's lock.
    unseen: Unseen,
}

/// Notes that the calling thread is the collector's, for those who look whether it stands still or was not run.
pub(crate) fn is_here() {
    let number = own_thread::number();
    absence::is_of(u32::try_from(number).unwrap_or(0));
    let stat = CString::new(format!("/proc/self/task/{number}/stat")).unwrap_or_default();
    let _ = COLLECTOR.set(Collector { stat, unseen: Unseen::look_up() });
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
/// thread that is blocked, or of which the system says nothing. The later the thread that looks comes to it, the less
/// counts: on a crowded machine, whoever holds what the collector waits for gets no processor, either.
fn still(passed: Duration, before: Option<Duration>, now: Option<Duration>) -> Duration {
    match (before, now) {
        (Some(before), Some(now)) => now.saturating_sub(before).min(passed).min(MOST),
        (None, Some(_)) => Duration::ZERO,
        (_, None) => passed.min(LOOK.mul_f64(LOOK.as_secs_f64() / passed.max(LOOK).as_secs_f64())),
    }
}

/// Returns the processor time of the collector's thread, if it has a processor or waits for one. Neither allocates nor
/// tries again.
fn runnable() -> Option<Duration> {
    // a thread that has not begun waits for its first processor
    let Some(collector) = COLLECTOR.get() else { return Some(Duration::ZERO) };
    // Score-P must not record the read as the application's
    let _hidden = collector.unseen.enter();
    let mut stat = [0_u8; 512];
    of_stat(system_file::read(&collector.stat, &mut stat)?)
}

/// Returns the processor time of a runnable thread from the text of its stat file: its fields 3, 14 and 15.
fn of_stat(stat: &str) -> Option<Duration> {
    let mut fields = birth::fields(stat)?;
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
        assert_eq!(runnable(), Some(Duration::ZERO), "it has not begun");
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
        // as of one look in the time of ten
        assert_eq!(still(Duration::from_secs(1), None, None), Duration::from_millis(10));
        assert_eq!([still(passed, Some(used), None), still(passed, None, None)], [passed; 2]);
    }
}
