//! `scorep-nccl table`: makes the operations' table of recordings, a Parquet file for each process.
//!
//! A child process for each recording replays it. When an operation starts, the recording's own lines say what it was
//! called with; when nothing more will come of it, the library gives it out, and its row is complete but for its times.
//! These follow from the GPUs' clocks at the end. Whatever grows with the recording's length lies in files.
//!
//! ```text
//! recording ─┬► lines: facts of operations under way ─┐
//!            └► replay: operations that are over ─────┴► rows ─► sorted by enqueue ─► with times ─► Parquet
//! ```

mod api_calls;
pub mod child;
pub mod command;
mod job;
mod lines;
mod open_files;
mod packed;
mod replays;
mod row;
mod rows;
mod sorter;

use crate::inherited::Inherited;
use crate::replay::recordings::Recordings;
use crate::replay::{ReplayError, captures, progress_bar, run_all};
use common::files::Directory;
use job::TableJob;
use present::output::place;
use present::output::scratch::Scratch;
use std::path::{Path, PathBuf};

pub use open_files::raise_limit;

/// The tables that were made.
#[derive(Debug, Default)]
pub struct MadeTables {
    /// The recordings, each with the file of its table, in the order of the recordings' names.
    pub(crate) written: Vec<(PathBuf, PathBuf)>,
    /// Remark on recordings that lack callbacks.
    pub lacking: Option<String>,
    /// Number of recordings asked for; a directory without recordings counts as one.
    pub(crate) asked: usize,
    /// Errors of the recordings that have no table.
    pub left_out: Vec<ReplayError>,
}

/// Writes the table of each recording into the dataset `to`, which is made where it is missing. `recordings` are files,
/// and directories of files. A table of the same process is replaced; tables of other processes are left alone, so that
/// several programs may write into one dataset. `at_a_time` recordings are read at a time; without it, three for two
/// processors.
///
/// # Errors
/// When no recording can be replayed: the error of each. Otherwise the first problem with the dataset or with
/// recordings of one process.
pub fn write(recordings: &[PathBuf], to: &Path, at_a_time: Option<usize>) -> Result<MadeTables, ReplayError> {
    let (captures, mut left_out) = captures::of(recordings);
    let asked = captures.len() + left_out.len();
    if captures.is_empty() {
        return Err(ReplayError::None(left_out));
    }
    let recordings = Recordings::of(&captures);
    recordings.check_processes()?;
    place::check_directory(to, to)?;
    let dataset = Directory::made(to).map_err(|error| ReplayError::io(to, error))?;
    let settings = Inherited::read();
    // beside the tables: what the system keeps for temporary files may be memory
    let scratch = Scratch::within(&dataset.reach()).map_err(|error| ReplayError::io(to, error))?;

    let bar = progress_bar("reading");
    let jobs = captures.iter().enumerate().map(|(number, capture)| TableJob {
        capture,
        dataset: &dataset,
        to,
        scratch: scratch.path(),
        number,
        bar: &bar,
        settings: &settings,
    });
    let jobs: Vec<TableJob<'_>> = jobs.collect();
    let results = run_all(&jobs, at_a_time, TableJob::run);
    bar.finish_and_clear();
    let mut written = Vec::new();
    for (job, result) in jobs.iter().zip(results) {
        match result {
            Ok(table) => written.push((job.capture.to_path_buf(), table)),
            Err(error) => left_out.push(error),
        }
    }
    if written.is_empty() {
        return Err(ReplayError::None(left_out));
    }
    Ok(MadeTables { written, lacking: recordings.lacking(), asked, left_out })
}
