//! Finds and loads plugins of the user's by NCCL's rules: a second profiler plugin, and a tuner.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::{self, NonNull};

/// NCCL's limit for the length of a name, with the final zero byte.
const LONGEST: usize = 255;

/// Kinds of plugins. The name is that in the names of their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PluginKind {
    Profiler,
    Tuner,
    Net,
}

impl PluginKind {
    /// Returns the name of the file that NCCL loads for a short name, or without a name.
    fn file(self, name: Option<&str>) -> String {
        let kind = match self {
            Self::Profiler => "profiler",
            Self::Tuner => "tuner",
            Self::Net => "net",
        };
        name.map_or_else(|| format!("libnccl-{kind}.so"), |name| format!("libnccl-{kind}-{name}.so"))
    }
}

/// Name for a plugin that the program is linked with.
const LINKED: &str = "STATIC_PLUGIN";

/// A symbol by which this library recognises itself under any file name.
const OURS: &CStr = c"scorep_nccl_flush";

/// A loaded library. One whose functions are used is never unloaded: NCCL's threads may run in it as long as the process
/// lives.
#[derive(Debug)]
pub(crate) struct LoadedLibrary(NonNull<c_void>);

impl LoadedLibrary {
    /// Loads a library by name or path, as NCCL does for `NCCL_PROFILER_PLUGIN` and `NCCL_TUNER_PLUGIN`.
    ///
    /// # Errors
    /// The loader's message for each name that was tried.
    pub(crate) fn open(kind: PluginKind, name: &str) -> Result<Self, String> {
        let mut said = Vec::new();
        for name in candidates(kind, Some(name)) {
            match load(&name, 0) {
                Ok(library) if library.symbol(OURS).is_some() => return Err(format!("{name} is scorep-nccl itself")),
                Ok(library) => return Ok(library),
                Err(error) => said.push(error),
            }
        }
        Err(said.join("; "))
    }

    /// Returns the library that NCCL loads without a name, if it is there and not this one.
    pub(crate) fn unnamed(kind: PluginKind) -> Option<Self> {
        let found = candidates(kind, None).iter().find_map(|name| load(name, 0).ok());
        found.filter(|library| library.symbol(OURS).is_none())
    }

    /// Returns the program with the libraries that it is linked with, if `name` is NCCL's name for it. This library may be
    /// among them.
    pub(crate) fn program(name: &str) -> Option<Self> {
        name.eq_ignore_ascii_case(LINKED).then(|| load(name, 0).ok()).flatten()
    }

    /// Returns the library of this name, or without a name, if the process has loaded it and it is not this one.
    pub(crate) fn loaded(kind: PluginKind, name: Option<&str>) -> Option<Self> {
        let found = candidates(kind, name).iter().find_map(|name| load(name, libc::RTLD_NOLOAD).ok());
        found.filter(|library| library.symbol(OURS).is_none())
    }

    /// Gives a library back of which nothing is used: NCCL unloads its own plugins.
    pub(crate) fn close(self) {
        // SAFETY: the handle is dlopen's. The caller keeps no address of the library.
        unsafe { libc::dlclose(self.0.as_ptr()) };
    }

    /// Returns the address of a symbol.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is dlopen's and is open, since `close` takes it; the name is a string.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

/// Returns the names that NCCL tries: the name as it is and, unless it is a path or a library's file name, the name as
/// a short name. Without a name, that of the kind.
fn candidates(kind: PluginKind, name: Option<&str>) -> Vec<String> {
    let Some(name) = name else { return vec![kind.file(None)] };
    let cut = |name: String| {
        name.char_indices().take_while(|(place, c)| place + c.len_utf8() < LONGEST).map(|(_, c)| c).collect()
    };
    let is_path = name.contains('/');
    let is_file = name.starts_with("lib") && name.ends_with(".so");
    let mut all = vec![cut(name.to_owned())];
    if !is_path && !is_file {
        all.push(cut(kind.file(Some(name))));
    }
    all
}

/// Loads a library. `mode` is added to the loader's flags.
fn load(name: &str, mode: c_int) -> Result<LoadedLibrary, String> {
    let text = CString::new(name).map_err(|error| error.to_string())?;
    // without a name: the program, and the libraries that it is linked with
    let file = if name.eq_ignore_ascii_case(LINKED) { ptr::null() } else { text.as_ptr() };
    let flags: c_int = libc::RTLD_NOW | libc::RTLD_LOCAL | mode;
    // SAFETY: the name is NULL or a string. The user, who chose the plugin, answers for its constructors.
    let handle = unsafe { libc::dlopen(file, flags) };
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
        let profilers = |name: &str| candidates(PluginKind::Profiler, Some(name));
        assert_eq!(profilers("inspector"), ["inspector", "libnccl-profiler-inspector.so"]);
        assert_eq!(profilers("x.so"), ["x.so", "libnccl-profiler-x.so.so"]);
        assert_eq!(profilers("libx"), ["libx", "libnccl-profiler-libx.so"]);
        assert_eq!(profilers("libx.so"), ["libx.so"]);
        assert_eq!(profilers("./x"), ["./x"]);
        assert_eq!(profilers(&"x".repeat(300))[0].len(), 254);
        assert_eq!(candidates(PluginKind::Tuner, Some("x")), ["x", "libnccl-tuner-x.so"]);
        assert_eq!(candidates(PluginKind::Net, None), ["libnccl-net.so"]);
    }

    #[test]
    fn a_library_that_nobody_has_loaded_is_not_loaded() {
        assert!(LoadedLibrary::loaded(PluginKind::Net, Some("libc.so.6")).is_some());
        assert!(LoadedLibrary::loaded(PluginKind::Net, Some("libanl.so.1")).is_none());
        assert!(LoadedLibrary::loaded(PluginKind::Net, None).is_none());
    }

    #[test]
    fn what_cannot_be_loaded_is_told_in_words() {
        let said = LoadedLibrary::open(PluginKind::Profiler, "no-such-plugin").unwrap_err();
        assert!(said.contains("libnccl-profiler-no-such-plugin.so"), "{said}");
        let program = LoadedLibrary::open(PluginKind::Profiler, "static_plugin").unwrap();
        assert!(program.symbol(c"malloc").is_some() && program.symbol(c"ncclProfiler_v4").is_none());
        assert!(LoadedLibrary::open(PluginKind::Profiler, "a\0b").is_err());
        let libc = LoadedLibrary::open(PluginKind::Profiler, "libc.so.6").unwrap();
        assert!(libc.symbol(c"malloc").is_some() && libc.symbol(c"ncclProfiler_v4").is_none());
    }
}
