//! `scorep-nccl replay`: recorded callbacks through the shipped library, one child process a capture.

use crate::recordings::{Recordings, Repeated};
use crate::trace::ProcessTrace;
use crate::{child, lateness, library, otf2};
use common::summary::Summary;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tempfile::{NamedTempFile, TempDir};

/// File name ending of captures.
const ENDING: &str = ".jsonl.gz";

/// What is to be replayed, and what is wanted of it.
#[derive(Debug, Default)]
pub(crate) struct Request {
    /// Captures, or directories of them.
    pub(crate) sources: Vec<PathBuf>,
    /// File for the summary.
    pub(crate) summary: Option<PathBuf>,
    /// Directory for the trace.
    pub(crate) otf2: Option<PathBuf>,
    /// OTLP endpoint for the figures.
    pub(crate) otlp: Option<String>,
    /// The shipped library, where it is not beside this program.
    pub(crate) library: Option<PathBuf>,
    /// Whether the summary has how late ranks arrive at their collectives.
    pub(crate) lateness: bool,
    /// Length of a window in the capture's time, seconds.
    pub(crate) window_seconds: f64,
    /// The version of NCCL's interface to speak, where it is given.
    pub(crate) interface: Option<u32>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// All processes.
    pub(crate) summary: Summary,
    /// Those of each job, where they are of several.
    pub(crate) jobs: Vec<Summary>,
    /// What the recordings lack, in words.
    pub(crate) lacking: Option<String>,
    /// The trace's anchor file.
    pub(crate) trace: Option<PathBuf>,
    /// Whether all figures were sent that were to be.
    pub(crate) sent: bool,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{0}: there is no capture (*{ENDING}) in this directory")]
    NoCapture(PathBuf),
    #[error(transparent)]
    Library(#[from] library::NotFound),
    #[error("{0}")]
    Child(String),
    #[error(transparent)]
    Otf2(#[from] otf2::Otf2Error),
    #[error(transparent)]
    Repeated(#[from] Repeated),
}

impl ReplayError {
    fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

/// Replays all captures. Output files appear when everything has succeeded, whole, or not at all.
///
/// # Errors
/// The first thing that is wrong with a capture, the library or a place to write to.
pub(crate) fn replay(request: &Request) -> Result<Outcome, ReplayError> {
    let captures = captures(&request.sources)?;
    let recordings = Recordings::of(&captures);
    recordings.check_processes()?;
    let library = library::find(request.library.as_deref())?;
    // an output that cannot be written is found before the work, not after it
    let summary_file = request.summary.as_deref().map(part_file).transpose()?;
    if let Some(directory) = &request.otf2 {
        otf2::check(directory)?;
    }
    let scratch = TempDir::with_prefix("scorep-nccl-").map_err(|error| ReplayError::io(&std::env::temp_dir(), error))?;
    library::Links::of(scratch.path()).make(&library).map_err(|error| ReplayError::io(scratch.path(), error))?;

    let bar = progress_bar();
    let unsent = AtomicBool::new(false);
    let jobs: Vec<Job<'_>> = captures
        .iter()
        .enumerate()
        .map(|(number, capture)| Job { capture, request, scratch: scratch.path(), number, bar: &bar, unsent: &unsent })
        .collect();
    let outcome = run_all(&jobs);
    bar.finish_and_clear();
    let parts = outcome?;

    let (summaries, traces): (Vec<Summary>, Vec<Option<ProcessTrace>>) = parts.into_iter().unzip();
    let mut summary = Summary::merge(summaries.clone());
    recordings.check_ranks(&summary)?;
    if request.lateness {
        let arrivals: Vec<PathBuf> = jobs.iter().map(Job::arrivals).collect();
        lateness::add(&mut summary, &captures, &arrivals);
    }
    let traces: Vec<ProcessTrace> = traces.into_iter().flatten().collect();
    let trace = request.otf2.as_deref().map(|directory| otf2::write(directory, &traces)).transpose()?;
    if let (Some(mut file), Some(path)) = (summary_file, &request.summary) {
        let text = to_json(&summary).map_err(|error| ReplayError::io(path, error))?;
        file.write_all(text.as_bytes()).map_err(|error| ReplayError::io(path, error))?;
        file.persist(path).map_err(|error| ReplayError::io(path, error.error))?;
    }
    let sent = request.otlp.is_none() || !unsent.into_inner();
    let jobs = summary.apart(summaries);
    Ok(Outcome { summary, jobs, lacking: recordings.lacking(), trace, sent })
}

/// The summary as it is written: indented, with a line end.
///
/// # Errors
/// Never for summaries of this program, whose numbers are finite.
pub(crate) fn to_json(summary: &Summary) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(summary)? + "\n")
}

/// The captures in the order of their names, numbers in them as numbers: r2 before r10.
pub(crate) fn captures(sources: &[PathBuf]) -> Result<Vec<PathBuf>, ReplayError> {
    let mut captures = Vec::new();
    for source in sources {
        if !source.is_dir() {
            captures.push(source.clone());
            continue;
        }
        let entries = source.read_dir().and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(|error| ReplayError::io(source, error))?;
        let is_capture = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ENDING));
        let mut found: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).filter(is_capture).collect();
        if found.is_empty() {
            return Err(ReplayError::NoCapture(source.clone()));
        }
        found.sort_by_cached_key(|path| natural(&path.to_string_lossy()));
        captures.append(&mut found);
    }
    Ok(captures)
}

/// Text and numbers of a name in turn.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = vec![(String::new(), 0_u64)];
    let mut in_number = false;
    for character in name.chars() {
        let digit = character.to_digit(10);
        if in_number && digit.is_none() {
            parts.push((String::new(), 0));
        }
        in_number = digit.is_some();
        if let Some((text, number)) = parts.last_mut() {
            match digit {
                Some(digit) => *number = number.saturating_mul(10).saturating_add(u64::from(digit)),
                None => text.push(character),
            }
        }
    }
    parts
}

/// Name of a capture's process: its file name without the ending.
pub(crate) fn process_name(capture: &Path) -> String {
    let name = capture.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_suffix(ENDING).unwrap_or(&name).to_owned()
}

/// A file beside the summary's place, which takes that place at the end.
fn part_file(path: &Path) -> Result<NamedTempFile, ReplayError> {
    if path.is_dir() {
        return Err(ReplayError::io(path, io::ErrorKind::IsADirectory.into()));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // as any file that a program makes, subject to the umask
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    builder.prefix(".scorep-nccl-").permissions(permissions).tempfile_in(directory).map_err(|error| ReplayError::io(path, error))
}

/// Drawn on a terminal only.
fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("replaying {wide_bar} {human_pos} of {human_len} callbacks, {eta}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

type Part = (Summary, Option<ProcessTrace>);

/// As many at a time as there are processors. The figures do not depend on it.
fn run_all(jobs: &[Job<'_>]) -> Result<Vec<Part>, ReplayError> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<Part, ReplayError>>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let locked = || results.lock().unwrap_or_else(PoisonError::into_inner);
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = job.run();
                    if result.is_err() {
                        next.store(jobs.len(), Ordering::Relaxed);
                    }
                    locked()[job.number] = Some(result);
                }
            });
        }
    });
    // jobs not run have no result: then one before or after them has failed
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

/// What the library says where it does not send.
const UNSENT: [&str; 2] = ["nothing is exported", "could not be exported"];

/// One capture's replay.
struct Job<'a> {
    capture: &'a Path,
    request: &'a Request,
    /// Where the links to the library are, too.
    scratch: &'a Path,
    number: usize,
    bar: &'a ProgressBar,
    /// Set where figures were not sent.
    unsent: &'a AtomicBool,
}

impl Job<'_> {
    /// Where its arrivals are to be.
    fn arrivals(&self) -> PathBuf {
        self.scratch.join(format!("{}.arrivals", self.number))
    }

    fn run(&self) -> Result<Part, ReplayError> {
        let summary = self.scratch.join(format!("{}.summary.json", self.number));
        let trace = self.request.otf2.is_some().then(|| self.scratch.join(format!("{}.trace.json", self.number)));
        let mut child = self.spawn(&summary, trace.as_deref())?;
        let stderr = child.stderr.take();
        // both at a time: a child that nobody listens to would wait for ever
        let message = std::thread::scope(|scope| {
            let message = scope.spawn(|| {
                let mut bytes = Vec::new();
                if let Some(mut stderr) = stderr {
                    let _ = io::Read::read_to_end(&mut stderr, &mut bytes);
                }
                String::from_utf8_lossy(&bytes).into_owned()
            });
            self.follow(&mut child);
            message.join().unwrap_or_default()
        });
        let status = child.wait().map_err(|error| ReplayError::io(self.capture, error))?;
        if !status.success() {
            return Err(self.failed(&message, status));
        }
        let _ = io::stderr().write_all(message.as_bytes());
        if UNSENT.iter().any(|words| message.contains(words)) {
            self.unsent.store(true, Ordering::Relaxed);
        }
        let trace = trace.map(|path| read(&path)).transpose()?;
        Ok((read(&summary)?, trace))
    }

    fn spawn(&self, summary: &Path, trace: Option<&Path>) -> Result<Child, ReplayError> {
        let program = std::env::current_exe().map_err(|error| ReplayError::io(self.capture, error))?;
        let mut command = Command::new(program);
        command.arg(child::COMMAND).arg(self.scratch).arg(self.capture).args(trace);
        if self.request.lateness {
            command.arg("--arrivals").arg(self.arrivals());
        }
        if let Some(interface) = self.request.interface {
            command.args(["--interface".into(), interface.to_string()]);
        }
        command.env("NCCL_SCOREP_SUMMARY", summary);
        command.env("NCCL_SCOREP_TICK_RATE", crate::host::clock::TICKS_PER_SECOND.to_string());
        command.env("NCCL_SCOREP_WINDOW_SECONDS", self.request.window_seconds.to_string());
        if std::env::var_os("NCCL_SCOREP_SETTLE_SECONDS").is_none() {
            // nothing is decided by waiting: how often the collector comes by must not show in the figures
            command.env("NCCL_SCOREP_SETTLE_SECONDS", "1e6");
        }
        // the stand-in for Score-P has no lanes, and needs a timeline for the lateness alone
        command.env("NCCL_SCOREP_LANES", "off");
        if !self.request.lateness {
            command.env("NCCL_SCOREP_GATHER_KB", "0");
        } else if std::env::var_os("NCCL_SCOREP_LANE_MB").is_none() {
            // no job needs the memory, and the capture takes more
            command.env("NCCL_SCOREP_LANE_MB", "65536");
        }
        command.env_remove("SCOREP_METRIC_PLUGINS").env_remove("SCOREP_SUBSTRATE_PLUGINS");
        // the recorded callbacks come whatever is asked for, and there is no job that could hang
        command.env("NCCL_SCOREP_TRUST_NCCL", "on");
        if let Some(endpoint) = &self.request.otlp {
            command.env("NCCL_SCOREP_OTEL", "on").env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
            command.env_remove("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
        }
        if std::env::var_os("NCCL_SCOREP_LOG").is_none() {
            // what is to be known of a replay stands in its summary, but for what could not be exported
            let is_set = |name| std::env::var_os(name).is_some();
            let exports = self.request.otlp.is_some() || is_set("NCCL_SCOREP_OTEL") || is_set("NCCL_SCOREP_PROM_DIR");
            command.env("NCCL_SCOREP_LOG", if exports { "warn" } else { "off" });
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|error| ReplayError::io(self.capture, error))
    }

    /// Moves the bar as the child tells: its number of calls first, then how many of them are made.
    fn follow(&self, child: &mut Child) {
        let Some(stdout) = child.stdout.take() else { return };
        let mut made = 0;
        let numbers = BufReader::new(stdout).lines().map_while(Result::ok).filter_map(|line| line.parse::<u64>().ok());
        for (place, number) in numbers.enumerate() {
            if place == 0 {
                self.bar.inc_length(number);
            } else {
                self.bar.inc(number.saturating_sub(made));
                made = number;
            }
        }
    }

    /// What the child said, or how it died.
    fn failed(&self, message: &str, status: std::process::ExitStatus) -> ReplayError {
        match message.trim_end() {
            said if status.code() == Some(1) && !said.is_empty() => ReplayError::Child(said.into()),
            said => ReplayError::Child(format!("{}: the replay process ended with {status}\n{said}", self.capture.display())),
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ReplayError> {
    let bytes = std::fs::read(path).map_err(|error| ReplayError::io(path, error))?;
    serde_json::from_slice(&bytes).map_err(|error| ReplayError::io(path, error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_sorted_as_numbers() {
        let mut names = vec!["a.r10", "a.r9", "a.r1", "b.r0", "a"];
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(names, ["a", "a.r1", "a.r9", "a.r10", "b.r0"]);
    }

    #[test]
    fn a_process_is_named_after_its_file() {
        assert_eq!(process_name(Path::new("x/collectives.r0.jsonl.gz")), "collectives.r0");
        assert_eq!(process_name(Path::new("other")), "other");
    }
}
