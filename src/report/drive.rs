//! From inputs to a report: recordings become tables, tables become a stream, and each part of the analysis listens.
//!
//! ```text
//! recordings ──► crate::table::write ──► tables ──┐
//! tables, archives ───────────────────────────────┴──► Tables::open ──► Clocks ──► stream::run ──► analysis ──► Report
//! ```

use super::inputs::Kind;
use super::progress::Progress;
use super::request::{Comparison, Outcome, Request, StepChoice};
use crate::output::leftovers;
use report::job::{Options, Process, StepRegions, Unreadable};
use report::output::{csv, parquet};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Makes the report of the inputs. Writes the operations' tables and Perfetto's trace on the way.
///
/// # Errors
/// When no input can be read, or an output cannot be written; in words.
pub(super) fn make(request: &Request) -> Result<Outcome, String> {
    let mut left_out = request.inputs.left_out.clone();
    let mut tables = request.inputs.of_kind(Kind::Table);
    let recordings = request.inputs.of_kind(Kind::Recording);
    // removed at the end, and on signals
    let scratch = (!recordings.is_empty()).then(scratch).transpose()?;
    if let Some(scratch) = &scratch {
        left_out.extend(write_tables(&recordings, scratch.path()));
        tables.push(scratch.path().to_path_buf());
    }
    let options = options(request)?;
    let regions = regions(request, &[]);
    let operations = request.csv.as_deref().map(csv::operations).transpose().map_err(|error| error.to_string())?;
    let as_parquet =
        request.parquet.as_deref().map(parquet::operations).transpose().map_err(|error| error.to_string())?;
    // the seams of the steps that are still to come: `Tables::open(&tables)` gives the job, its tables, inputs and notes;
    // then `Clocks::of(&job, &tables)`, `stream::run` with `operations` and `as_parquet` among its listeners, then
    // `operations.finish()`
    let kinds: Vec<&str> = request.inputs.found.iter().map(|found| found.kind.text()).collect();
    let _ = (kinds, tables, options, regions, operations, as_parquet, left_out);
    let _ = (&request.perfetto, &request.facts.kernels, &request.facts.link, &request.facts.library);
    Err("this build does not make reports yet".into())
}

/// Compares two runs. `threshold` is the share from which on a change counts.
///
/// # Errors
/// When one of the runs has no report; in words.
pub(super) fn compare(before: &Request, after: &Request, threshold: f64) -> Result<Comparison, String> {
    let _ = threshold;
    let (before, after) = (make(before)?, make(after)?);
    let left_out = before.left_out.iter().chain(&after.left_out).map(ToString::to_string).collect();
    Ok(Comparison { text: String::new(), json: String::new(), is_worse: false, left_out })
}

fn scratch() -> Result<TempDir, String> {
    leftovers::make(|| TempDir::with_prefix("scorep-nccl-"))
        .map_err(|error| format!("{}: {error}", std::env::temp_dir().display()))
}

/// Writes the tables of recordings. Returns the recordings that are left out.
fn write_tables(recordings: &[PathBuf], directory: &Path) -> Vec<Unreadable> {
    let _ = directory;
    let mut progress = Progress::new("reading", "recordings", recordings.len() as u64);
    progress.add(0);
    Vec::new()
}

/// Returns the user's facts as the analysis takes them.
///
/// # Errors
/// File, line and cause of the file of dimensions.
fn options(request: &Request) -> Result<Options, String> {
    // `report::analysis::dimension::rules(file, text)` reads them
    let _ = request.facts.dimensions.as_ref();
    let links = request.facts.links.clone();
    Ok(Options { links, dimensions: Vec::new(), top: request.top, step: request.shown_step })
}

/// Returns the user's steps on the clocks of these processes; `None` where steps are found by repetition.
fn regions(request: &Request, processes: &[Process]) -> Option<StepRegions> {
    match &request.facts.step {
        StepChoice::Found => None,
        StepChoice::Times(times) => Some(times.regions(processes)),
        // from the archive's regions
        StepChoice::Region(name) => Some(StepRegions { name: name.clone(), ..StepRegions::default() }),
    }
}
