//! `scorep-nccl demo`: replays two recorded runs, prints a table of each, writes traces and summaries, and ends with the
//! report of the run that has a late rank.

mod brought;

use crate::report::command as report_command;
use common::report::{View, operations, transfers};
use common::summary::Summary;
use input::replay::request::WINDOW_SECONDS;
use input::replay::{self, ReplayError, ReplayRequest};
use present::output;
use std::fs;
use std::path::{Path, PathBuf};

/// A recorded run.
struct DemoRun {
    name: &'static str,
    /// Directory below `tests`.
    directory: &'static str,
    text: &'static str,
    /// Writes the table that shows what the run is for.
    table: fn(&Summary, &View) -> String,
}

const RUNS: [DemoRun; 2] = [
    DemoRun {
        name: "net2_collectives",
        directory: "captures/net2_collectives",
        text: "two ranks, every collective and all-to-all, 4 B to 32 MiB, over sockets",
        table: transfers,
    },
    LATE,
];
/// The run that has a report. `tests/planted/real.rs` has the measured step without the sleep.
const LATE: DemoRun = DemoRun {
    name: "late_rank",
    directory: "planted/real/late_rank",
    text: "four data-parallel ranks; before each step, the host of rank 2 sleeps",
    table: operations,
};

/// Where things are.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArguments {
    /// Directory for the traces, summaries and the page.
    #[arg(long, default_value = "scorep-nccl-demo")]
    output: PathBuf,
}

/// Runs the demo.
///
/// # Errors
/// In words.
pub(crate) fn run(arguments: &DemoArguments) -> Result<(), String> {
    output::write(
        "This demo replays recorded callbacks of a real NCCL (2.28.9). This program plays\n\
         NCCL and Score-P.\n\n",
    )?;
    common::files::make(&arguments.output).map_err(|error| format!("{}: {error}", arguments.output.display()))?;
    let brought = brought::unpack()?;
    for run in RUNS {
        output::write(format!("== {}: {}\n\n", run.name, run.text))?;
        let trace = arguments.output.join(format!("{}.otf2", run.name));
        let summary = arguments.output.join(format!("{}.json", run.name));
        remove_earlier_trace(&trace)?;
        let request = ReplayRequest {
            sources: vec![brought.path().join(run.directory)],
            summary: Some(summary.clone()),
            otf2: Some(trace),
            window_seconds: WINDOW_SECONDS,
            ..ReplayRequest::default()
        };
        let outcome = replay::replay(&request).map_err(|error: ReplayError| error.to_string())?;
        outcome.left_out.first().map_or(Ok(()), |error| Err(error.to_string()))?;
        let table = (run.table)(&outcome.summary, &View { width: output::width(), ..View::default() });
        let mut text = format!("{}\n\n", table.trim_end());
        if let Some(trace) = &outcome.trace {
            text += &format!("trace:   {} (for Vampir or otf2-print)\n", trace.display());
        }
        output::text(&format!("{text}summary: {}\n\n", summary.display()))?;
    }
    output::write(format!("== {}: the report (without the sleep, a step of this job took 9.19 ms)\n\n", LATE.name))?;
    let page = arguments.output.join("report.html");
    report_command::with_page(brought.path().join(LATE.directory), page.clone())?;
    output::text(&format!("\nreport:  {} (open it in a browser; docs/report.md explains it)\n", page.display()))
}

/// Removes the trace of an earlier demo; a directory with any other contents stays.
fn remove_earlier_trace(directory: &Path) -> Result<(), String> {
    if directory.join("traces.otf2").is_file() {
        fs::remove_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    Ok(())
}
