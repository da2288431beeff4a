//! The child process of `scorep-nccl table`: plays one recording, and writes the operations' table of its process.

use super::lines::OperationLines;
use super::rows::OperationRows;
use crate::host::Played;
use crate::host::play::{self, PlayOptions};
use crate::offspring;
use crate::replay::child::{play_as_recorded, say_skipped, tell};
use crate::replay::failure::ReplayFailure;
use crate::replay::hosts;
use common::callbacks;
use common::conditions::{ConditionRow, ConditionSeries};
use common::summary::Summary;
use common::timeline::{OperationKeeper, OperationKey};
use present::output;
use recording::{KeptRecording, Meta};
use report::job::Process;
use report::table::{About, MadeCommunicator, TableWriter};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Name of the hidden subcommand that starts a child.
pub const COMMAND: &str = "table-one";

/// What a child is told.
#[derive(Debug, clap::Args)]
pub struct TableChildArguments {
    /// Where files may be made.
    scratch: PathBuf,
    capture: PathBuf,
    /// File of the library's summary.
    summary: PathBuf,
    /// Dataset that the table is written into.
    dataset: PathBuf,
}

/// Largest number of rows of conditions in a table: half an hour of seconds.
const MAX_CONDITIONS: usize = 2048;

/// Plays one recording. The numbers of calls go to standard output, and the failure behind them.
pub fn run(arguments: &TableChildArguments) -> ExitCode {
    offspring::leave_signals_to_parent();
    match table_one(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.pass_on();
            ExitCode::FAILURE
        }
    }
}

fn table_one(arguments: &TableChildArguments) -> Result<(), ReplayFailure> {
    let TableChildArguments { scratch, capture, summary, dataset } = arguments;
    let in_scratch = |error: io::Error| ReplayFailure::at(scratch, error);
    let mut recording = KeptRecording::open(capture)?;
    say_skipped(&recording);
    play_as_recorded(&recording.survey);
    tell(recording.survey.calls);
    let rows = Arc::new(OperationRows::new(scratch));
    let operations: Arc<dyn OperationKeeper> = rows.clone();
    let plan =
        PlayOptions { trace: false, arrivals: None, operations: Some(operations), interface: None, progress: &tell };
    let name = recording::process_name(capture);
    let mut lines = OperationLines::new(&recording.survey);
    let mut conditions = ConditionSeries::new();
    let mut listen = |played: Played<'_>| match played {
        Played::Call(call, handle) => {
            if let Some(((enqueued, rank, facts), order)) = lines.take(call).zip(callbacks::order(handle)) {
                rows.start(OperationKey { enqueued, rank, order }, facts);
            }
        }
        Played::Conditions(row) => conditions.add(row, MAX_CONDITIONS),
    };
    let played = play::play(&mut recording, &name, &plan, &mut listen);
    let played = played.map_err(|error| ReplayFailure::of_play(capture, error))?;
    let timeline = played.timeline.ok_or_else(|| ReplayFailure::at(scratch, "the operations were not kept"))?;

    let (mut rows, unmatched) = rows.take(scratch).map_err(in_scratch)?;
    let left_out = timeline.left_out;
    let path = capture.display();
    if left_out > 0 {
        output::line(format_args!(
            "{path}: {left_out} operations are not in the table, since the process has too many communicators"
        ));
    }
    if unmatched > 0 {
        output::line(format_args!(
            "{path}: {unmatched} operations have neither count, type, root nor group in the table: the recording has no \
             line of them"
        ));
    }
    let about = about(&recording, lines.into_made(), conditions, summary, left_out)
        .map_err(|cause| ReplayFailure::at(capture, cause))?;
    let mut writer = TableWriter::create(dataset, &about.process.id)?;
    let times = timeline.times();
    while let Some(row) = rows.next().map_err(in_scratch)? {
        if let Some(times) = times.of(&row.kept) {
            writer.push(&row.with_times(times))?;
        }
    }
    writer.finish(&about)?;
    Ok(())
}

/// Returns what the table says of the process, of whose operations `left_out` are not in the table.
fn about(
    recording: &KeptRecording,
    communicators: Vec<MadeCommunicator>,
    conditions: ConditionSeries,
    summary: &Path,
    left_out: u64,
) -> Result<About, String> {
    let read = std::fs::read(summary).map_err(|_| "the library wrote no summary".to_owned())?;
    let summary: Summary = serde_json::from_slice(&read).map_err(|error| error.to_string())?;
    let survey = &recording.survey;
    let Meta { real0, mono0, dropped, origin, .. } = &survey.meta;
    let of_process = summary.processes.first();
    let process = Process {
        id: survey.meta.process(&recording.path),
        file: recording.path.display().to_string(),
        host: hosts::of_recording(&recording.path, &survey.meta),
        boot: origin.boot.clone(),
        pid: u32::try_from(survey.meta.pid).ok(),
        rank: origin.rank,
        ranks: origin.ranks,
        nccl: origin.nccl.clone(),
        real0: *real0,
        mono0: *mono0,
        span: [survey.begin, survey.end].map(|t| mono0.saturating_add(t)),
        // the summary's includes the recording's
        dropped: of_process.map_or(*dropped, |process| process.dropped).saturating_add(left_out),
        unfinished: of_process.map_or(0, |process| process.unfinished),
        invisible: of_process.map_or(0, |process| process.invisible),
        complete: survey.is_complete,
        links: origin.links.clone(),
        nccl_settings: origin.nccl_settings.clone(),
    };
    let on_the_clock = |row: ConditionRow| ConditionRow { until: mono0.saturating_add(row.until), ..row };
    let conditions = conditions.into_rows().into_iter().map(on_the_clock).collect();
    Ok(About { process, communicators, summary: Some(summary), conditions })
}
