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
    /// Waits until the bell rings, at most for `patience`. Returns at once if the bell has rung since the last wait.
    /// Only one thread may call this.
    pub(crate) fn wait(&self, patience: Duration) {
        if self.0.compare_exchange(SILENT, AWAITED, Ordering::Acquire, Ordering::Acquire).is_ok() {
            let time =
                libc::timespec { tv_sec: patience.as_secs() as libc::time_t, tv_nsec: patience.subsec_nanos().into() };
            let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: the word and the time live as long as the call. The result is ignored: the caller checks for work
            // however the wait ended.
            unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, AWAITED, &raw const time) };
        }
        self.0.swap(SILENT, Ordering::Acquire);
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
