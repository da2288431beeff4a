//! Calls of the library that Score-P does not record. Score-P wraps functions of the system and of CUDA for all
//! threads, and does not record calls of a thread that is already inside Score-P's measurement.

use super::symbols::of_any;
use std::ffi::c_int;
use std::sync::OnceLock;

/// Score-P's function that returns the address of the calling thread's measurement depth.
type InMeasurement = unsafe extern "C" fn() -> *mut c_int;

/// Score-P's measurement depth of each thread, where the process has a Score-P that keeps one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unseen(Option<InMeasurement>);

impl Unseen {
    /// Looks Score-P's function up, once in a process. The look-up takes the loader's lock, for which neither the
    /// library's threads nor callbacks should wait: the first init does it, with its first thread.
    pub(crate) fn look_up() -> Self {
        static FOUND: OnceLock<Unseen> = OnceLock::new();
        *FOUND.get_or_init(|| {
            // SAFETY: Score-P's function of that name has this type.
            Self(unsafe { of_any(c"scorep_get_in_measurement") })
        })
    }

    /// Returns whether the process has such a Score-P.
    pub(crate) fn is_score_p_there(self) -> bool {
        self.0.is_some()
    }

    /// Adds `by` to the calling thread's measurement depth.
    fn change(self, by: c_int) {
        let Some(in_measurement) = self.0 else { return };
        // SAFETY: Score-P's function takes nothing and returns NULL or the address of a thread-local variable, which
        // only this thread changes.
        if let Some(depth) = unsafe { in_measurement().as_mut() } {
            *depth = depth.wrapping_add(by);
        }
    }

    /// Hides the calling thread from Score-P for good.
    pub(crate) fn stay(self) {
        self.change(1);
    }

    /// Hides the calling thread from Score-P until the result is dropped.
    #[inline]
    pub(crate) fn enter(self) -> HiddenThread {
        self.change(1);
        HiddenThread(self)
    }
}

/// Hides the calling thread from Score-P until this is dropped.
#[derive(Debug)]
pub(crate) struct HiddenThread(Unseen);

impl Drop for HiddenThread {
    fn drop(&mut self) {
        self.0.change(-1);
    }
}
