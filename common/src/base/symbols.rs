//! Functions and variables of libraries that this one is not linked with, by name.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

/// A library that is loaded, and stays so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedLibrary(NonNull<c_void>);

// SAFETY: the loader's functions take its handles on any thread.
unsafe impl Send for SharedLibrary {}
// SAFETY: as above.
unsafe impl Sync for SharedLibrary {}

impl SharedLibrary {
    /// Returns a library if the process has loaded it already; loads nothing.
    pub(crate) fn find(name: &CStr) -> Option<Self> {
        // SAFETY: with RTLD_NOLOAD, no code of the library runs.
        unsafe { Self::open(name, libc::RTLD_NOLOAD) }
    }

    /// Loads a library, or finds it, with these flags of `dlopen` beside RTLD_NOW.
    ///
    /// # Safety
    /// The library's own code, which runs when it is loaded, does no harm.
    pub(crate) unsafe fn open(name: &CStr, flags: c_int) -> Option<Self> {
        // SAFETY: the name ends with a zero; the caller guarantees the rest.
        NonNull::new(unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | flags) }).map(Self)
    }

    /// Returns what has that name in the library.
    ///
    /// # Safety
    /// `T` is the type of a pointer to it.
    pub(crate) unsafe fn symbol<T: Copy>(self, name: &CStr) -> Option<T> {
        // SAFETY: the handle is dlopen's; the caller guarantees the type.
        unsafe { symbol(self.0.as_ptr(), name) }
    }
}

/// Returns what has that name in any library that is loaded by now.
///
/// # Safety
/// `T` is the type of a pointer to it.
pub(crate) unsafe fn of_any<T: Copy>(name: &CStr) -> Option<T> {
    // SAFETY: the default handle searches the loaded libraries; the caller guarantees the type.
    unsafe { symbol(libc::RTLD_DEFAULT, name) }
}

unsafe fn symbol<T: Copy>(library: *mut c_void, name: &CStr) -> Option<T> {
    const { assert!(size_of::<T>() == size_of::<*mut c_void>()) };
    // SAFETY: the callers have a handle of the loader's.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    // SAFETY: the callers guarantee the type.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy::<*mut c_void, T>(&found) })
}
