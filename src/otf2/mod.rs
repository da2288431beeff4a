//! OTF2 archives, written through the real OTF2 library.
//!
//! The library is loaded when an archive is to be written, so that neither building nor any other use of the tool needs
//! OTF2. What it takes from it is declared in [`abi`] and resolved in [`library`]; all calls pass [`archive`],
//! [`definition_writer`] and
//! [`event_writer`], which are safe to use. Above them there is no C in sight:
//!
//! 1. [`plan`] numbers what the archive will hold (locations, regions, metrics) and refuses what OTF2 would not take.
//! 2. [`events`] writes the locations' events, [`definitions`] what the numbers mean.
//! 3. [`target`] lets the finished archive appear in its directory at once, or not at all.
//!
//! The layout follows Score-P: a process is a location group, a thread is a location whose METRIC records come right
//! before ENTER and LEAVE, a lane is a location of a GPU whose counters and attributes are as Score-P has them, and
//! each asynchronous metric has a METRIC location of its own in the group of its process.

mod abi;
mod archive;
mod chunk;
mod definition_writer;
mod definitions;
mod error;
mod event_writer;
mod events;
mod lanes;
mod library;
mod metric;
mod numbered;
mod plan;
mod region;
mod target;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::trace::ProcessTrace;

use archive::Archive;
use plan::Plan;
use target::Target;

pub use error::{LibraryError, Otf2Error};

/// Whether an archive could be written to `directory`, as far as can be told without one.
///
/// # Errors
///
/// When the directory cannot be used, or OTF2 is missing.
pub fn check(directory: &Path) -> Result<(), Otf2Error> {
    library::opened()?;
    Target::prepare(directory).map(drop)
}

/// Writes all processes as one archive into `directory`, which must be missing or empty; returns the anchor file.
///
/// # Errors
///
/// When the traces cannot be one archive, the directory cannot be used, or OTF2 is missing or fails; no archive is left
/// behind then.
pub fn write(directory: &Path, processes: &[ProcessTrace]) -> Result<PathBuf, Otf2Error> {
    // What can be refused without touching the file system comes first.
    let plan = Plan::new(processes)?;
    let target = Target::prepare(directory)?;
    let archive = Archive::create(library::opened()?, target.staging(), chunk::size(&plan))?;
    let counts = events::write(&archive, &plan)?;
    definitions::write(&archive, &plan, &counts)?;
    archive.close()?;
    target.publish()
}
