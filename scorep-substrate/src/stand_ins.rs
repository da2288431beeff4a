//! Functions that replace Score-P's measurement library in a program that replays recorded callbacks.

use once_cell::sync::OnceCell;
use std::ffi::{CStr, c_char, c_void};

/// Returns the replacement of Score-P's function of a name, or NULL.
pub(crate) type Lookup = unsafe extern "C" fn(name: *const c_char) -> *mut c_void;

static LOOKUP: OnceCell<Lookup> = OnceCell::new();

/// Registers the lookup function. The first one stays.
///
/// # Safety
/// The functions that `lookup` returns have the types of Score-P's functions of these names and are never unloaded.
pub(crate) unsafe fn take(lookup: Lookup) {
    let _ = LOOKUP.set(lookup);
}

/// Returns whether a lookup function is registered.
pub(crate) fn are_there() -> bool {
    LOOKUP.get().is_some()
}

/// Returns the replacement of a function, if it has one.
pub(crate) fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a string; the caller of `take` guarantees the function.
    let found = LOOKUP.get().map(|lookup| unsafe { lookup(name.as_ptr()) });
    found.filter(|found| !found.is_null())
}
