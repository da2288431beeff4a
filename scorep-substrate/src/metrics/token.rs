//! Tokens and names as Score-P passes them.

use std::ffi::{CStr, c_char};

/// The text of a string from Score-P; empty for NULL, and what is not UTF-8 is replaced.
///
/// # Safety
/// NULL, or a NUL-terminated string that is alive during the call.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller's.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
