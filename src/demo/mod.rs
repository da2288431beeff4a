//! `scorep-nccl demo`: replays two recorded runs, prints their figures, writes traces and two pictures, and ends with
//! the report of one of them.

mod brought;

use crate::capture::{self, Capture};
use crate::output;
use crate::output::scratch::Scratch;
use crate::picture::timeline::{ProcessRows, Timeline};
use crate::picture::{fit, recorded, rows, timeline};
use crate::replay::request::WINDOW_SECONDS;
use crate::replay::{self, ReplayError, ReplayRequest};
use crate::report::command as report_command;
use common::report::{self, View};
use common::run_sums::TransferKey;
use common::summary::{Summary, Transfers};
use std::fs;
use std::path::{Path, PathBuf};

/// The recorded runs, each with a description.
const RUNS: [(&str, &str); 2] = [
    ("net2_collectives", "two ranks, every collective and all-to-all, 4 B to 32 MiB, over sockets"),
    (TIMELINE_RUN, "four ranks on two nodes: a transformer in training, tensor and pipeline parallel"),
];
/// The run whose timeline is drawn, and the drawn range, nanoseconds after its first callback: one step of the
/// training.
const TIMELINE_RUN: &str = "nodes2x2_train";
const SHOWN: std::ops::Range<u64> = 1_131_500_000..1_160_000_000;

/// Where things are.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArguments {
    /// Directory that holds the recorded runs. Without it, those that this program brings.
    #[arg(long)]
    captures: Option<PathBuf>,
    /// Directory for the traces, summaries and pictures.
    #[arg(long, default_value = "scorep-nccl-demo")]
    output: PathBuf,
    /// The shipped library, where it is not beside this program.
    #[arg(long)]
    library: Option<PathBuf>,
}

/// Runs the demo.
///
/// # Errors
/// In words.
pub(crate) fn run(arguments: &DemoArguments) -> Result<(), String> {
    output::write(
        "This demo replays recorded callbacks of a real NCCL (2.28.9, four H200 GPUs). Stand-ins play NCCL and Score-P;\n\
         the library they load is the one that is shipped.\n\n",
    )?;
    common::files::make(&arguments.output).map_err(|error| format!("{}: {error}", arguments.output.display()))?;
    let brought = arguments.captures.is_none().then(brought::unpack).transpose()?;
    let captures = arguments.captures.as_deref().or(brought.as_ref().map(Scratch::path)).unwrap_or(Path::new("."));
    let mut drawn = false;
    for (name, text) in RUNS {
        output::write(format!("== {name}: {text}\n\n"))?;
        let source = captures.join(name);
        if !source.is_dir() {
            return Err(format!(
                "{}: no such directory; leave --captures out for the runs that this program brings",
                source.display()
            ));
        }
        let outcome = replay_run(arguments, name, &source)?;
        let view = View { width: output::width(), ..View::default() };
        let mut text = report::view(&outcome.summary, &view);
        if let Some(trace) = &outcome.trace {
            text += &format!("\ntrace:   {} (open it in Vampir, or: otf2-print {0})\n", trace.display());
        }
        text += &format!("summary: {}\n", summary_path(arguments, name).display());
        if !drawn && let Some(path) = draw(arguments, &source, &outcome.summary)? {
            text += &format!("picture: {}\n", path.display());
            drawn = true;
        }
        if name == TIMELINE_RUN {
            text += &format!("picture: {}\n", draw_timeline(arguments, &source)?.display());
        }
        output::text(&(text + "\n"))?;
    }
    output::write(format!("== {TIMELINE_RUN}: the report\n\n"))?;
    let page = arguments.output.join("report.html");
    report_command::with_page(captures.join(TIMELINE_RUN), page.clone(), arguments.library.clone())?;
    output::text(&format!("\nreport:  {} (open it in a browser; docs/report.md explains it)\n", page.display()))
}

fn summary_path(arguments: &DemoArguments, name: &str) -> PathBuf {
    arguments.output.join(format!("{name}.json"))
}

fn replay_run(arguments: &DemoArguments, name: &str, source: &Path) -> Result<replay::ReplayOutcome, String> {
    let trace = arguments.output.join(format!("{name}.otf2"));
    remove_earlier_trace(&trace)?;
    let request = ReplayRequest {
        sources: vec![source.into()],
        summary: Some(summary_path(arguments, name)),
        otf2: Some(trace),
        otlp: None,
        lateness: false,
        library: arguments.library.clone(),
        window_seconds: WINDOW_SECONDS,
        interface: None,
    };
    let outcome = replay::replay(&request).map_err(|error: ReplayError| error.to_string())?;
    outcome.left_out.first().map_or(Ok(()), |error| Err(error.to_string()))?;
    Ok(outcome)
}

/// Removes the trace of an earlier demo; a directory with any other contents stays.
fn remove_earlier_trace(directory: &Path) -> Result<(), String> {
    if directory.join("traces.otf2").is_file() {
        fs::remove_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    Ok(())
}

/// Draws the fit of the rank pair with the most sizes.
fn draw(arguments: &DemoArguments, source: &Path, summary: &Summary) -> Result<Option<PathBuf>, String> {
    let fitted = summary.transfers.iter().filter(|pair| pair.fit.is_some());
    let Some(pair) = fitted.max_by_key(|pair| pair.sizes) else { return Ok(None) };
    let transfers = sends(source, summary, pair)?;
    let path = arguments.output.join("fit.svg");
    let title = format!("Transfers from rank {} to rank {} of communicator {}", pair.rank, pair.peer, pair.comm);
    fit::draw(&path, &title, &transfers, pair.fit)?;
    Ok(Some(path))
}

/// Reads the pair's transfers from the capture of the sender's process.
fn sends(source: &Path, summary: &Summary, pair: &Transfers) -> Result<Vec<TransferKey>, String> {
    let communicator = summary.communicators.iter().find(|communicator| communicator.comm == pair.comm);
    let place = communicator.and_then(|communicator| communicator.ranks.iter().find(|place| place.rank == pair.rank));
    let captures = captures(source)?;
    let comm = u64::from_str_radix(&pair.comm, 16).ok();
    let capture = place.and_then(|place| captures.get(place.process as usize));
    let (Some(capture), Some(comm)) = (capture, comm) else { return Ok(Vec::new()) };
    let transfers = recorded::transfers(capture);
    let sender = recorded::PictureRank { comm, rank: pair.rank };
    let of_pair = transfers.iter().filter(|transfer| transfer.of == sender && transfer.peer == pair.peer);
    Ok(of_pair
        .map(|&recorded::PictureTransfer { peer, channel, bytes, start, stop, .. }| TransferKey {
            peer,
            channel,
            bytes,
            start,
            stop,
        })
        .collect())
}

/// Draws a part of a run as rows of regions.
fn draw_timeline(arguments: &DemoArguments, source: &Path) -> Result<PathBuf, String> {
    let captures = captures(source)?;
    let times = captures.iter().flat_map(|capture| capture.lines.iter().map(|call| recorded::time(capture, call)));
    let zero = times.min().unwrap_or(0);
    let group = |capture: &Capture| ProcessRows {
        name: format!("process {}", capture::process_name(&capture.path)),
        rows: rows::of_process(&recorded::operations(capture), &recorded::transfers(capture)),
    };
    let groups: Vec<ProcessRows> = captures.iter().map(group).collect();
    let shown = zero + SHOWN.start..zero + SHOWN.end;
    let title = "One step of a training on two nodes of two GPUs: tensor parallel inside a node, pipeline parallel between them";
    let path = arguments.output.join("timeline.svg");
    timeline::draw(&path, &Timeline { title, groups: &groups, zero, shown })?;
    Ok(path)
}

/// Reads a run's captures in the order of ranks.
fn captures(source: &Path) -> Result<Vec<Capture>, String> {
    let paths = replay::captures::of_one(source).map_err(|error| error.to_string())?;
    paths.iter().map(|path| capture::read(path).map_err(|error| error.to_string())).collect()
}
