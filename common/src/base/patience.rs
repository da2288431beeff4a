//! The time that the end of the process waits for threads of the library that write files. A file system that does not
//! answer for so long must not keep the process from ending.

use crate::base::pause::pause;
use crate::base::{lock, log, own_thread};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long the process waits for all files together.
const FOR_FILES: Duration = Duration::from_secs(30);
/// How long it waits for one of them at least: the other ones may lie in another file system.
const FOR_ONE: Duration = Duration::from_millis(200);

/// A pause counts as no longer than this.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

static FILES: Patience = Patience::new(FOR_FILES);

/// A time that several waits use up together.
struct Patience {
    whole: Duration,
    /// Time waited so far, nanoseconds.
    waited: AtomicU64,
}

impl Patience {
    const fn new(whole: Duration) -> Self {
        Self { whole, waited: AtomicU64::new(0) }
    }

    /// Waits a little. Returns false once the whole time is used up.
    fn wait_on(&self) -> bool {
        let is_left = u128::from(self.waited.load(Ordering::Relaxed)) < self.whole.as_nanos();
        if is_left {
            let begun = Instant::now();
            pause(lock::PAUSE);
            // a clock may stand still or jump
            let waited = begun.elapsed().clamp(lock::PAUSE, LONGEST_PAUSE);
            self.waited.fetch_add(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
        is_left
    }

    fn hold<'a, T>(&self, mutex: &'a Mutex<T>, give_up: impl FnOnce()) -> Option<MutexGuard<'a, T>> {
        let mut is_left = true;
        let held = lock::hold_while(mutex, || {
            is_left = self.wait_on();
            is_left
        });
        if !is_left {
            give_up();
        }
        held
    }
}

/// Waits for a lock that one of the library's threads may hold while it writes the file `written`. Returns `None` when
/// the patience is at its end, with one warning, or where the process is out of memory: the holder may have stopped for
/// good. A thread of the library has a patience of its own.
pub fn hold<'a, T>(mutex: &'a Mutex<T>, written: &str) -> Option<MutexGuard<'a, T>> {
    let own = Patience::new(FOR_FILES);
    let patience = if own_thread::is_own() { &own } else { &FILES };
    patience.hold(mutex, || warn(written))
}

/// Waits until `is_done`: until a thread of the library has written the file `written`. Returns false when the patience
/// is at its end, with one warning.
pub(crate) fn wait(written: &str, mut is_done: impl FnMut() -> bool) -> bool {
    let least = Patience::new(FOR_ONE);
    loop {
        if is_done() {
            return true;
        }
        if !FILES.wait_on() && !least.wait_on() {
            warn(written);
            return false;
        }
    }
}

fn warn(written: &str) {
    log::warn(&format!(
        "{written} of this process is not written to its end: the file system has not taken what came before for {} s",
        FOR_FILES.as_secs()
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_for_ever_is_given_up_and_the_patience_is_one_for_all() {
        let (busy, free) = (Mutex::new(1), Mutex::new(2));
        let held = busy.lock().unwrap();
        let (patience, mut given_up) = (Patience::new(Duration::from_millis(20)), 0);
        for turn in 1..=2 {
            assert!(patience.hold(&busy, || given_up += 1).is_none());
            assert_eq!(given_up, turn);
        }
        // a free lock is taken without a wait
        assert_eq!(patience.hold(&free, || given_up += 1).as_deref(), Some(&2));
        drop(held);
        assert!(patience.hold(&busy, || given_up += 1).is_some() && given_up == 2);
    }
}
