//! Stand-ins for the plugin's two hosts, NCCL and Score-P. They call the shipped library as the real hosts do.
//!
//! They describe the two interfaces on their own, as offsets and function types, and take nothing from the plugin's
//! crates. So each interface is stated twice, and a replay fails where the statements disagree.

mod c_memory;
pub(crate) mod clock;
mod descriptor;
mod functions;
mod kernels;
mod measurement;
mod nccl;
pub(crate) mod play;
pub(crate) mod scorep;
mod stage;
pub(crate) mod table;
mod visits;

pub(crate) use functions::OperationFiles;

use crate::capture::CaptureError;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use std::path::{Path, PathBuf};

/// Why a stand-in cannot use the library.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    /// dlopen failed.
    #[error("{path}: the library cannot be loaded: {source}")]
    Open { path: PathBuf, source: libloading::Error },
    /// dlsym failed.
    #[error("{path}: the library has no {symbol}: {source}")]
    Symbol { path: PathBuf, symbol: String, source: libloading::Error },
    /// The capture is wrong now, though it was right when it was checked.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The system refused to start a thread.
    #[error(
        "a thread of the recorded process could not be started ({0}): raise the limit of processes or of address space"
    )]
    Thread(std::io::Error),
    /// The capture has a call of a thread that it did not have when it was checked.
    #[error("the capture has changed while it was played: it has calls of another thread, {tid}")]
    Changed { tid: u32 },
    /// The plugin gave an answer for which the host would refuse it or abort.
    #[error("{path}: {what}")]
    Refused { path: PathBuf, what: String },
}

/// Loads a library as both hosts do.
fn open(path: &Path) -> Result<Library, HostError> {
    // SAFETY: the library is scorep-nccl's own, whose constructors are those of Rust's runtime only.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|source| HostError::Open { path: path.into(), source })
}

/// Looks up a symbol.
///
/// # Safety
/// `T` is the symbol's type.
unsafe fn symbol<T>(library: &Library, path: &Path, name: &str) -> Result<Symbol<T>, HostError> {
    // SAFETY: the caller guarantees the type.
    unsafe { library.get(name.as_bytes()) }.map_err(|source| HostError::Symbol {
        path: path.into(),
        symbol: name.into(),
        source,
    })
}
