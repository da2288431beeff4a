//! What the loader makes of a name, asked by loading it: the truth, whatever paths and caches say.

use crate::installed::probe;
use crate::output;
use libloading::os::unix::Library;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A function that every build of the library exports: its version.
const VERSION: &[u8] = b"scorep_nccl_version\0";
/// One that gives what it was built with besides.
const FEATURES: &[u8] = b"scorep_nccl_features\0";
/// Their type.
type Tells = unsafe extern "C" fn() -> *const c_char;

/// The hidden command that a child is started with.
pub(crate) const COMMAND: &str = "what-is";

/// What a name stands for.
#[derive(Debug)]
pub(crate) enum Loaded {
    /// This library: its image in memory and file, and its version.
    Ours {
        /// Address of one of its functions, the same for all names of one image.
        image: usize,
        /// The file.
        path: PathBuf,
        /// Its version.
        version: String,
        /// What it was built with besides.
        features: Features,
    },
    /// A library that is not this one.
    Other,
    /// None that could be loaded, and what the loader says.
    Nothing(String),
}

/// Loads a name as NCCL and Score-P do, once a child process has found that it is this library. The library stays
/// loaded, as it does with them.
pub(crate) fn load(name: &Path) -> Loaded {
    let answer = probe::ask(COMMAND, name);
    // a library may print something itself
    match answer.as_deref().map(|printed| printed.lines().last().unwrap_or_default()) {
        Ok(OURS) => here(name),
        Ok(OTHER) => Loaded::Other,
        Ok(words) => Loaded::Nothing(words.into()),
        Err(words) => Loaded::Nothing(words.clone()),
    }
}

/// What a child says of a name.
const OURS: &str = "ours";
const OTHER: &str = "other";

/// What a child is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    name: PathBuf,
}

/// Says what a name is.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let words = match here(&arguments.name) {
        Loaded::Ours { .. } => OURS.to_owned(),
        Loaded::Other => OTHER.to_owned(),
        Loaded::Nothing(words) => words,
    };
    output::answered(output::write(words + "\n"))
}

/// Loads a name into this process.
fn here(name: &Path) -> Loaded {
    // SAFETY: this library does nothing when it is loaded. Should it be another one, this process is a child that was
    // made to load it.
    let library = match unsafe { Library::new(name) } {
        Ok(library) => library,
        Err(error) => return Loaded::Nothing(plain(&error)),
    };
    // SAFETY: the symbol has this type in every build of this library.
    let version = unsafe { library.get::<Tells>(VERSION) }.map(|symbol| *symbol);
    // SAFETY: as above; an earlier one has no such function.
    let features = unsafe { library.get::<Tells>(FEATURES) }.map(|symbol| *symbol).ok();
    std::mem::forget(library);
    let Ok(version) = version else { return Loaded::Other };
    // SAFETY: both give a string that lives as long as the library, which stays.
    let told = |tell: Tells| unsafe { CStr::from_ptr(tell()) }.to_string_lossy().into_owned();
    Loaded::Ours {
        image: version as usize,
        path: file_of(version as usize).unwrap_or_else(|| name.into()),
        version: told(version),
        features: Features(features.map(told).unwrap_or_default()),
    }
}

/// What a library was built with besides, by the names of cargo's features.
#[derive(Debug, Clone, Default)]
pub(crate) struct Features(String);

impl Features {
    /// Whether it has figures over OpenTelemetry, and in Prometheus' textfiles.
    pub(crate) fn otel(&self) -> bool {
        self.has("otel")
    }

    /// Whether it speaks OTLP over gRPC, too.
    pub(crate) fn otel_grpc(&self) -> bool {
        self.has("otel-grpc")
    }

    fn has(&self, feature: &str) -> bool {
        self.0.split(' ').any(|word| word == feature)
    }
}

/// The loader's own words, without those around them.
fn plain(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// The file that an address was loaded from, links followed.
fn file_of(address: usize) -> Option<PathBuf> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr takes any address and fills in the structure, which is valid as zeros besides.
    let found = unsafe { (libc::dladdr(address as *const _, found.as_mut_ptr()) != 0).then(|| found.assume_init()) }?;
    if found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name of a library that stays loaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Path::new(name.to_str().ok()?).canonicalize().ok()
}
