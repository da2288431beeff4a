//! NCCL's own log, through the function that it hands to init.

use std::ffi::{CString, c_char, c_int, c_ulong, c_void};

/// `ncclDebugLogger_t`.
type Function =
    unsafe extern "C" fn(level: c_int, flags: c_ulong, file: *const c_char, line: c_int, format: *const c_char, ...);

/// NCCL_LOG_INFO.
const INFO: c_int = 3;
/// NCCL_INIT: a subsystem that NCCL_DEBUG=INFO shows without NCCL_DEBUG_SUBSYS; the profiler's own is not among these.
const INIT: c_ulong = 1;

/// NCCL's log, if there is one (v4 and later).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Logger(*const c_void);

impl Logger {
    /// # Safety
    /// NULL, or NCCL's logger function, which NCCL guarantees to be callable as long as it is loaded.
    pub(crate) unsafe fn new(function: *const c_void) -> Self {
        Self(function)
    }

    /// Where the function lies.
    pub(crate) fn address(&self) -> *const c_void {
        self.0
    }

    /// A line that NCCL_DEBUG=INFO shows.
    pub(crate) fn info(&self, line: &str) {
        let Ok(text) = CString::new(line) else { return };
        if self.0.is_null() {
            return;
        }
        // SAFETY: the address is of a function of this type, by the word of whoever made this.
        let function = unsafe { std::mem::transmute::<*const c_void, Function>(self.0) };
        // SAFETY: the format takes one string; all strings live during the call.
        unsafe { function(INFO, INIT, c"scorep-nccl".as_ptr(), 0, c"%s".as_ptr(), text.as_ptr()) };
    }
}
