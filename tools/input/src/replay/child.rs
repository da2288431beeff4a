//! The child process of a replay: reads one capture, plays it, and writes the trace to the file that the parent names.
//! The library itself writes the summary, to the file that the environment names.

use crate::host::play::{self, PlayOptions, PlayedCapture};
use crate::offspring;
use crate::replay::failure::ReplayFailure;
use present::output;
use recording::{KeptRecording, RecordingSurvey};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Name of the hidden subcommand that starts a child.
pub const COMMAND: &str = "replay-one";

/// Exit status of a child that has played its recording, and whose library could not export figures as asked.
pub(crate) const NOT_EXPORTED: u8 = 3;

/// What a child is told.
#[derive(Debug, clap::Args)]
pub struct ReplayChildArguments {
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

/// Replays one capture. The numbers of calls go to standard output, and the failure behind them.
pub fn run(arguments: &ReplayChildArguments) -> ExitCode {
    offspring::leave_signals_to_parent();
    match replay_one(arguments) {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(NOT_EXPORTED),
        Err(failure) => {
            failure.pass_on();
            ExitCode::FAILURE
        }
    }
}

/// Sets NCCL's variable as the recorded process had it: the library reads it, and must not see this process' own value.
pub(crate) fn play_as_recorded(survey: &RecordingSurvey) {
    let told = if survey.broadcasts { "0" } else { "1" };
    // SAFETY: no other thread runs yet that might read the environment.
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
fn replay_one(arguments: &ReplayChildArguments) -> Result<bool, ReplayFailure> {
    let mut recording = KeptRecording::open(&arguments.capture)?;
    say_skipped(&recording);
    play_as_recorded(&recording.survey);
    tell(recording.survey.calls);
    let plan = PlayOptions {
        trace: arguments.trace.is_some(),
        arrivals: arguments.arrivals.as_deref(),
        operations: None,
        interface: arguments.interface,
        progress: &tell,
    };
    let name = recording::process_name(&arguments.capture);
    let PlayedCapture { trace, exports_failed, .. } = play::play(&mut recording, &name, &plan, &mut |_| {})
        .map_err(|error| ReplayFailure::of_play(&arguments.capture, error))?;
    if let Some(path) = &arguments.trace {
        let text = serde_json::to_vec(&trace).map_err(|error| ReplayFailure::at(path, error))?;
        std::fs::write(path, text).map_err(|error| ReplayFailure::at(path, error))?;
    }
    Ok(exports_failed)
}
