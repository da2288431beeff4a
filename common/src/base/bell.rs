//! A bell that wakes one thread of ours. Neither waiting nor ringing takes memory, as a thread of the standard library
//! does at its first wait, and ringing waits for nobody.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const SILENT: u32 = 0;
const RUNG: u32 = 1;
/// Somebody waits.
const AWAITED: u32 = 2;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Bell(AtomicU32);

impl Bell {
    /// Waits until it rings, or for that time; not at all if it has rung since the last wait. Only one thread may.
    pub(crate) fn wait(&self, patience: Duration) {
        if self.0.compare_exchange(SILENT, AWAITED, Ordering::Acquire, Ordering::Acquire).is_ok() {
            let time =
                libc::timespec { tv_sec: patience.as_secs() as libc::time_t, tv_nsec: patience.subsec_nanos().into() };
            let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: the word and the time live as long as the call. Whatever ends it, the caller looks at what there
            // is to do.
            unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, AWAITED, &raw const time) };
        }
        self.0.swap(SILENT, Ordering::Acquire);
    }

    /// Ends the wait, or the next one.
    pub(crate) fn ring(&self) {
        if self.0.swap(RUNG, Ordering::Release) == AWAITED {
            let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: the kernel takes the word's address as a name.
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
