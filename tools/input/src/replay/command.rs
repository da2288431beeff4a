//! `scorep-nccl replay` on the command line: its arguments, and what it prints.

use super::request::WINDOW_SECONDS;
use super::{ReplayRequest, captures, replay, to_json};
use crate::sequence::{self, WantedOperation};
use common::report::{self, PairOrder, ROWS, View};
use nccl_plugin::replayed::{NEWEST, OLDEST};
use present::output::{self, apart, format::Format, place};
use std::path::{Path, PathBuf};

/// What a person may say.
#[derive(Debug, clap::Args)]
pub struct ReplayArguments {
    /// Captures (*.jsonl.gz), or directories of them; one process each, in the order of their names.
    #[arg(required = true, value_name = "DIR|FILE")]
    sources: Vec<PathBuf>,
    /// Writes the summary to this file, as JSON; - prints it in place of the tables.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Writes an OTF2 archive of all processes into this directory, which must be missing or empty.
    #[arg(long, value_name = "DIR")]
    otf2: Option<PathBuf>,
    /// Sends the figures of each process to this OTLP endpoint, over HTTP.
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// Adds how late ranks arrive at their collectives to the summary.
    #[arg(long)]
    lateness: bool,
    /// What is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Rows of each table.
    #[arg(long, value_name = "N", default_value_t = ROWS, value_parser = clap::value_parser!(u64).range(1..))]
    top: u64,
    /// What the table of rank pairs is sorted by: bytes and transfers, most first; latency, longest first; fit, typical
    /// and sustained rate, slowest first; or ranks. Without it by ranks, where the table has room for all, else by
    /// bytes.
    #[arg(long, value_enum)]
    sort: Option<Sort>,
    /// Length of a window in the capture's time, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = WINDOW_SECONDS, value_parser = seconds)]
    window: f64,
    /// Version of NCCL's interface to speak, 1 to 7; what it cannot say is not told. Without it, the captures'
    /// own.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(i64::from(OLDEST)..=i64::from(NEWEST)))]
    interface: Option<u32>,
    /// Replays nothing, and prints the callbacks of one operation as a sequence diagram, of one recording: a function
    /// and NCCL's sequence number (AllReduce:3), a send, receive or group and its place (Send:0, Group:2), or the h of a
    /// callback.
    #[arg(long, value_name = "OPERATION", conflicts_with_all = ["summary", "otf2", "otlp", "lateness", "sort", "interface"])]
    sequence: Option<WantedOperation>,
    /// Draws the sequence diagram into this file, as SVG.
    #[arg(long, value_name = "FILE", requires = "sequence")]
    drawing: Option<PathBuf>,
}

/// Parses a positive number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0);
    seconds.ok_or_else(|| "not a positive number of seconds".into())
}

/// What the rank pairs are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Sort {
    /// Most first.
    Bytes,
    /// Most first.
    Transfers,
    /// Slowest first.
    Sustained,
    /// Slowest first.
    Typical,
    /// Slowest first.
    Fit,
    /// Longest first.
    Latency,
    /// By communicator, sender and receiver.
    Ranks,
}

impl From<Sort> for PairOrder {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Bytes => Self::Bytes,
            Sort::Transfers => Self::Transfers,
            Sort::Sustained => Self::Sustained,
            Sort::Typical => Self::Typical,
            Sort::Fit => Self::Fit,
            Sort::Latency => Self::Latency,
            Sort::Ranks => Self::Ranks,
        }
    }
}

/// Prints the sequence diagram of an operation.
fn sequence_of(wanted: &WantedOperation, sources: &[PathBuf], drawing: Option<&Path>) -> Result<(), String> {
    let (recordings, missing) = captures::of(sources);
    if let Some(error) = missing.first() {
        return Err(error.to_string());
    }
    let [recording] = recordings.as_slice() else {
        return Err(format!("--sequence is of one process, and there are {} recordings: name one", recordings.len()));
    };
    apart::check(drawing.iter().map(|path| apart::Output::File(path)), [recording.clone()])
        .map_err(|error| error.to_string())?;
    if let Some(path) = drawing {
        place::prepare(path).map_err(|error| error.to_string())?;
    }
    output::text(&sequence::draw(recording, wanted, drawing)?)
}

/// Replays the captures and prints the figures.
///
/// # Errors
/// In words. An error also comes after the figures, where they lack captures or were not sent.
pub fn run(arguments: ReplayArguments) -> Result<(), String> {
    if let Some(wanted) = &arguments.sequence {
        return sequence_of(wanted, &arguments.sources, arguments.drawing.as_deref());
    }
    let ReplayArguments { sources, summary, otf2, otlp, lateness, mut format, top, sort, window, interface, .. } =
        arguments;
    let printed = summary.as_deref() == Some(Path::new("-"));
    if printed {
        format = Format::Json;
    }
    let summary = summary.filter(|_| !printed);
    place::check_apart(&[("--summary", summary.as_deref()), ("--otf2", otf2.as_deref())])?;
    let request = ReplayRequest { sources, summary, otf2, otlp, lateness, window_seconds: window, interface };
    let outcome = replay(&request).map_err(|error| error.to_string())?;
    // before the tables, which are long
    outcome.left_out.iter().for_each(output::say);
    let (left_out, asked) = (outcome.left_out.len(), outcome.asked);
    match format {
        Format::Table => {
            let view = View {
                width: output::width(),
                rows: usize::try_from(top).unwrap_or(usize::MAX),
                order: sort.map(PairOrder::from),
            };
            let mut text = String::new();
            if left_out > 0 {
                text += &format!(
                    "{} of {asked} recordings: the others are left out, since they could not be replayed\n\n",
                    asked - left_out
                );
            }
            match outcome.jobs.as_slice() {
                [] => text += &report::view(&outcome.summary, &view),
                jobs => text += &report::view_of_jobs(jobs, &view),
            }
            if let Some(trace) = outcome.trace {
                text += &format!("\ntrace: {}\n", trace.display());
                outcome.trace_lacks.iter().for_each(|remark| text += &format!("note: {remark}\n"));
            }
            output::text(&text)?;
        }
        Format::Json => output::json(&to_json(&outcome.summary).map_err(|error| error.to_string())?)?,
    }
    outcome.lacking.iter().for_each(output::say);
    // the figures are printed; a caller that needs all captures, or the sending, must still see an error
    match (left_out, outcome.sent) {
        (0, true) => Ok(()),
        (0, false) => Err("not all figures were sent: the library's warnings say why (NCCL_SCOREP_LOG=warn)".into()),
        _ => Err(format!("{left_out} of {asked} recordings were not replayed, as said above")),
    }
}
