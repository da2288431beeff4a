//! NCCL's log, through the function that NCCL passes to init.

use std::ffi::{c_char, c_int, c_ulong, c_void};

/// `ncclDebugLogger_t`. It may end its thread (`pthread_exit`), which unwinds its callers.
type LogFunction = unsafe extern "C-unwind" fn(
    level: c_int,
    flags: c_ulong,
    file: *const c_char,
    line: c_int,
    format: *const c_char,
    ...
);

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
    ///
    /// NCCL's function may do anything: call the library again, or end its thread. So no caller holds a lock, nor
    /// anything else that would have to be dropped.
    pub(crate) fn info(&self, line: &LogLine) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: the caller of `new` guarantees that the address is that of a function of this type.
        let function = unsafe { std::mem::transmute::<*const c_void, LogFunction>(self.0) };
        // SAFETY: the format takes one string; all strings live during the call.
        unsafe { function(INFO, INIT, c"scorep-nccl".as_ptr(), 0, c"%s".as_ptr(), line.0.as_ptr().cast::<c_char>()) };
    }
}

/// Longest line, bytes.
const LONGEST: usize = 255;

/// A line for NCCL's log, with a 0 at its end and nothing to drop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogLine([u8; LONGEST + 1]);

impl LogLine {
    /// Takes the beginning of a text.
    pub(crate) fn new(text: &str) -> Self {
        let mut line = [0; LONGEST + 1];
        line.iter_mut().zip(text.bytes().take(LONGEST)).for_each(|(to, from)| *to = from);
        Self(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn a_line_ends_with_a_0() {
        for (length, kept) in [(0, 0), (7, 7), (255, 255), (400, 255)] {
            let line = LogLine::new(&"x".repeat(length));
            assert_eq!(CStr::from_bytes_until_nul(&line.0).unwrap().count_bytes(), kept, "{length}");
        }
    }
}
