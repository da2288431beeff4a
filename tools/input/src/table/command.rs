//! `scorep-nccl table` on the command line: its arguments, and what it prints.

use super::{MadeTables, raise_limit, write};
use present::output;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// What a person may say.
#[derive(Debug, clap::Args)]
pub struct TableArguments {
    /// Recordings (*.jsonl.gz), or directories of them; one process each.
    #[arg(required = true, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    /// Writes the tables into this directory, as process=ID/operations.parquet. Several programs may write into one
    /// directory at a time.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Recordings that are read at a time. Without it, three for two processors.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

/// Makes the tables and prints how many there are.
///
/// # Errors
/// In words. An error also comes after the tables are made, where recordings were left out.
pub fn run(arguments: &TableArguments) -> Result<(), String> {
    raise_limit();
    let TableArguments { recordings, to, jobs } = arguments;
    let MadeTables { written, lacking, asked, left_out } =
        write(recordings, to, jobs.map(NonZeroUsize::get)).map_err(|error| error.to_string())?;
    left_out.iter().for_each(output::say);
    let tables = if written.len() == 1 { "table" } else { "tables" };
    output::text(&format!("{} {tables} in {}\n", written.len(), to.display()))?;
    lacking.iter().for_each(output::say);
    match left_out.len() {
        0 => Ok(()),
        count => Err(format!("{count} of {asked} recordings have no table, as said above")),
    }
}
