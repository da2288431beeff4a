//! Functions of NVML's library by their names.

use std::ffi::{CStr, c_void};

/// A handle of NVML's, as wide as a pointer and never used as one.
pub(super) type Handle = usize;

/// Returns the function of that name in the library.
///
/// # Errors
/// Names the function if the library lacks it.
///
/// # Safety
/// `library` is a handle of `dlopen`'s, and `T` is the type of a pointer to that function.
pub(super) unsafe fn function<T: Copy>(library: *mut c_void, name: &CStr) -> Result<T, String> {
    const { assert!(size_of::<T>() == size_of::<*mut c_void>()) };
    // SAFETY: the caller guarantees the handle.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    if found.is_null() {
        return Err(format!("this driver's NVML has no {}", name.to_string_lossy()));
    }
    // SAFETY: the pointer is a function of the type that the caller guarantees.
    Ok(unsafe { std::mem::transmute_copy::<*mut c_void, T>(&found) })
}
