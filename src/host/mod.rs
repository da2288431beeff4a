//! Stand-ins for the two hosts of the plugin, NCCL and Score-P: they call the shipped library as the real ones do.
//!
//! What they know of the two interfaces is written down here on its own, as offsets and function types, not taken from
//! the plugin's crates: two statements of one interface that must agree, or a replay fails.

pub(crate) mod clock;
pub(crate) mod descriptor;
mod functions;
mod kernels;
mod measurement;
mod nccl;
pub(crate) mod play;
pub(crate) mod scorep;
mod stage;
pub(crate) mod table;
mod visits;

use crate::capture::CaptureError;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use std::path::{Path, PathBuf};

/// A host could not use the library.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    /// dlopen failed.
    #[error("{path}: the library cannot be loaded: {source}")]
    Open { path: PathBuf, source: libloading::Error },
    /// dlsym failed.
    #[error("{path}: the library has no {symbol}: {source}")]
    Symbol { path: PathBuf, symbol: String, source: libloading::Error },
    /// The capture, which was right when it was checked.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The system refused one.
    #[error(
        "a thread of the recorded process could not be started ({0}): raise the limit of processes or of address space"
    )]
    Thread(std::io::Error),
    /// A plugin's answer that would make the host refuse it or abort.
    #[error("{path}: {what}")]
    Refused { path: PathBuf, what: String },
}

/// Loads a library as both hosts do.
fn open(path: &Path) -> Result<Library, HostError> {
    // SAFETY: the library is scorep-nccl's own, whose constructors do nothing but what Rust's runtime does, or a
    // profiler plugin that the user has named, which NCCL would load in the same way.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|source| HostError::Open { path: path.into(), source })
}

/// Looks a symbol up.
///
/// # Safety
/// `T` is the symbol's type.
unsafe fn symbol<T>(library: &Library, path: &Path, name: &str) -> Result<Symbol<T>, HostError> {
    // SAFETY: the caller's.
    unsafe { library.get(name.as_bytes()) }.map_err(|source| HostError::Symbol {
        path: path.into(),
        symbol: name.into(),
        source,
    })
}
