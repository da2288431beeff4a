//! The calling thread's cell, under a key of the C library (POSIX). The key also reports when the thread ends.
//!
//! A thread-local variable would not do: in a library that is loaded while the program runs, it allocates at a thread's
//! first access, and the C library ends the process where there is no memory. A key allocates nothing or reports the
//! failure.

use super::ThreadCell;
use std::ffi::c_void;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// The key plus one; 0 before it is made.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Makes the key, once. The C library calls `end` with the cell at the end of a thread that has kept one.
///
/// # Errors
/// Fails when the process has no more keys.
pub(super) fn prepare(end: unsafe extern "C" fn(*mut c_void)) -> io::Result<()> {
    if KEY.load(Ordering::Acquire) != 0 {
        return Ok(());
    }
    let mut key = 0;
    // SAFETY: `end` is a function of this library, which is never unloaded.
    match unsafe { libc::pthread_key_create(&raw mut key, Some(end)) } {
        0 if KEY.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() => Ok(()),
        // another thread was first
        0 => {
            // SAFETY: no other thread knows the key.
            unsafe { libc::pthread_key_delete(key) };
            Ok(())
        }
        refused => Err(io::Error::from_raw_os_error(refused)),
    }
}

pub(super) fn get() -> Option<&'static ThreadCell> {
    let key = KEY.load(Ordering::Acquire).checked_sub(1)?;
    // SAFETY: the key was made by `prepare`. Its value is NULL or a cell, which lives as long as the process.
    unsafe { libc::pthread_getspecific(key).cast::<ThreadCell>().as_ref() }
}

/// Stores the calling thread's cell. Returns false where there is no memory for that.
pub(super) fn keep(cell: &'static ThreadCell) -> bool {
    let Some(key) = KEY.load(Ordering::Acquire).checked_sub(1) else { return false };
    // SAFETY: the key was made by `prepare`.
    unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(cell).cast()) == 0 }
}
