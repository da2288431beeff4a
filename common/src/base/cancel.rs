//! Cancellation of the application's threads (`pthread_cancel`): never within this library, whose frames it cannot
//! unwind.

use std::ffi::c_int;
use std::marker::PhantomData;

const DISABLE: c_int = 1;

unsafe extern "C" {
    /// Of the C library: sets whether the calling thread may be cancelled, and gives what was set before.
    safe fn pthread_setcancelstate(state: c_int, before: &mut c_int) -> c_int;
}

/// The calling thread is not cancelled until this is dropped there; a request waits meanwhile.
#[derive(Debug)]
pub(crate) struct Uncancelled {
    before: c_int,
    /// The state is a thread's own.
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
