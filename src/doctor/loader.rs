//! What the loader makes of a name, asked by loading it: the truth, whatever paths and caches say.

use libloading::os::unix::Library;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

/// A function that every build of the library exports: its version.
const VERSION: &[u8] = b"scorep_nccl_version\0";

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
    },
    /// A library that is not this one.
    Other,
    /// None that could be loaded, and what the loader says.
    Nothing(String),
}

/// Loads a name as NCCL and Score-P do. The library stays loaded, as it does with them.
pub(crate) fn load(name: &Path) -> Loaded {
    // SAFETY: this library does nothing when it is loaded. Another one of the name would be loaded by the job as well.
    let library = match unsafe { Library::new(name) } {
        Ok(library) => library,
        Err(error) => return Loaded::Nothing(plain(&error)),
    };
    // SAFETY: the symbol has this type in every build of this library.
    let version = unsafe { library.get::<unsafe extern "C" fn() -> *const c_char>(VERSION) }.map(|symbol| *symbol);
    std::mem::forget(library);
    let Ok(version) = version else { return Loaded::Other };
    // SAFETY: it gives a string that lives as long as the library, which stays.
    let text = unsafe { CStr::from_ptr(version()) }.to_string_lossy().into_owned();
    Loaded::Ours { image: version as usize, path: file_of(version as usize).unwrap_or_else(|| name.into()), version: text }
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
