//! The library's names where the wheel has put them. A wheel cannot hold links: they are small libraries that load the
//! library beside them.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// All of them, the library's own first.
pub(crate) const NAMES: [&str; 4] =
    ["libscorep_substrate_nccl.so", "libnccl-profiler-scorep.so", "libnccl_plugin.so", "libnccl_series_plugin.so"];

/// What NCCL and Score-P look up in what they load, and a function whose address tells copies apart.
const FUNCTIONS: [&str; 5] = [
    "ncclProfiler_v7",
    "SCOREP_MetricPlugin_nccl_plugin_get_info",
    "SCOREP_MetricPlugin_nccl_series_plugin_get_info",
    "SCOREP_SubstratePlugin_nccl_get_info",
    "scorep_nccl_flush",
];

/// Holds that these are there and nothing else, that none is a copy, and that all lead to one library in memory.
pub(crate) fn hold(directory: &Path) {
    let mut there: Vec<String> =
        directory.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.sort();
    let mut names = NAMES;
    names.sort_unstable();
    assert_eq!(there, names);
    let sizes = NAMES.map(|name| directory.join(name).metadata().unwrap().len());
    assert!(sizes[0] > 1 << 20 && sizes[1..].iter().all(|size| *size < 16 << 10), "{sizes:?}");

    // the names first: each must bring the library along
    let addresses = [NAMES[2], NAMES[1], NAMES[3], NAMES[0]].map(|name| {
        let path = CString::new(directory.join(name).as_os_str().as_bytes()).unwrap();
        // SAFETY: a string that lives, and a library whose constructors do nothing.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!library.is_null(), "{name} cannot be loaded");
        FUNCTIONS.map(|function| {
            let function = CString::new(function).unwrap();
            // SAFETY: the library stays loaded, and the name is a string that lives.
            unsafe { libc::dlsym(library, function.as_ptr()) as usize }
        })
    });
    assert!(addresses.iter().all(|found| *found == addresses[0] && !found.contains(&0)), "{addresses:?}");
}
