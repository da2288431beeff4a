//! The library's names, in a directory and in memory.

use std::ffi::{CStr, CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The names besides the library's own.
pub(crate) const NAMES: [&str; 3] = ["libnccl-profiler-scorep.so", "libnccl_plugin.so", "libnccl_series_plugin.so"];

/// Holds that these names, and no others, are there, and are links beside what they point to.
pub(crate) fn hold(directory: &Path, library: &str, names: &[&str]) {
    assert!(directory.join(library).symlink_metadata().unwrap().is_file());
    for name in names {
        // a name alone: the link goes wherever the directory goes
        assert_eq!(directory.join(name).read_link().unwrap(), Path::new(library), "{name}");
        assert!(directory.join(name).is_file(), "{name} leads nowhere");
    }
    let here = directory.read_dir().unwrap().filter(|entry| !entry.as_ref().unwrap().file_type().unwrap().is_dir());
    assert_eq!(here.count(), names.len() + 1);
}

/// How many libraries of that directory are in memory, when all those names have been loaded as the hosts do.
pub(crate) fn images(directory: &Path, names: &[&str]) -> usize {
    for name in names {
        let path = CString::new(directory.join(name).as_os_str().as_bytes()).unwrap();
        // SAFETY: a string that lives, and a library whose constructors do nothing.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{name} cannot be loaded");
    }
    let mut loaded: Vec<CString> = Vec::new();
    // SAFETY: the callback gets what is passed here, a list that outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut loaded).cast()) };
    loaded.iter().filter(|name| name.as_bytes().starts_with(directory.as_os_str().as_bytes())).count()
}

unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _size: usize, list: *mut c_void) -> c_int {
    // SAFETY: `list` is the one that `images` passes, `info` and its name are the loader's, valid during the call.
    unsafe { (*list.cast::<Vec<CString>>()).push(CStr::from_ptr((*info).dlpi_name).to_owned()) };
    0
}
