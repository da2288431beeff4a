//! OTF2 archives, written through the real OTF2 library.
//!
//! The library is loaded when an archive is written, so that neither the build nor any other use of the tool needs
//! OTF2. `abi` declares the types in use, `functions` lists the functions, and `library` resolves them. All
//! calls pass through `archive`, `definition_writer` and `event_writer`, which are safe to use. The modules above
//! these three use no C:
//!
//! 1. `plan` numbers the contents of the archive (locations, regions, metrics) and refuses what OTF2 would refuse.
//! 2. `events` writes the locations' events, `definitions` the definitions of the numbers.
//! 3. `target` lets the finished archive appear in its directory at once, or not at all.
//!
//! `reader` reads archives, and `copy` copies one. Foreign archives are read in a process of their own (`apart`):
//! the library trusts its files, and a damaged one can have it write anywhere.
//!
//! The layout follows Score-P's. A process is a location group. A thread is a location whose METRIC records come right
//! before ENTER and LEAVE. A lane is a location of a GPU with Score-P's counters and attributes. The series of a
//! communicator are counters of a lane without regions.

mod abi;
pub mod apart;
mod archive;
mod chunk;
pub(crate) mod copy;
mod definition_writer;
mod definitions;
mod error;
mod event_writer;
mod events;
mod functions;
mod lane_definitions;
mod lanes;
mod library;
mod metric;
mod numbered;
mod plan;
pub(crate) mod reader;
mod region;
mod target;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use crate::trace::ProcessTrace;
use common::files;
use common::summary::Summary;

use archive::Archive;
use plan::ArchivePlan;

pub use archive::ANCHOR;
pub use error::{LibraryError, Otf2Error};
pub(crate) use target::Target;

/// Place of the job's summary in the directory of an archive, as in an experiment of Score-P's.
pub const SUMMARY: &str = "nccl/summary.json";

/// Checks as far as possible without one whether an archive could be written to `directory`.
///
/// # Errors
///
/// When the directory cannot be used, or OTF2 is missing.
pub fn check(directory: &Path) -> Result<(), Otf2Error> {
    library::opened()?;
    Target::prepare(directory).map(drop)
}

/// Writes all processes as one archive into `directory`, which must be missing or empty; returns the anchor file. The
/// job's summary comes beside it: lanes do not say how many ranks a communicator has.
///
/// # Errors
///
/// When the traces do not fit into one archive, the directory cannot be used, or OTF2 is missing or fails. Then no
/// archive is left behind.
pub fn write(directory: &Path, processes: &[ProcessTrace], summary: Option<&Summary>) -> Result<PathBuf, Otf2Error> {
    // Checks without access to the file system come first.
    let plan = ArchivePlan::new(processes)?;
    let target = Target::prepare(directory)?;
    let archive = Archive::create(library::opened()?, target.staging(), chunk::size(&plan))?;
    let counts = events::write(&archive, &plan)?;
    definitions::write(&archive, &plan, &counts)?;
    archive.close()?;
    if let Some(summary) = summary {
        let failed = |source| Otf2Error::Directory { directory: directory.to_owned(), source };
        let path = target.staging().join(SUMMARY);
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
        files::write_json(&path, summary).map_err(failed)?;
    }
    target.publish()
}
