//! The number of copies of this library in the process. NCCL and Score-P must load the same copy, by links to one file.

use std::ffi::{CStr, CString, c_int, c_void};

/// A function of this library that every copy exports.
const MARKER: &CStr = c"scorep_nccl_flush";

/// Counts the different copies; 1 if the installation is right or this library is linked into the program.
pub(crate) fn count() -> usize {
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: `note_name` gets the list that is passed here, which outlives the call, and keeps no reference.
    unsafe { libc::dl_iterate_phdr(Some(note_name), (&raw mut names).cast()) };
    let mut markers: Vec<usize> = names.iter().filter_map(|name| marker_of(name)).collect();
    markers.sort_unstable();
    markers.dedup();
    markers.len().max(1)
}

unsafe extern "C" fn note_name(info: *mut libc::dl_phdr_info, _size: usize, names: *mut c_void) -> c_int {
    // SAFETY: `names` is the list that `count` passes; the system guarantees that `info` is valid during the call.
    let (names, name) = unsafe { (&mut *names.cast::<Vec<CString>>(), (*info).dlpi_name) };
    if !name.is_null() {
        // SAFETY: the system guarantees that a name that is not NULL is a string.
        names.push(unsafe { CStr::from_ptr(name) }.to_owned());
    }
    0
}

/// Returns the address of the marker in a loaded library that defines it.
fn marker_of(name: &CStr) -> Option<usize> {
    if name.is_empty() {
        return None;
    }
    // SAFETY: with RTLD_NOLOAD nothing is loaded; the handle is closed below.
    unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        if library.is_null() {
            return None;
        }
        let marker = libc::dlsym(library, MARKER.as_ptr());
        libc::dlclose(library);
        (!marker.is_null()).then_some(marker as usize)
    }
}
