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

/// Time of one look that counts at most: the thread that looks may have had no processor itself, and knows of one moment.
const MOST: Duration = Duration::from_millis(200);
/// How many times less a blocked thread's time counts while no processor is idle: whoever holds what it waits for may get
/// none, either.
const CROWDED: u32 = 4;

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
    /// For how long processors had been idle by then, ticks.
    idle: Option<u64>,
}

impl Standstill {
    /// Begins to watch the collector. Reads nothing: nearly all questions are answered before the first look.
    pub(crate) fn new() -> Self {
        Self { beats: pulse::beats(), still: Duration::ZERO, last: Instant::now(), used: None, idle: None }
    }

    /// Returns for how long the collector has stood still, as far as it was looked at.
    pub(crate) fn look(&mut self) -> Duration {
        let (beats, now, used, idle) = (pulse::beats(), Instant::now(), runnable(), idle());
        let passed = now.duration_since(self.last);
        let was_idle = idle.is_none() || idle != self.idle;
        let more = still(passed, self.used, used, was_idle);
        let still = if beats != self.beats { Duration::ZERO } else { self.still + more };
        *self = Self { beats, still, last: now, used, idle };
        still
    }
}

/// Returns how much of the time between two looks counts: what a runnable thread has used of a processor, and all of a
/// thread that is blocked, or of which the system says nothing; less where no processor `was_idle`.
fn still(passed: Duration, before: Option<Duration>, now: Option<Duration>, was_idle: bool) -> Duration {
    let still = match (before, now) {
        (Some(before), Some(now)) => now.saturating_sub(before).min(passed),
        (None, Some(_)) => Duration::ZERO,
        (_, None) if was_idle => passed,
        (_, None) => passed / CROWDED,
    };
    still.min(MOST)
}

/// Returns for how long processors of the machine have been idle so far, in ticks; `None` where the system does not say.
fn idle() -> Option<u64> {
    // as in `runnable`
    let _hidden = COLLECTOR.get().map(|collector| collector.unseen.enter());
    let mut stat = [0_u8; 512];
    of_machine(system_file::read(c"/proc/stat", &mut stat)?)
}

/// Returns the idle ticks from the text of the machine's stat file: the fourth and the fifth time of its first line.
fn of_machine(stat: &str) -> Option<u64> {
    let mut fields = stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace().skip(3);
    let [idle, waits]: [u64; 2] = [fields.next()?.parse().ok()?, fields.next()?.parse().ok()?];
    Some(idle.saturating_add(waits))
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
        assert_eq!(still(passed, Some(used), Some(used), true), none);
        assert_eq!(still(passed, Some(none), Some(used), true), used);
        assert_eq!(still(passed, Some(none), Some(Duration::from_secs(9)), true), passed);
        assert_eq!(still(passed, None, Some(used), true), none);
        assert_eq!(still(Duration::from_secs(3), None, None, true), MOST);
        assert_eq!([still(passed, Some(used), None, true), still(passed, None, None, true)], [passed; 2]);
        assert_eq!(still(passed, None, None, false), passed / CROWDED);
    }

    #[test]
    fn a_machine_says_how_long_its_processors_were_idle() {
        assert_eq!(of_machine("cpu  1 2 3 400 50 6 7\ncpu0 1 2 3 4 5 6 7"), Some(450));
        assert_eq!([of_machine(""), of_machine("cpu  1 2 3"), of_machine("intr 1 2 3 4 5")], [None; 3]);
    }
}
