//! Cancellation of the application's threads (`pthread_cancel`). It is held off while a thread runs inside this
//! library, because a cancellation cannot unwind the library's frames.
//!
//! A thread with asynchronous cancellation may be cancelled at any instruction, and no callback is safe from that. To
//! hold it off costs more than most of a callback, so that is done only once a thread of this kind was seen
//! (`switch::be_wary`): where it makes its first callback, its inits and its finalizes.

use crate::base::switch;
use std::ffi::c_int;
use std::marker::PhantomData;

const DISABLE: c_int = 1;
const DEFERRED: c_int = 0;

unsafe extern "C" {
    /// Sets whether the calling thread may be cancelled, and writes the previous state to `before`. From the C library.
    safe fn pthread_setcancelstate(state: c_int, before: &mut c_int) -> c_int;
    /// Sets when the calling thread may be cancelled, and writes the previous type to `before`. From the C library.
    safe fn pthread_setcanceltype(kind: c_int, before: &mut c_int) -> c_int;
}

/// Keeps the calling thread from being cancelled until this is dropped. A request that arrives meanwhile stays pending.
#[derive(Debug)]
pub(crate) struct Uncancelled {
    before: Cancellation,
    /// Makes this type `!Send`: the cancellation state belongs to a thread.
    _here: PhantomData<*const ()>,
}

impl Uncancelled {
    pub(crate) fn new() -> Self {
        Self { before: Cancellation::hold_off(), _here: PhantomData }
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        self.before.restore();
    }
}

/// Whether and when a thread may be cancelled.
#[derive(Debug, Clone, Copy)]
struct Cancellation {
    state: c_int,
    kind: c_int,
}

impl Cancellation {
    /// Lets nobody cancel the calling thread, and returns how it was.
    fn hold_off() -> Self {
        let mut before = Self { state: DISABLE, kind: DEFERRED };
        pthread_setcancelstate(DISABLE, &mut before.state);
        pthread_setcanceltype(DEFERRED, &mut before.kind);
        if before.kind != DEFERRED {
            switch::be_wary();
        }
        before
    }

    /// The thread may be cancelled as before. If it was meanwhile, it ends in the last call: the one before it would
    /// lose the thread's result (glibc 2.36).
    fn restore(self) {
        let mut own = self;
        pthread_setcancelstate(self.state, &mut own.state);
        if self.kind != DEFERRED {
            pthread_setcanceltype(self.kind, &mut own.kind);
        }
    }
}

/// Calls `body`, which must not unwind, and keeps the calling thread from being cancelled meanwhile.
///
/// Like `Uncancelled`, but with nothing to drop, in a debug build neither: what is copied has nothing. So a
/// cancellation right before or after may unwind this function and its caller.
#[inline]
pub fn without<R: Copy>(body: impl FnOnce() -> R + Copy) -> R {
    let before = Cancellation::hold_off();
    let result = body();
    before.restore();
    result
}

/// Looks whether the calling thread may be cancelled at any instruction. Then all callbacks hold cancellation off from
/// here on.
pub(crate) fn look() {
    without(|| ());
}
