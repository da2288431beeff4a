//! Calls of ours that Score-P should not record: it wraps functions of the system and of CUDA for all threads, and
//! leaves alone what a thread does that is inside Score-P's measurement already.

use std::ffi::{c_int, c_void};

/// Gives the address of the calling thread's count of being inside Score-P's measurement.
type InMeasurement = unsafe extern "C" fn() -> *mut c_int;

/// Score-P's count, where Score-P is in the process and has one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unseen(Option<InMeasurement>);

impl Unseen {
    /// Looks Score-P up. That takes the loader's lock, for which no thread of ours and no callback should wait: to be
    /// asked beforehand.
    pub(crate) fn look_up() -> Self {
        // SAFETY: dlsym with the default handle searches what is loaded.
        let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"scorep_get_in_measurement".as_ptr()) };
        // SAFETY: Score-P's function of that name has this type.
        Self((!function.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, InMeasurement>(function) }))
    }

    /// Changes the calling thread's count.
    fn change(self, by: c_int) {
        let Some(in_measurement) = self.0 else { return };
        // SAFETY: Score-P's function takes nothing and gives NULL or the address of a thread-local variable, which only
        // this thread changes.
        if let Some(depth) = unsafe { in_measurement().as_mut() } {
            *depth = depth.wrapping_add(by);
        }
    }

    /// The calling thread is unseen for ever.
    pub(crate) fn stay(self) {
        self.change(1);
    }

    /// The calling thread is unseen until the result is dropped.
    #[inline]
    pub(crate) fn enter(self) -> Inside {
        self.change(1);
        Inside(self)
    }
}

/// The calling thread is unseen until this is dropped.
#[derive(Debug)]
pub(crate) struct Inside(Unseen);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.change(-1);
    }
}
