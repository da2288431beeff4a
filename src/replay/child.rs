//! The child process of a replay: reads one capture, plays it, and writes the trace to the file that the parent names.
//! The library itself writes the summary, to the file that the environment names.

use crate::capture::{self, CaptureSurvey, KeptRecording};
use crate::host::HostError;
use crate::host::play::{self, PlayOptions, PlayedCapture};
use crate::{offspring, output};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Name of the hidden subcommand that starts a child.
pub(crate) const COMMAND: &str = "replay-one";

/// Exit status of a child that has played its recording, and whose library could not export figures as asked.
pub(crate) const NOT_EXPORTED: u8 = 3;

/// What a child is told.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayChildArguments {
    library: PathBuf,
    capture: PathBuf,
    /// File for the trace, as JSON.
    trace: Option<PathBuf>,
    /// File for when ranks began their collectives.
    #[arg(long)]
    arrivals: Option<PathBuf>,
    /// Version of NCCL's interface to speak.
    #[arg(long)]
    interface: Option<u32>,
}

/// Replays one capture. Errors go to standard error, the numbers of calls to standard output.
pub(crate) fn run(arguments: &ReplayChildArguments) -> ExitCode {
    offspring::leave_signals_to_parent();
    match replay_one(arguments) {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(NOT_EXPORTED),
        Err(message) => {
            output::line(message);
            ExitCode::FAILURE
        }
    }
}

/// Sets NCCL's variable as the recorded process had it: the library reads it, and must not see this process' own value.
pub(crate) fn play_as_recorded(survey: &CaptureSurvey) {
    let told = if survey.broadcasts { "0" } else { "1" };
    // SAFETY: no other thread runs yet, and no library has been loaded that might read the environment.
    unsafe { std::env::set_var("NCCL_ALLGATHERV_ENABLE", told) };
}

/// Names the lines that were skipped.
pub(crate) fn say_skipped(recording: &KeptRecording) {
    if let (count, Some((cb, line))) = (recording.survey.skipped.count, &recording.survey.skipped.first) {
        let path = recording.path.display();
        output::line(format_args!(
            "{path}:{line}: \"{cb}\" is not known to this version; lines of such kinds that were skipped: {count}"
        ));
    }
}

/// Gives the parent a number of calls: first of all calls, then of those that are made.
pub(crate) fn tell(number: usize) {
    // the parent may have stopped reading
    let _ = writeln!(std::io::stdout(), "{number}");
}

/// Returns whether the library could not export figures as asked.
fn replay_one(arguments: &ReplayChildArguments) -> Result<bool, String> {
    let at = |path: &PathBuf, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut recording = KeptRecording::open(&arguments.capture).map_err(|error| error.to_string())?;
    say_skipped(&recording);
    play_as_recorded(&recording.survey);
    tell(recording.survey.calls);
    let plan = PlayOptions {
        library: &arguments.library,
        trace: arguments.trace.is_some(),
        arrivals: arguments.arrivals.as_deref(),
        operations: None,
        interface: arguments.interface,
        progress: &tell,
    };
    let name = capture::process_name(&arguments.capture);
    let PlayedCapture { trace, exports_failed } =
        play::play(&mut recording, &name, &plan).map_err(|error| match error {
            HostError::Capture(error) => error.to_string(),
            error => at(&arguments.capture, &error),
        })?;
    if let Some(path) = &arguments.trace {
        let text = serde_json::to_vec(&trace).map_err(|error| at(path, &error))?;
        std::fs::write(path, text).map_err(|error| at(path, &error))?;
    }
    Ok(exports_failed)
}
