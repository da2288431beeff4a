//! How many copies of this library the process has loaded. NCCL and Score-P must reach the same one: by links to one
//! file.

use std::ffi::{CStr, CString, c_int, c_void};

/// A function of this library that every copy exports.
const MARKER: &CStr = c"scorep_nccl_flush";

/// Number of different copies; 1 when the installation is right (or this library is linked into the program).
pub(crate) fn count() -> usize {
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: the callback gets what is passed here, a list that outlives the call, and takes nothing else by
    // reference.
    unsafe { libc::dl_iterate_phdr(Some(note_name), (&raw mut names).cast()) };
    let mut markers: Vec<usize> = names.iter().filter_map(|name| marker_of(name)).collect();
    markers.sort_unstable();
    markers.dedup();
    markers.len().max(1)
}

unsafe extern "C" fn note_name(info: *mut libc::dl_phdr_info, _size: usize, names: *mut c_void) -> c_int {
    // SAFETY: `names` is the list that `count` passes, and `info` is the system's, valid during the call.
    let (names, name) = unsafe { (&mut *names.cast::<Vec<CString>>(), (*info).dlpi_name) };
    if !name.is_null() {
        // SAFETY: a string of the system's.
        names.push(unsafe { CStr::from_ptr(name) }.to_owned());
    }
    0
}

/// Address of the marker that a loaded library itself defines.
fn marker_of(name: &CStr) -> Option<usize> {
    if name.is_empty() {
        return None;
    }
    // SAFETY: with RTLD_NOLOAD nothing is loaded; the handle is given back.
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
