//! Threads of our own in somebody else's process.
//!
//! They block all signals, since the application's handlers must not run on them, and a fault in one ends that thread alone.

use crate::log;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::thread::Thread;

/// What each of our threads does first.
static FIRST: OnceLock<fn()> = OnceLock::new();

/// Has every thread of ours that starts from here on call `first`. Only the first call counts.
pub fn begin_with(first: fn()) {
    let _ = FIRST.set(first);
}

/// Starts a thread of that name (15 characters are shown).
///
/// # Errors
/// When the system refuses a thread.
pub fn spawn(name: &'static str, body: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
    let blocked = BlockedSignals::new();
    let guarded = move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if let Some(first) = FIRST.get() {
                first();
            }
            body();
        }));
        if outcome.is_err() {
            log::warn(&format!("the thread {name} failed; figures stop here, the application goes on. Please report this."));
        }
    };
    let thread = std::thread::Builder::new().name(name.into()).stack_size(512 << 10).spawn(guarded)?;
    drop(blocked);
    Ok(thread.thread().clone())
}

/// All signals are blocked for the calling thread, and those it starts, until this is dropped.
struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    fn new() -> Self {
        let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: sigfillset initialises `all`; pthread_sigmask reads it and writes `before`, which is valid as zeros besides.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: `self.0` is the mask that pthread_sigmask gave for this thread.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn is_blocked(signal: libc::c_int) -> bool {
        let mut mask = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: pthread_sigmask without a new mask writes the present one, which sigismember reads.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
            libc::sigismember(mask.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn signals_are_blocked_there_and_not_here() {
        let (sender, answer) = mpsc::channel();
        spawn("test", move || sender.send(is_blocked(libc::SIGUSR1)).unwrap()).unwrap();
        assert!(answer.recv().unwrap());
        assert!(!is_blocked(libc::SIGUSR1));
    }

    #[test]
    fn a_fault_ends_the_thread_alone() {
        let (sender, answer) = mpsc::channel::<()>();
        spawn("test", move || {
            let _sender = sender;
            panic!("on purpose");
        })
        .unwrap();
        assert!(answer.recv().is_err());
    }
}
