//! A bell that wakes one of the library's threads. Waiting and ringing allocate nothing, and ringing never blocks. (A
//! thread of the standard library allocates at its first wait.)

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const SILENT: u32 = 0;
const RUNG: u32 = 1;
/// A thread waits.
const AWAITED: u32 = 2;

/// A futex that holds one of the three states above.
#[derive(Debug, Default)]
pub(crate) struct Bell(AtomicU32);

impl Bell {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(SILENT))
    }

    /// Waits until the bell rings, at most for `patience`, which the kernel measures. Returns at once if the bell has
    /// rung since the last wait. Returns whether a signal has ended the wait. Only one thread may call this.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        let is_silent = self.0.compare_exchange(SILENT, AWAITED, Ordering::Acquire, Ordering::Acquire).is_ok();
        // the caller checks for work however the wait ended
        let is_interrupted = is_silent && is_interrupted(&self.0, AWAITED, patience);
        self.0.swap(SILENT, Ordering::Acquire);
        is_interrupted
    }

    /// Ends the current wait, or the next one if no thread waits.
    pub(crate) fn ring(&self) {
        if self.0.swap(RUNG, Ordering::Release) == AWAITED {
            let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: the kernel uses the word's address as a key only.
            unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, 1) };
        }
    }
}

/// Waits as long as a word has a value, at most for `patience`. Returns whether a signal has ended the wait.
pub(crate) fn is_interrupted(word: &AtomicU32, value: u32, patience: Duration) -> bool {
    let seconds = libc::time_t::try_from(patience.as_secs()).unwrap_or(libc::time_t::MAX);
    let time = libc::timespec { tv_sec: seconds, tv_nsec: patience.subsec_nanos().into() };
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the time live as long as the call.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, &raw const time) };
    result != 0 && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_wakes_who_waits_and_who_comes_later() {
        let bell = Bell::default();
        let long = Duration::from_secs(1000);
        bell.ring();
        bell.wait(long);
        bell.wait(Duration::from_millis(1));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| bell.wait(long));
            bell.ring();
            waits.join().unwrap();
        });
    }
}
