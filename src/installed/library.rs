//! Finds the shipped library, and names the links under which NCCL and Score-P load it.

use nccl_plugin::unasked::UNASKED_NAME;
use std::path::{Path, PathBuf};

/// File name of the shipped library.
pub(crate) const FILE: &str = "libscorep_substrate_nccl.so";

/// Possible places of an installed library, relative to the directory of this program: beside it (`make library`), or
/// in a directory for libraries.
const PLACES: [&str; 5] = ["", "../lib", "../lib64", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu"];
/// Cargo's place for the library. Cargo does not always update the copy beside the program.
const BUILT: &str = "deps";

/// The shipped library was not found.
#[derive(Debug, thiserror::Error)]
#[error("{FILE} is in none of {}: install it, build it (make library), or name it with --library", .looked.join(", "))]
pub(crate) struct NotFound {
    looked: Vec<String>,
}

/// The library was not found in its installed form.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotInstalled {
    /// The library is in none of the places.
    #[error(transparent)]
    Library(#[from] NotFound),
    /// A link beside the library is missing.
    #[error("{link} is missing: make it a symbolic link to {FILE} (`cmake --install` and `make library` do)", link = .link.display())]
    Link {
        /// Path of the missing link.
        link: PathBuf,
    },
}

/// Returns the named library, or the one that came with this program.
///
/// # Errors
/// When it is in none of the places.
pub(crate) fn find(named: Option<&Path>) -> Result<PathBuf, NotFound> {
    first(named, &[&[BUILT], &PLACES[..]].concat())
}

/// Returns the named library, or the one installed with this program. The links that the hosts load are beside it.
///
/// # Errors
/// When it is in none of the places, or a link is missing.
pub(crate) fn installed(named: Option<&Path>) -> Result<PathBuf, NotInstalled> {
    let library = first(named, &PLACES)?;
    let missing = LoadNames::of(library.parent().unwrap_or(Path::new("/")))
        .all()
        .into_iter()
        .find(|link| !link.is_file())
        .map(Path::to_path_buf);
    missing.map_or(Ok(library), |link| Err(NotInstalled::Link { link }))
}

/// Returns whether a directory has no libraries besides this one and its links.
pub(crate) fn is_alone_in(directory: &Path) -> bool {
    let links = LoadNames::of(Path::new(""));
    let ours =
        |name: &str| name == FILE || name == UNASKED_NAME || links.all().iter().any(|link| link.as_os_str() == name);
    let names = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.into_iter().all(|name| name.to_str().is_none_or(|name| !name.contains(".so") || ours(name)))
}

fn first(named: Option<&Path>, places: &[&str]) -> Result<PathBuf, NotFound> {
    // without /proc the system does not say which file this program is: no other directory may stand in, least of all
    // the one where the job was started
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_path_buf()));
    let candidates = match (named, beside) {
        (Some(path), _) => vec![path.to_path_buf()],
        (None, Some(beside)) => places.iter().map(|place| beside.join(place).join(FILE)).collect(),
        (None, None) => return Err(NotFound { looked: vec!["the unknown directory of this program".into()] }),
    };
    let found = candidates.iter().find_map(|path| path.canonicalize().ok().filter(|path| path.is_file()));
    found.ok_or_else(|| NotFound { looked: candidates.iter().map(|path| path.display().to_string()).collect() })
}

/// Links under the names that the hosts load.
#[derive(Debug)]
pub(crate) struct LoadNames {
    /// Name for NCCL, with `NCCL_PROFILER_PLUGIN` as this name, or `scorep` from NCCL 2.26 on.
    pub(crate) nccl: PathBuf,
    /// Name for Score-P, with `SCOREP_METRIC_PLUGINS=nccl_plugin`.
    pub(crate) counters: PathBuf,
    /// Name for Score-P, with `SCOREP_METRIC_PLUGINS=nccl_series_plugin`.
    pub(crate) series: PathBuf,
}

impl LoadNames {
    /// Returns the links' paths in a directory.
    pub(crate) fn of(directory: &Path) -> Self {
        Self {
            nccl: directory.join("libnccl-profiler-scorep.so"),
            counters: directory.join("libnccl_plugin.so"),
            series: directory.join("libnccl_series_plugin.so"),
        }
    }

    /// Returns all links.
    pub(crate) fn all(&self) -> [&Path; 3] {
        [&self.nccl, &self.counters, &self.series]
    }
}
