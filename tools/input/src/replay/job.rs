//! The replay of one capture: starts the child process, and collects its messages and files.

use super::error::ReplayError;
use super::failure::ReplayFailure;
use super::request::ReplayRequest;
use crate::inherited::Inherited;
use crate::offspring;
use crate::replay::child;
use crate::trace::ProcessTrace;
use common::summary::Summary;
use indicatif::ProgressBar;
use present::output;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Results of a capture's replay: the summary, and the trace where one is wanted.
pub(super) type ReplayResult = (Summary, Option<ProcessTrace>);

/// Bytes of a child's standard error that are passed on: another plugin in it may print much.
const MOST_SAID: u64 = 1 << 20;

/// Settings that ask for more than figures. The library's warnings say what came of that.
const BESIDE_FIGURES: [&str; 4] =
    ["NCCL_SCOREP_OTEL", "NCCL_SCOREP_PROM_DIR", "NCCL_SCOREP_RECORD", "NCCL_SCOREP_CHAIN"];

/// The replay of one capture.
pub(super) struct ReplayJob<'a> {
    pub(super) capture: &'a Path,
    pub(super) request: &'a ReplayRequest,
    /// Directory of the job's files.
    pub(super) scratch: &'a Path,
    pub(super) number: usize,
    /// Whether it is the only capture: its summary keeps the arrivals.
    pub(super) is_alone: bool,
    pub(super) bar: &'a ProgressBar,
    /// Set when figures were not sent.
    pub(super) unsent: &'a AtomicBool,
    pub(super) settings: &'a Inherited,
}

impl ReplayJob<'_> {
    /// Path of the file with the arrivals.
    pub(super) fn arrivals(&self) -> PathBuf {
        self.scratch.join(format!("{}.arrivals", self.number))
    }

    /// Runs the child and returns its results.
    pub(super) fn run(&self) -> Result<ReplayResult, ReplayError> {
        let summary = self.scratch.join(format!("{}.summary.json", self.number));
        let trace = self.request.otf2.is_some().then(|| self.scratch.join(format!("{}.trace.json", self.number)));
        let command = self.command(&summary, trace.as_deref())?;
        let message = play(command, self.capture, self.scratch, self.bar, |status| {
            let is_unsent = status.code() == Some(child::NOT_EXPORTED.into());
            self.unsent.fetch_or(is_unsent, Ordering::Relaxed);
            is_unsent || status.success()
        })?;
        if !summary.exists() {
            let cause = format!("the library wrote no summary\n{message}");
            return Err(ReplayFailure::at(self.capture, cause).into());
        }
        let trace = trace.map(|path| read(&path)).transpose()?;
        Ok((read(&summary)?, trace))
    }

    fn command(&self, summary: &Path, trace: Option<&Path>) -> Result<Command, ReplayError> {
        let mut command = offspring::of_own(child::COMMAND).map_err(|error| ReplayError::io(self.capture, error))?;
        command.arg(self.capture).args(trace);
        if self.request.needs_timeline() {
            command.arg("--arrivals").arg(self.arrivals());
        }
        if let Some(interface) = self.request.interface {
            command.args(["--interface".into(), interface.to_string()]);
        }
        settings(&mut command, summary, self.request.window_seconds, self.settings);
        if self.request.otf2.is_none() {
            command.env("NCCL_SCOREP_LANES", "off");
        }
        if !self.request.needs_timeline() {
            if !self.is_alone {
                command.env("NCCL_SCOREP_GATHER_KB", "0");
            }
        } else {
            // nothing is sent, and 0 would leave the ranks and their clocks uncompared
            command.env_remove("NCCL_SCOREP_GATHER_KB");
            if !self.settings.has("NCCL_SCOREP_LANE_MB") {
                // no job competes for the memory, and the capture takes more
                command.env("NCCL_SCOREP_LANE_MB", "65536");
            }
        }
        if let Some(endpoint) = &self.request.otlp {
            command.env("NCCL_SCOREP_OTEL", "on").env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
            command.env_remove("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
        }
        if !self.settings.has("NCCL_SCOREP_LOG") {
            // the summary has all remarks on a replay, except those on what these settings ask for
            let asks = self.request.otlp.is_some() || BESIDE_FIGURES.iter().any(|name| self.settings.has(name));
            command.env("NCCL_SCOREP_LOG", if asks { "warn" } else { "off" });
        }
        Ok(command)
    }
}

/// Runs a child that plays a recording, and returns what it said; others may say the same. `is_good` tells whether it has
/// played the recording to its end.
pub(crate) fn play(
    mut command: Command,
    capture: &Path,
    scratch: &Path,
    bar: &ProgressBar,
    is_good: impl FnOnce(ExitStatus) -> bool,
) -> Result<String, ReplayError> {
    let (on_capture, in_scratch) = (|error| ReplayError::io(capture, error), |error| ReplayError::io(scratch, error));
    // standard error goes to a file: a pipe that is not read meanwhile could fill up and block the child
    let said = tempfile::tempfile_in(scratch).and_then(|file| Ok((file.try_clone()?, file)));
    let (mut said, stderr) = said.map_err(in_scratch)?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
    let mut child = command.spawn().map_err(on_capture)?;
    let failure = follow(&mut child, bar);
    let status = child.wait().map_err(on_capture)?;
    let message = message(&mut said).map_err(in_scratch)?;
    if !is_good(status) {
        return Err(failed(capture, failure, &message, status));
    }
    message.lines().for_each(output::once);
    Ok(message)
}

/// Sets what the library reads in every child that plays a recording.
pub(crate) fn settings(command: &mut Command, summary: &Path, window_seconds: f64, inherited: &Inherited) {
    inherited.give(command);
    command.env("NCCL_SCOREP_SUMMARY", summary);
    command.env("NCCL_SCOREP_TICK_RATE", crate::host::clock::TICKS_PER_SECOND.to_string());
    command.env("NCCL_SCOREP_WINDOW_SECONDS", window_seconds.to_string());
    if !inherited.has("NCCL_SCOREP_SETTLE_SECONDS") {
        // nothing is settled by time: the figures must not depend on how often the collector runs
        command.env("NCCL_SCOREP_SETTLE_SECONDS", "1e6");
    }
    // a replay is no process of the job
    command.env_remove("NCCL_SCOREP_STATUS");
    command.env_remove("SCOREP_METRIC_PLUGINS").env_remove("SCOREP_SUBSTRATE_PLUGINS");
    // recorded callbacks come whatever the plugin asks NCCL for, and no job can hang
    command.env("NCCL_SCOREP_TRUST_NCCL", "on");
}

/// Moves the progress bar by the child's output: first its number of calls, then how many calls are made. Returns the
/// failure, if the child passes one on.
fn follow(child: &mut Child, bar: &ProgressBar) -> Option<ReplayFailure> {
    let (mut before, mut failure) = (None, None);
    for line in BufReader::new(child.stdout.take()?).lines().map_while(Result::ok) {
        match (line.parse::<u64>(), before) {
            (Ok(all), None) => {
                bar.inc_length(all);
                before = Some(0);
            }
            (Ok(made), Some(earlier)) => {
                bar.inc(made.saturating_sub(earlier));
                before = Some(made);
            }
            (Err(_), _) => failure = ReplayFailure::read(&line).or(failure),
        }
    }
    failure
}

/// Returns the error for a failed child: the failure that it has passed on, or how it ended, with what it said.
fn failed(capture: &Path, failure: Option<ReplayFailure>, message: &str, status: ExitStatus) -> ReplayError {
    let message = message.trim_end();
    match failure {
        Some(failure) if status.code() == Some(1) => {
            message.lines().for_each(output::once);
            failure.into()
        }
        _ => ReplayFailure::at(capture, format_args!("the replay process ended with {status}\n{message}")).into(),
    }
}

/// Reads the beginning of a child's standard error.
fn message(said: &mut File) -> io::Result<String> {
    said.rewind()?;
    let mut bytes = Vec::new();
    said.take(MOST_SAID).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ReplayError> {
    let bytes = std::fs::read(path).map_err(|error| ReplayError::io(path, error))?;
    serde_json::from_slice(&bytes).map_err(|error| ReplayError::io(path, error.into()))
}
