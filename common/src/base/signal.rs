//! Signals that are blocked on a thread for a while.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Blocks signals for the calling thread, and for threads that it starts, until this is dropped on the same thread.
/// Guards may be dropped in any order: each unblocks only the signals that it has blocked itself.
///
/// So a handler that ends the process does not interrupt the thread within a lock that a thread of the library needs,
/// for which the end of the process would wait.
#[derive(Debug)]
pub struct Blocked {
    own: libc::sigset_t,
    /// Makes this type `!Send`: a signal mask belongs to a thread.
    _here: PhantomData<*const ()>,
}

impl Blocked {
    /// Blocks all signals.
    #[must_use]
    pub fn all() -> Self {
        Self::these(1..=libc::SIGRTMAX())
    }

    fn these(signals: impl IntoIterator<Item = libc::c_int>) -> Self {
        let (mut wanted, mut before) = (empty(), empty());
        let signals: Vec<libc::c_int> = signals.into_iter().collect();
        // SAFETY: `wanted` is initialised and `before` is written; the C library refuses numbers that are no signals.
        unsafe {
            signals.iter().for_each(|&signal| _ = libc::sigaddset(&raw mut wanted, signal));
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const wanted, &raw mut before);
        }
        for signal in signals {
            // SAFETY: both sets are initialised.
            unsafe {
                if libc::sigismember(&raw const before, signal) == 1 {
                    libc::sigdelset(&raw mut wanted, signal);
                }
            }
        }
        Self { own: wanted, _here: PhantomData }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set is initialised.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const self.own, std::ptr::null_mut()) };
    }
}

fn empty() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// Holds back a signal that a write of this thread may raise (SIGPIPE or SIGXFSZ): until this is dropped, the write
/// fails instead of ending the process.
pub(crate) struct HeldSignal {
    signal: libc::c_int,
    /// The signal was pending before, so it belongs to the application and stays pending.
    was_pending: bool,
    _blocked: Blocked,
}

impl HeldSignal {
    pub(crate) fn new(signal: libc::c_int) -> Self {
        let was_pending = is_pending(signal);
        Self { signal, was_pending, _blocked: Blocked::these([signal]) }
    }
}

impl Drop for HeldSignal {
    fn drop(&mut self) {
        // the kernel raises both signals for the writing thread, before its write returns
        if !self.was_pending && is_pending(self.signal) {
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            let mut set = empty();
            // SAFETY: the set and the time live as long as the call; NULL asks for no information about the signal.
            unsafe {
                libc::sigaddset(&raw mut set, self.signal);
                libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const at_once);
            }
        }
    }
}

fn is_pending(signal: libc::c_int) -> bool {
    let mut pending = empty();
    // SAFETY: sigpending writes the set.
    unsafe {
        libc::sigpending(&raw mut pending);
        libc::sigismember(&raw const pending, signal) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the calling thread has blocked SIGPIPE and SIGXFSZ.
    fn blocked() -> [bool; 2] {
        let mut mask = empty();
        // SAFETY: pthread_sigmask writes the mask.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
            [libc::SIGPIPE, libc::SIGXFSZ].map(|signal| libc::sigismember(&raw const mask, signal) == 1)
        }
    }

    fn raise(signal: libc::c_int) {
        // SAFETY: the signal is blocked where this is called.
        assert_eq!(unsafe { libc::pthread_kill(libc::pthread_self(), signal) }, 0);
    }

    #[test]
    fn signals_are_given_back_in_any_order_and_those_raised_meanwhile_are_taken_off() {
        for first_goes_first in [false, true] {
            assert_eq!(blocked(), [false; 2]);
            let (pipe, limit) = (HeldSignal::new(libc::SIGPIPE), HeldSignal::new(libc::SIGXFSZ));
            assert_eq!(blocked(), [true; 2]);
            raise(libc::SIGPIPE);
            raise(libc::SIGXFSZ);
            if first_goes_first {
                drop(pipe);
                assert_eq!(blocked(), [false, true]);
                drop(limit);
            } else {
                drop(limit);
                assert_eq!(blocked(), [true, false]);
                drop(pipe);
            }
        }
        assert!(blocked() == [false; 2] && !is_pending(libc::SIGPIPE) && !is_pending(libc::SIGXFSZ));
    }

    #[test]
    fn a_signal_of_somebody_elses_stays() {
        let outer = Blocked::these([libc::SIGPIPE]);
        raise(libc::SIGPIPE);
        drop(HeldSignal::new(libc::SIGPIPE));
        assert!(is_pending(libc::SIGPIPE) && blocked() == [true, false]);
        // takes the signal off, because the test goes on
        let inner = HeldSignal { signal: libc::SIGPIPE, was_pending: false, _blocked: Blocked::these([]) };
        drop(inner);
        assert!(!is_pending(libc::SIGPIPE));
        drop(outer);
    }
}
