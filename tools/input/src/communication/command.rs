//! `scorep-nccl trace` on the command line: its arguments, and its lines.

use super::{Added, add};
use crate::otf2::{ANCHOR, copy};
use present::output;
use present::output::progress::Progress;
use std::path::{Path, PathBuf};

/// The arguments.
#[derive(Debug, clap::Args)]
pub struct CommunicationArguments {
    /// Score-P's experiment directory, or its traces.otf2.
    #[arg(value_name = "EXPERIMENT")]
    experiment: PathBuf,
    /// Writes the copy into this directory, which must be missing or empty. The experiment stays as it is.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

/// Copies the experiment, with NCCL's communicators, messages and collectives in its trace.
///
/// # Errors
/// In words.
pub fn run(arguments: &CommunicationArguments) -> Result<(), String> {
    let CommunicationArguments { experiment, to } = arguments;
    let anchor = if experiment.is_dir() { experiment.join(ANCHOR) } else { experiment.clone() };
    if !experiment.exists() {
        return Err(format!("{}: no such file or directory", experiment.display()));
    }
    if anchor.file_name().is_none_or(|name| name != ANCHOR) {
        return Err(format!("{}: name the experiment's directory, or its {ANCHOR}", experiment.display()));
    }
    if !anchor.is_file() {
        return Err(format!("{}: no {ANCHOR}: SCOREP_ENABLE_TRACING=true writes one", experiment.display()));
    }
    let mut bar = Progress::new("Copying", "bytes", size_of(copy::directory_of(&anchor)));
    let (made, added) = add(&anchor, to, &mut |bytes| bar.add(bytes)).map_err(|error| error.to_string())?;
    drop(bar);
    output::text(&said(&made, &added))?;
    added.remarks().iter().for_each(output::say);
    Ok(())
}

fn said(anchor: &Path, added: &Added) -> String {
    let Added { communicators, messages, collectives, .. } = added;
    format!(
        "{}: {communicators} communicator{}, {messages} messages and {collectives} ends of collectives added\n",
        anchor.display(),
        if *communicators == 1 { "" } else { "s" }
    )
}

/// Returns the bytes of all files of a directory and one level below.
fn size_of(directory: &Path) -> u64 {
    let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    let files = |path: &Path| entries(path).filter_map(|entry| std::fs::metadata(entry.path()).ok());
    let sum = |path: &Path| files(path).filter(std::fs::Metadata::is_file).map(|file| file.len()).sum::<u64>();
    let below = entries(directory).map(|entry| entry.path()).filter(|path| path.is_dir());
    sum(directory) + below.map(|path| sum(&path)).sum::<u64>()
}
