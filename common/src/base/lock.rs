//! Locks that a thread of ours may hold for ever: one that stops for want of memory keeps what it holds.

use crate::base::shortage;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// What a thread of ours may hold while it takes memory or writes a file: waited for as long as that takes, and not
/// where the thread has stopped for want of memory, with what it holds.
pub(crate) fn hold<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    hold_while(mutex, || {
        std::thread::sleep(PAUSE);
        true
    })
}

/// A pause between two attempts at a lock.
pub(crate) const PAUSE: Duration = Duration::from_millis(1);

/// The same, where `pause` waits for the next attempt, and says whether there is one.
pub(crate) fn hold_while<T>(mutex: &Mutex<T>, mut pause: impl FnMut() -> bool) -> Option<MutexGuard<'_, T>> {
    loop {
        match mutex.try_lock() {
            Ok(held) => return Some(held),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if shortage::is_out_of_memory() || !pause() => return None,
            Err(TryLockError::WouldBlock) => {}
        }
    }
}
