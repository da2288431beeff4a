//! The library or program that an address lies in.

use std::ffi::{CStr, c_void};

/// Returns the base address of the library or program that contains `address`.
pub fn base_of(address: *const c_void) -> Option<*const c_void> {
    look_up(address).map(|found| found.dli_fbase.cast_const())
}

/// Returns the base address and the file of the library or program that contains `address`. A program's file is its
/// name on the command line.
///
/// # Safety
/// The library stays loaded as long as the process lives.
pub unsafe fn containing(address: *const c_void) -> Option<(*const c_void, &'static CStr)> {
    let found = look_up(address)?;
    // SAFETY: dladdr's name is NULL or a string that lives as long as the library is loaded, which the caller guarantees.
    let file = (!found.dli_fname.is_null()).then(|| unsafe { CStr::from_ptr(found.dli_fname) })?;
    Some((found.dli_fbase.cast_const(), file))
}

/// Returns the library or program that contains `address`, as the loader knows it.
pub(crate) fn look_up(address: *const c_void) -> Option<libc::Dl_info> {
    if address.is_null() {
        return None;
    }
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr takes any address and fills in the structure, for which zeros are valid, too.
    unsafe { (libc::dladdr(address, found.as_mut_ptr()) != 0).then(|| found.assume_init()) }
}
