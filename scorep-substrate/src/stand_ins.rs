//! Functions that stand in for Score-P's measurement library, in a program that replays recorded callbacks.

use once_cell::sync::OnceCell;
use std::ffi::{CStr, c_char, c_void};

/// Gives the function that stands in for Score-P's of a name, or NULL.
pub(crate) type Lookup = unsafe extern "C" fn(name: *const c_char) -> *mut c_void;

static LOOKUP: OnceCell<Lookup> = OnceCell::new();

/// Takes them; the first ones stay.
///
/// # Safety
/// What `lookup` gives for a name is of the type of Score-P's function of that name, and stays.
pub(crate) unsafe fn take(lookup: Lookup) {
    let _ = LOOKUP.set(lookup);
}

/// Whether there are any.
pub(crate) fn are_there() -> bool {
    LOOKUP.get().is_some()
}

/// The one of that name.
///
/// # Errors
/// When nothing stands in for it, in words.
pub(crate) fn find(name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the name is a string, as `take`'s caller expects.
    let found = LOOKUP.get().map(|lookup| unsafe { lookup(name.as_ptr()) });
    found.filter(|found| !found.is_null()).ok_or_else(|| format!("nothing stands in for {}", name.to_string_lossy()))
}
