//! Strings that Score-P passes: tokens and names.

use std::ffi::{CStr, c_char};

/// Returns the text of a string from Score-P; empty for NULL. Bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `pointer` is NULL or a NUL-terminated string that is alive during the call.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller upholds the condition.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
