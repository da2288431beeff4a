//! `scorep-nccl replay`: plays recorded callbacks to the library that is part of this program, each capture in a child
//! process.

pub(crate) mod captures;
pub mod child;
pub(crate) mod clocks;
pub mod command;
mod error;
pub(crate) mod failure;
pub(crate) mod hosts;
pub(crate) mod job;
pub(crate) mod recordings;
pub mod request;

use crate::communication;
use crate::inherited::Inherited;
use crate::otf2;
use crate::replay::recordings::Recordings;
use crate::trace::ProcessTrace;
use common::files;
use common::summary::Summary;
use indicatif::{ProgressBar, ProgressStyle};
use job::ReplayJob;
use present::output::scratch::Scratch;
use present::output::{apart, leftovers, place};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub use error::ReplayError;
pub use request::ReplayRequest;

/// Results of a replay.
#[derive(Debug)]
pub struct ReplayOutcome {
    /// Summary of all processes.
    pub summary: Summary,
    /// Summary of each job, where the processes are of several jobs.
    pub(crate) jobs: Vec<Summary>,
    /// Remark on recordings that lack callbacks.
    pub(crate) lacking: Option<String>,
    /// Anchor file of the trace.
    pub trace: Option<PathBuf>,
    /// What its records of communication lack, in sentences.
    pub(crate) trace_lacks: Vec<String>,
    /// Whether all figures were sent; true where no sending was asked for.
    pub(crate) sent: bool,
    /// Number of captures asked for; a directory without captures counts as one.
    pub(crate) asked: usize,
    /// Errors of the captures that are not in the summary.
    pub left_out: Vec<ReplayError>,
}

/// Replays all captures and leaves out those that cannot be replayed. Output files appear at the end, complete, or not
/// at all.
///
/// # Errors
/// When no capture can be replayed: the error of each capture. Otherwise the first problem with an output place.
pub fn replay(request: &ReplayRequest) -> Result<ReplayOutcome, ReplayError> {
    // missing requirements are reported before the work, not after it
    if request.otlp.is_some() && !cfg!(feature = "otel") {
        return Err(ReplayError::CannotSend);
    }
    let (captures, mut left_out) = captures::of(&request.sources);
    apart::check(request.summary.iter().map(|path| apart::Output::File(path)), captures.iter().cloned())
        .map_err(ReplayError::Replaced)?;
    if let Some(path) = &request.summary {
        place::prepare(path)?;
    }
    let asked = captures.len() + left_out.len();
    if captures.is_empty() {
        return Err(ReplayError::None(left_out));
    }
    let recordings = Recordings::of(&captures);
    recordings.check_processes()?;
    if let Some(directory) = &request.otf2 {
        otf2::check(directory)?;
    }
    let settings = Inherited::read();
    let scratch = Scratch::new().map_err(|error| ReplayError::io(&std::env::temp_dir(), error))?;

    let bar = progress_bar("replaying");
    let unsent = AtomicBool::new(false);
    let jobs: Vec<ReplayJob<'_>> = captures
        .iter()
        .enumerate()
        .map(|(number, capture)| ReplayJob {
            capture,
            request,
            scratch: scratch.path(),
            number,
            is_alone: captures.len() == 1,
            bar: &bar,
            unsent: &unsent,
            settings: &settings,
        })
        .collect();
    let results = run_all(&jobs, None, ReplayJob::run);
    bar.finish_and_clear();
    let (mut replayed, mut summaries, mut traces): (Vec<&ReplayJob<'_>>, Vec<Summary>, Vec<Option<ProcessTrace>>) =
        Default::default();
    for (job, result) in jobs.iter().zip(results) {
        match result {
            Ok((summary, trace)) => {
                replayed.push(job);
                summaries.push(summary);
                traces.push(trace);
            }
            Err(error) => left_out.push(error),
        }
    }
    if replayed.is_empty() {
        return Err(ReplayError::None(left_out));
    }

    let mut summary = Summary::merge(summaries.clone());
    summary.notes.extend(left_out.iter().map(|error| format!("left out, since it could not be replayed: {error}")));
    recordings.check_ranks(&summary, |process| replayed.get(process).map(|job| job.number))?;
    let mut traces: Vec<ProcessTrace> = traces.into_iter().flatten().collect();
    if request.needs_timeline() {
        let captures: Vec<PathBuf> = replayed.iter().map(|job| job.capture.to_path_buf()).collect();
        let arrivals: Vec<PathBuf> = replayed.iter().map(|job| job.arrivals()).collect();
        clocks::bring_together(&mut summary, &mut traces, &captures, &arrivals, request.lateness);
    }
    name_jobs(&summary, &mut traces);
    let trace = request
        .otf2
        .as_deref()
        .map(|directory| communication::write(directory, &traces, Some(&summary)))
        .transpose()?;
    let (trace, added) = trace.unzip();
    let trace_lacks = added.flatten().map(|added| added.remarks()).unwrap_or_default();
    if let Some(path) = &request.summary {
        leftovers::undisturbed(|| files::write_json(path, &summary)).map_err(|error| ReplayError::io(path, error))?;
    }
    let sent = request.otlp.is_none() || !unsent.into_inner();
    let jobs = summary.apart(summaries);
    Ok(ReplayOutcome { summary, jobs, lacking: recordings.lacking(), trace, trace_lacks, sent, asked, left_out })
}

/// Returns the summary as it is written to files: indented, with a line end.
///
/// # Errors
/// None for summaries of this program, whose numbers are finite.
pub(crate) fn to_json(summary: &Summary) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(summary)? + "\n")
}

/// Sets the job's name in the trace of each process, where there are several jobs. The traces are in the order of the
/// processes.
fn name_jobs(summary: &Summary, traces: &mut [ProcessTrace]) {
    for (job, number) in summary.jobs.iter().zip(1..).filter(|_| summary.jobs.len() > 1) {
        // a job may have no name, so a number tells the jobs apart
        let name = job.name.as_ref().map_or_else(|| format!("job {number}"), |name| format!("job {number}: {name}"));
        for &process in &job.processes {
            if let Some(trace) = traces.get_mut(process as usize) {
                trace.job.clone_from(&name);
            }
        }
    }
}

/// Returns the progress bar, which is drawn on a terminal only.
pub(crate) fn progress_bar(doing: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(0).with_prefix(doing);
    let style = ProgressStyle::with_template("{prefix} {wide_bar} {human_pos} of {human_len} callbacks, {eta}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

/// Runs the jobs on `most` threads and returns their results in the jobs' order. The results do not depend on the number
/// of threads. Without `most` there are three threads for two processors: a third of a job's time is waiting, for files
/// and for the kernel.
pub fn run_all<T: Sync, R: Send>(jobs: &[T], most: Option<usize>, run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let locked = || results.lock().unwrap_or_else(PoisonError::into_inner);
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let workers = most.unwrap_or_else(|| (processors() * 3).div_ceil(2)).min(jobs.len());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(number) else { return };
            let result = run(job);
            locked()[number] = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // if the system refuses a thread, the other threads do its work
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    // every job was run, so every job has a result
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}
