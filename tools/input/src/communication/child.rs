//! The child process of `scorep-nccl trace`: copies an archive, with records of communication.

use super::add_into;
use crate::offspring::apart;
use std::path::PathBuf;
use std::process::ExitCode;

/// The archive, and the place of its copy.
#[derive(Debug, clap::Args)]
pub struct CommunicationChildArguments {
    /// The anchor file.
    anchor: PathBuf,
    /// The directory of the copy, which has no archive.
    directory: PathBuf,
}

/// Copies the archive. The result and the progress go to standard output.
pub fn run(arguments: &CommunicationChildArguments) -> ExitCode {
    let CommunicationChildArguments { anchor, directory } = arguments;
    apart::answer(|progress| add_into(anchor, directory, progress).map_err(|error| error.to_string()))
}
