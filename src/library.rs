//! Finds the shipped library, and gives it the names that NCCL and Score-P know it by.

use std::io;
use std::path::{Path, PathBuf};

/// File name of the shipped library.
pub(crate) const FILE: &str = "libscorep_substrate_nccl.so";

/// Where an installed library may lie, seen from the directory of this program; the last is Debian's.
/// In a build tree `deps` comes first, since cargo does not always bring the other up to date.
const PLACES: [&str; 5] = ["deps", "", "../lib", "../lib64", DEBIAN];

/// Debian's directory for libraries of the machine's kind.
const DEBIAN: &str = if cfg!(target_arch = "aarch64") { "../lib/aarch64-linux-gnu" } else { "../lib/x86_64-linux-gnu" };

/// The shipped library was not found.
#[derive(Debug, thiserror::Error)]
#[error("{FILE} is in none of {}: build it (cargo build), or name it with --library", .looked.join(", "))]
pub(crate) struct NotFound {
    looked: Vec<String>,
}

/// The library as named, or the one that came with this program.
///
/// # Errors
/// When it is nowhere.
pub(crate) fn find(named: Option<&Path>) -> Result<PathBuf, NotFound> {
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_path_buf())).unwrap_or_default();
    let candidates = match named {
        Some(path) => vec![path.to_path_buf()],
        None => PLACES.iter().map(|place| beside.join(place).join(FILE)).collect(),
    };
    let found = candidates.iter().find_map(|path| path.canonicalize().ok().filter(|path| path.is_file()));
    found.ok_or_else(|| NotFound { looked: candidates.iter().map(|path| path.display().to_string()).collect() })
}

/// Links under the names that the hosts load.
#[derive(Debug)]
pub(crate) struct Links {
    /// NCCL's, for `NCCL_PROFILER_PLUGIN=scorep`.
    pub(crate) nccl: PathBuf,
    /// Score-P's, for `SCOREP_METRIC_PLUGINS=nccl_plugin`.
    pub(crate) counters: PathBuf,
    /// Score-P's, for `SCOREP_METRIC_PLUGINS=nccl_series_plugin`.
    pub(crate) series: PathBuf,
}

impl Links {
    /// Those in that directory.
    pub(crate) fn of(directory: &Path) -> Self {
        Self {
            nccl: directory.join("libnccl-profiler-scorep.so"),
            counters: directory.join("libnccl_plugin.so"),
            series: directory.join("libnccl_series_plugin.so"),
        }
    }

    /// Makes them, to that library. Links, not copies: both hosts must reach the same statics.
    ///
    /// # Errors
    /// When there is no room.
    pub(crate) fn make(&self, library: &Path) -> io::Result<()> {
        [&self.nccl, &self.counters, &self.series].into_iter().try_for_each(|link| std::os::unix::fs::symlink(library, link))
    }
}
