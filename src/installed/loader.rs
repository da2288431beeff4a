//! Finds out which library the loader loads for a name, by loading it: that is right whatever paths and caches say.

use crate::installed::probe;
use libloading::os::unix::Library;
use present::output;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Function that returns the library's version; every build exports it.
const VERSION: &[u8] = b"scorep_nccl_version\0";
/// Function that returns the library's optional features.
const FEATURES: &[u8] = b"scorep_nccl_features\0";
/// Type of both functions.
type Tells = unsafe extern "C" fn() -> *const c_char;

/// Name of the hidden subcommand that starts a child.
pub(crate) const COMMAND: &str = "what-is";

/// Result of loading a name.
#[derive(Debug)]
pub(crate) enum Loaded {
    /// The name leads to this library.
    Ours {
        /// Address of one of its functions; equal for all names of one image in memory.
        image: usize,
        /// Path of the file.
        path: PathBuf,
        /// Version of the library.
        version: String,
        /// Optional features of the build.
        features: Features,
    },
    /// The name leads to another library.
    Other,
    /// No library could be loaded; the loader's message.
    Nothing(String),
}

/// Loads a name as NCCL and Score-P do, after a child process has found that it is this library. The library stays
/// loaded, as it does in the hosts.
pub(crate) fn load(name: &Path) -> Loaded {
    let answer = probe::ask(COMMAND, name);
    // the library may print lines of its own first
    match answer.as_deref().map(|printed| printed.lines().last().unwrap_or_default()) {
        Ok(OURS) => here(name),
        Ok(OTHER) => Loaded::Other,
        Ok(words) => Loaded::Nothing(words.into()),
        Err(words) => Loaded::Nothing(words.clone()),
    }
}

/// Answers of a child.
const OURS: &str = "ours";
const OTHER: &str = "other";

/// What a child is told.
#[derive(Debug, clap::Args)]
pub(crate) struct LoaderArguments {
    name: PathBuf,
}

/// Prints what a name leads to.
pub(crate) fn run(arguments: &LoaderArguments) -> ExitCode {
    let words = match here(&arguments.name) {
        Loaded::Ours { .. } => OURS.to_owned(),
        Loaded::Other => OTHER.to_owned(),
        Loaded::Nothing(words) => words,
    };
    output::answered(output::write(words + "\n"))
}

/// Loads a name into this process.
fn here(name: &Path) -> Loaded {
    // SAFETY: this library does nothing when it is loaded. If the name leads to another library, this process is a
    // child that was started to load it.
    let library = match unsafe { Library::new(name) } {
        Ok(library) => library,
        Err(error) => return Loaded::Nothing(plain(&error)),
    };
    // SAFETY: the symbol has this type in every build of this library.
    let version = unsafe { library.get::<Tells>(VERSION) }.map(|symbol| *symbol);
    // SAFETY: as above; older builds have no such function.
    let features = unsafe { library.get::<Tells>(FEATURES) }.map(|symbol| *symbol).ok();
    std::mem::forget(library);
    let Ok(version) = version else { return Loaded::Other };
    // SAFETY: both functions return a C string that lives as long as the library, which stays loaded.
    let told = |tell: Tells| unsafe { CStr::from_ptr(tell()) }.to_string_lossy().into_owned();
    Loaded::Ours {
        image: version as usize,
        path: file_of(version as usize).unwrap_or_else(|| name.into()),
        version: told(version),
        features: Features(features.map(told).unwrap_or_default()),
    }
}

/// Optional features of a library's build, by the names of cargo's features.
#[derive(Debug, Clone, Default)]
pub(crate) struct Features(String);

impl Features {
    /// Returns whether the library exports figures over OpenTelemetry and in Prometheus' textfiles.
    pub(crate) fn otel(&self) -> bool {
        self.0.split(' ').any(|word| word == "otel")
    }
}

/// Returns the loader's own message, without libloading's words around it.
fn plain(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Returns the file that an address was loaded from, with links resolved.
fn file_of(address: usize) -> Option<PathBuf> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr accepts any address and fills in the structure, for which zeros are valid.
    let found = unsafe { (libc::dladdr(address as *const _, found.as_mut_ptr()) != 0).then(|| found.assume_init()) }?;
    if found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name is a C string of a library that stays loaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Path::new(name.to_str().ok()?).canonicalize().ok()
}
