//! `scorep-nccl hang` on the command line.

use super::{headline, text};
use crate::diagnosis::diagnose;
use crate::diagnosis::finding::{Diagnosis, HangVerdict};
use crate::statuses::{StatusReading, observe};
use common::origin::now_in_seconds;
use present::output;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// Time between the two readings: longer than that between two writings.
const GAP: Duration = Duration::from_millis(1500);
/// Exit status where something hangs.
const HANGS: u8 = 1;
/// Exit status where the files do not say, as of `diff`.
const TROUBLE: u8 = 2;
/// Most files that are left out and named.
const MAX_NAMED: usize = 3;

/// What a person may say.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 all is well, idle or over; 1 something hangs; 2 the files do not say.")]
pub struct HangArguments {
    /// The job's NCCL_SCOREP_STATUS, as of `run --status DIR`.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Waits up to this many seconds are no hang.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = |text: &str| output::seconds(text, [0.0, 1e9]))]
    after: f64,
    /// Looks again every so many seconds until the job is over, and prints changes.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "10", value_parser = |text: &str| output::seconds(text, [0.0, 1e9]))]
    watch: Option<f64>,
    /// Prints the answer as JSON; with --watch one line for each change.
    #[arg(long)]
    json: bool,
    /// All causes, waits and communicators.
    #[arg(long, short)]
    verbose: bool,
}

/// The answer as JSON.
#[derive(Serialize)]
struct HangAnswer<'a> {
    /// Time of the answer, UTC.
    time: String,
    status: u8,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    left_out: Vec<&'a String>,
}

/// Says what holds a job up. The exit status is 0 where nothing does, 1 where something hangs, and 2 where the files do
/// not say.
pub fn run(arguments: &HangArguments) -> ExitCode {
    let mut said = None;
    loop {
        let reading = match observe(&arguments.directory, GAP) {
            Ok(reading) => reading,
            Err(error) => {
                output::say(format_args!(
                    "{}: {error}: name the job's NCCL_SCOREP_STATUS",
                    arguments.directory.display()
                ));
                return ExitCode::from(TROUBLE);
            }
        };
        let diagnosis = diagnose(&reading.processes, arguments.after);
        let status = status(&diagnosis, &reading);
        let signature = signature(&diagnosis);
        if said.as_ref() != Some(&signature)
            && let Err(message) = say(arguments, &diagnosis, &reading, status)
        {
            output::say(message);
            return ExitCode::from(TROUBLE);
        }
        said = Some(signature);
        match arguments.watch {
            // of processes that are gone, nothing changes any more
            Some(seconds) if !diagnosis.processes.are_gone() => thread::sleep(Duration::from_secs_f64(seconds)),
            _ => return ExitCode::from(status),
        }
    }
}

fn status(diagnosis: &Diagnosis, reading: &StatusReading) -> u8 {
    match diagnosis.verdict {
        HangVerdict::Hang => HANGS,
        HangVerdict::Unknown => TROUBLE,
        // files that cannot be read may be those of the ranks that hang
        _ if !reading.left_out.is_empty() => TROUBLE,
        _ => 0,
    }
}

/// Returns the part of a diagnosis that does not change as time goes by.
fn signature(diagnosis: &Diagnosis) -> String {
    let Diagnosis { verdict, findings, unknown, processes, .. } = diagnosis;
    let causes: Vec<String> = findings.iter().map(|finding| headline::of(&finding.cause)).collect();
    format!("{verdict:?} {causes:?} {unknown:?} {processes:?}")
}

fn say(arguments: &HangArguments, diagnosis: &Diagnosis, reading: &StatusReading, status: u8) -> Result<(), String> {
    let HangArguments { directory, after, watch, json, verbose } = arguments;
    let left_out = &reading.left_out;
    if *json {
        let left_out = left_out.iter().chain(&reading.foreign).collect();
        let answer = HangAnswer { time: now_in_seconds(), status, diagnosis, left_out };
        let text = if watch.is_some() { serde_json::to_string(&answer) } else { serde_json::to_string_pretty(&answer) };
        return output::json(&(text.map_err(|error| error.to_string())? + "\n"));
    }
    let most = if *verbose { usize::MAX } else { MAX_NAMED };
    left_out.iter().take(most).for_each(output::say);
    if let Some(more) = left_out.len().checked_sub(most).filter(|&more| more > 0) {
        output::say(format_args!("{more} further files are left out (--verbose)"));
    }
    reading.foreign.iter().for_each(output::say);
    let mut answer = text::of(diagnosis, directory, *after, *verbose);
    if is_empty(diagnosis) {
        answer += &hint(directory);
    }
    let time = watch.map(|_| format!("{}\n", now_in_seconds())).unwrap_or_default();
    output::text(&format!("{time}{answer}"))
}

fn is_empty(diagnosis: &Diagnosis) -> bool {
    diagnosis.processes.all == 0
}

fn hint(directory: &Path) -> String {
    let place = directory.display();
    format!(
        "  Processes write one once NCCL has called the library, in jobs that are started\n  with `scorep-nccl run --status {place}`.\n"
    )
}
