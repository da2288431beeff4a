//! Signals that are kept from the application's thread for a while.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Signals are blocked for the calling thread, and those it starts, until this is dropped there.
pub(crate) struct Blocked {
    before: libc::sigset_t,
    /// A mask is a thread's own.
    _here: PhantomData<*const ()>,
}

impl Blocked {
    /// All of them.
    pub(crate) fn all() -> Self {
        let mut all = MaybeUninit::uninit();
        // SAFETY: sigfillset initialises the set.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            Self::these(&all.assume_init())
        }
    }

    fn these(signals: &libc::sigset_t) -> Self {
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: it reads one set and writes the other, which is valid as zeros besides.
        let before = unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, signals, before.as_mut_ptr());
            before.assume_init()
        };
        Self { before, _here: PhantomData }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the mask is what pthread_sigmask gave for this thread.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// A signal that a write of this thread may raise, SIGPIPE or SIGXFSZ, ends no process until this is dropped: the write fails instead.
pub(crate) struct Held {
    signal: libc::c_int,
    set: libc::sigset_t,
    /// Somebody else's: it stays.
    was_pending: bool,
    _blocked: Blocked,
}

impl Held {
    pub(crate) fn new(signal: libc::c_int) -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the set.
        let set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), signal);
            set.assume_init()
        };
        let was_pending = is_pending(signal);
        Self { signal, set, was_pending, _blocked: Blocked::these(&set) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // both are raised for the thread that writes, before its write returns
        if !self.was_pending && is_pending(self.signal) {
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: a set and a time that live as long as the call; nothing is written about the signal.
            unsafe { libc::sigtimedwait(&raw const self.set, std::ptr::null_mut(), &raw const at_once) };
        }
    }
}

fn is_pending(signal: libc::c_int) -> bool {
    let mut pending = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: sigpending writes the set, which is valid as zeros besides.
    unsafe {
        libc::sigpending(pending.as_mut_ptr());
        libc::sigismember(pending.as_ptr(), signal) == 1
    }
}
