//! The child process that makes tables of an archive.

use super::archives::one;
use input::offspring::apart;
use std::path::PathBuf;
use std::process::ExitCode;

/// The archive, and the place of its tables.
#[derive(Debug, clap::Args)]
pub(crate) struct ArchiveChildArguments {
    /// The anchor file.
    anchor: PathBuf,
    /// The dataset that the tables are written into.
    dataset: PathBuf,
    /// Name of the regions of the user's steps.
    region: Option<String>,
}

/// Writes the tables. Kernels, regions and notes of the archive go to standard output.
pub(crate) fn run(arguments: &ArchiveChildArguments) -> ExitCode {
    let ArchiveChildArguments { anchor, dataset, region } = arguments;
    apart::answer(|_| one(anchor, dataset, region.as_deref()))
}
