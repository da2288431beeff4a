//! Cancellation of the application's threads (`pthread_cancel`). It is held off where this library makes calls at which
//! a thread may be cancelled, because a cancellation cannot unwind the library's frames.

use std::ffi::c_int;
use std::marker::PhantomData;

const DISABLE: c_int = 1;

unsafe extern "C" {
    /// Sets whether the calling thread may be cancelled, and writes the previous state to `before`. From the C library.
    safe fn pthread_setcancelstate(state: c_int, before: &mut c_int) -> c_int;
}

/// Keeps the calling thread from being cancelled until this is dropped. A request that arrives meanwhile stays pending.
#[derive(Debug)]
pub(crate) struct Uncancelled {
    before: c_int,
    /// Makes this type `!Send`: the cancellation state belongs to a thread.
    _here: PhantomData<*const ()>,
}

impl Uncancelled {
    pub(crate) fn new() -> Self {
        let mut before = DISABLE;
        pthread_setcancelstate(DISABLE, &mut before);
        Self { before, _here: PhantomData }
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        let mut own = DISABLE;
        pthread_setcancelstate(self.before, &mut own);
    }
}
