//! The copies of this library in the process. NCCL and Score-P must reach the same copy: by links to one file.

use common::image::base_of;
use std::ffi::{CStr, CString, c_int, c_void};

/// A function of this library that every copy exports.
const MARKER: &CStr = c"scorep_nccl_flush";

/// The copies besides the one that NCCL calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copies {
    /// Number of other copies that were loaded by a name. A copy that is linked into the program does not count: without
    /// NCCL nothing uses it.
    pub(crate) others: usize,
    /// Whether the copy that NCCL calls is linked into the program (`NCCL_PROFILER_PLUGIN=STATIC_PLUGIN`).
    pub(crate) in_program: bool,
}

/// Looks for copies of this library. NCCL calls the copy that runs this function.
pub(crate) fn copies() -> Copies {
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: `note_name` gets the list that is passed here, which outlives the call, and keeps no reference.
    unsafe { libc::dl_iterate_phdr(Some(note_name), (&raw mut names).cast()) };
    let mut loaded: Vec<*const c_void> = names.iter().filter_map(|name| copy_behind(name)).collect();
    loaded.sort_unstable();
    loaded.dedup();
    // the address of a function that no other copy can take the place of: it is not exported
    let own = base_of(note_name as *const c_void);
    let others = loaded.iter().filter(|&&base| Some(base) != own).count();
    // the program has no name, so its copy was not found by one
    Copies { others, in_program: own.is_some_and(|own| !loaded.contains(&own)) }
}

unsafe extern "C" fn note_name(info: *mut libc::dl_phdr_info, _size: usize, names: *mut c_void) -> c_int {
    // SAFETY: `names` is the list that `copies` passes; the system guarantees that `info` is valid during the call.
    let (names, name) = unsafe { (&mut *names.cast::<Vec<CString>>(), (*info).dlpi_name) };
    if !name.is_null() {
        // SAFETY: the system guarantees that a name that is not NULL is a string.
        names.push(unsafe { CStr::from_ptr(name) }.to_owned());
    }
    0
}

/// Returns the base address of the copy that a loaded library is, or depends on.
fn copy_behind(name: &CStr) -> Option<*const c_void> {
    if name.is_empty() {
        return None;
    }
    // SAFETY: with RTLD_NOLOAD nothing is loaded; the handle is closed below, when the address is no longer used.
    unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        if library.is_null() {
            return None;
        }
        let base = base_of(libc::dlsym(library, MARKER.as_ptr()));
        libc::dlclose(library);
        base
    }
}
