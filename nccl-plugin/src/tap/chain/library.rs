//! Finds and loads the second plugin by NCCL's rules.

use std::ffi::{CStr, CString, c_void};
use std::ptr::{self, NonNull};

/// NCCL's limit for the length of a name, with the final zero byte.
const LONGEST: usize = 255;

/// Name for a plugin that the program is linked with.
const LINKED: &str = "STATIC_PLUGIN";

/// A symbol by which this library recognises itself under any file name.
const OURS: &CStr = c"scorep_nccl_flush";

/// A loaded library. It is never unloaded: NCCL's threads may run in it as long as the process lives.
#[derive(Debug)]
pub(super) struct LoadedLibrary(NonNull<c_void>);

impl LoadedLibrary {
    /// Loads a library by name or path, as NCCL does for `NCCL_PROFILER_PLUGIN`.
    ///
    /// # Errors
    /// The loader's message for each name that was tried.
    pub(super) fn open(name: &str) -> Result<Self, String> {
        let mut said = Vec::new();
        for name in candidates(name) {
            match load(&name) {
                Ok(library) if library.symbol(OURS).is_some() => return Err(format!("{name} is scorep-nccl itself")),
                Ok(library) => return Ok(library),
                Err(error) => said.push(error),
            }
        }
        Err(said.join("; "))
    }

    /// Returns the address of a symbol.
    pub(super) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is dlopen's and is never closed; the name is a string.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

/// Returns the names that NCCL tries: the name as it is and, unless it is a path or a library's file name, the name as
/// a short name.
fn candidates(name: &str) -> Vec<String> {
    let cut = |name: String| {
        name.char_indices().take_while(|(place, c)| place + c.len_utf8() < LONGEST).map(|(_, c)| c).collect()
    };
    let is_path = name.contains('/');
    let is_file = name.starts_with("lib") && name.ends_with(".so");
    let mut all = vec![cut(name.to_owned())];
    if !is_path && !is_file {
        all.push(cut(format!("libnccl-profiler-{name}.so")));
    }
    all
}

/// Loads a library.
fn load(name: &str) -> Result<LoadedLibrary, String> {
    let text = CString::new(name).map_err(|error| error.to_string())?;
    // without a name: the program, and the libraries that it is linked with
    let file = if name.eq_ignore_ascii_case(LINKED) { ptr::null() } else { text.as_ptr() };
    // SAFETY: the name is NULL or a string. The user, who chose the plugin, answers for its constructors.
    let handle = unsafe { libc::dlopen(file, libc::RTLD_NOW | libc::RTLD_LOCAL) };
    NonNull::new(handle).map(LoadedLibrary).ok_or_else(|| {
        // SAFETY: dlerror returns NULL or a string that is valid until this thread's next call.
        let said = unsafe { libc::dlerror() };
        // SAFETY: as for dlerror above.
        let said = (!said.is_null()).then(|| unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned());
        said.unwrap_or_else(|| format!("{name} cannot be loaded"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_tried_as_nccl_tries_them() {
        assert_eq!(candidates("inspector"), ["inspector", "libnccl-profiler-inspector.so"]);
        assert_eq!(candidates("x.so"), ["x.so", "libnccl-profiler-x.so.so"]);
        assert_eq!(candidates("libx"), ["libx", "libnccl-profiler-libx.so"]);
        assert_eq!(candidates("libx.so"), ["libx.so"]);
        assert_eq!(candidates("./x"), ["./x"]);
        assert_eq!(candidates(&"x".repeat(300))[0].len(), 254);
    }

    #[test]
    fn what_cannot_be_loaded_is_told_in_words() {
        let said = LoadedLibrary::open("no-such-plugin").unwrap_err();
        assert!(said.contains("libnccl-profiler-no-such-plugin.so"), "{said}");
        let program = LoadedLibrary::open("static_plugin").unwrap();
        assert!(program.symbol(c"malloc").is_some() && program.symbol(c"ncclProfiler_v4").is_none());
        assert!(LoadedLibrary::open("a\0b").is_err());
        let libc = LoadedLibrary::open("libc.so.6").unwrap();
        assert!(libc.symbol(c"malloc").is_some() && libc.symbol(c"ncclProfiler_v4").is_none());
    }
}
