//! Locks that one of the library's threads may hold for ever: a thread that stops because memory has run out keeps its
//! locks.

use crate::base::pause::pause;
use crate::base::shortage;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// Waits for a lock that one of the library's threads may hold while it allocates or writes a file. Returns `None`
/// where the process is out of memory and the lock is taken: its holder may have stopped for good.
pub(crate) fn hold<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    hold_while(mutex, || {
        pause(PAUSE);
        true
    })
}

/// Pause between two attempts at a lock.
pub(crate) const PAUSE: Duration = Duration::from_millis(1);

/// Like [`hold`], with a `pause` of the caller's between two attempts. `pause` returns false to give up.
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
