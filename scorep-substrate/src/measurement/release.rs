//! The release of Score-P, by the file name of its measurement library.
//!
//! The name's number grows with each release whose functions have other types. No function tells the release itself.

use super::symbols::{NAMES, address};
use std::ffi::CStr;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

/// A release whose functions were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// Its name.
    pub name: &'static str,
    /// File name of its measurement library; numbers of patches follow.
    pub library: &'static str,
}

/// All of them: docs/score-p.md has a table.
pub const TRIED: [Release; 2] = [
    Release { name: "Score-P 8", library: "libscorep_measurement.so.11" },
    Release { name: "Score-P 9", library: "libscorep_measurement.so.13" },
];

/// Returns the release with a library of that file name, if it was tried. Links are followed: Score-P's Python bindings
/// load the library by the link without a number.
pub fn of_file(path: &Path) -> Option<Release> {
    let linked = std::fs::canonicalize(path).ok();
    let names = [Some(path), linked.as_deref()].into_iter().flatten().filter_map(|path| path.file_name()?.to_str());
    let is_of = |release: &Release, name: &str| {
        name.strip_prefix(release.library).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    names.flat_map(|name| TRIED.into_iter().filter(move |release| is_of(release, name))).next()
}

/// Score-P's measurement library in this process.
#[derive(Debug)]
pub(super) struct MeasurementLibrary {
    path: PathBuf,
    release: Option<Release>,
}

impl MeasurementLibrary {
    /// Finds it.
    ///
    /// # Errors
    /// That Score-P is linked statically, in words.
    pub(super) fn loaded() -> Result<Self, String> {
        let Some(address) = NAMES.iter().find_map(|name| address(name)) else {
            return Err("Score-P is not linked as a shared library (scorep --dynamic, or a Score-P built with \
                        --enable-shared)"
                .into());
        };
        let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: dladdr fills in `found`, or returns 0 and leaves zeros, which are valid.
        let (known, found) = unsafe { (libc::dladdr(address, found.as_mut_ptr()) != 0, found.assume_init()) };
        let path = if known && !found.dli_fname.is_null() {
            // SAFETY: the loader's string, which lives as long as the library.
            PathBuf::from(unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy().into_owned())
        } else {
            PathBuf::new()
        };
        Ok(Self { release: of_file(&path), path })
    }

    /// Returns whether its functions were tried.
    pub(super) fn was_tried(&self) -> bool {
        self.release.is_some()
    }
}

impl Display for MeasurementLibrary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.release {
            Some(release) => write!(formatter, "the library of {}, {},", release.name, self.path.display()),
            None => write!(formatter, "Score-P's library {}", self.path.display()),
        }
    }
}
