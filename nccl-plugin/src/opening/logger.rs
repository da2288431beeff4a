//! NCCL's log, through the function that NCCL passes to init.

use std::ffi::{CString, c_char, c_int, c_ulong, c_void};

/// `ncclDebugLogger_t`.
type Function =
    unsafe extern "C" fn(level: c_int, flags: c_ulong, file: *const c_char, line: c_int, format: *const c_char, ...);

/// NCCL_LOG_INFO.
const INFO: c_int = 3;
/// NCCL_INIT: a subsystem that NCCL_DEBUG=INFO shows by default. Without NCCL_DEBUG_SUBSYS, NCCL does not show the
/// profiler's own subsystem.
const INIT: c_ulong = 1;

/// NCCL's log function (v4 and later), or NULL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Logger(*const c_void);

impl Logger {
    /// # Safety
    /// `function` is NULL or NCCL's log function, which NCCL keeps callable as long as it is loaded.
    pub(crate) unsafe fn new(function: *const c_void) -> Self {
        Self(function)
    }

    /// Returns the address of the function.
    pub(crate) fn address(&self) -> *const c_void {
        self.0
    }

    /// Writes a line that NCCL_DEBUG=INFO shows.
    pub(crate) fn info(&self, line: &str) {
        let Ok(text) = CString::new(line) else { return };
        if self.0.is_null() {
            return;
        }
        // SAFETY: the caller of `new` guarantees that the address is that of a function of this type.
        let function = unsafe { std::mem::transmute::<*const c_void, Function>(self.0) };
        // SAFETY: the format takes one string; all strings live during the call.
        unsafe { function(INFO, INIT, c"scorep-nccl".as_ptr(), 0, c"%s".as_ptr(), text.as_ptr()) };
    }
}
