//! `scorep-nccl demo`: two recorded runs replayed, their figures printed, a trace and a picture left behind.

use crate::replay::{self, ReplayError, Request};
use crate::{capture, picture};
use common::report;
use common::summary::{Summary, Transfers};
use std::fs;
use std::path::{Path, PathBuf};

/// What is shown.
const RUNS: [(&str, &str); 2] = [
    ("net2_collectives", "two ranks, every collective and all-to-all, 4 B to 32 MiB, over sockets"),
    ("nodes2x2_train", "four ranks on two nodes: a transformer in training, tensor and pipeline parallel"),
];
/// Length of a window: the runs last a second or two.
pub(crate) const WINDOW_SECONDS: f64 = 0.1;

/// Where things are.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Directory that holds the recorded runs.
    #[arg(long, default_value = "tests/captures")]
    captures: PathBuf,
    /// Directory for the traces, summaries and the picture.
    #[arg(long, default_value = "scorep-nccl-demo")]
    output: PathBuf,
    /// The shipped library, where it is not beside this program.
    #[arg(long)]
    library: Option<PathBuf>,
}

/// Runs the demonstration.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    println!("This demo replays recorded callbacks of a real NCCL (2.28.9, four H200 GPUs). Stand-ins play NCCL and Score-P;");
    println!("the library they load is the one that is shipped.\n");
    fs::create_dir_all(&arguments.output).map_err(|error| format!("{}: {error}", arguments.output.display()))?;
    let mut drawn = false;
    for (name, text) in RUNS {
        println!("== {name}: {text}\n");
        let source = arguments.captures.join(name);
        if !source.is_dir() {
            let path = source.display();
            return Err(format!("{path}: no such directory; run in the repository's root, or name the runs with --captures"));
        }
        let outcome = replay_run(arguments, name, &source)?;
        print!("{}", report::tables(&outcome.summary));
        if let Some(trace) = &outcome.trace {
            println!("\ntrace:   {} (open it in Vampir, or: otf2-print {0})", trace.display());
        }
        println!("summary: {}", summary_path(arguments, name).display());
        if !drawn && let Some(path) = draw(arguments, &source, &outcome.summary)? {
            println!("picture: {}", path.display());
            drawn = true;
        }
        println!();
    }
    Ok(())
}

fn summary_path(arguments: &Arguments, name: &str) -> PathBuf {
    arguments.output.join(format!("{name}.json"))
}

fn replay_run(arguments: &Arguments, name: &str, source: &Path) -> Result<replay::Outcome, String> {
    let trace = arguments.output.join(format!("{name}.otf2"));
    remove_earlier_trace(&trace)?;
    let request = Request {
        sources: vec![source.into()],
        summary: Some(summary_path(arguments, name)),
        otf2: Some(trace),
        library: arguments.library.clone(),
        window_seconds: WINDOW_SECONDS,
        interface: None,
    };
    replay::replay(&request).map_err(|error: ReplayError| error.to_string())
}

/// An earlier demo's trace makes way; a directory that holds anything else does not.
fn remove_earlier_trace(directory: &Path) -> Result<(), String> {
    if directory.join("traces.otf2").is_file() {
        fs::remove_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    Ok(())
}

/// Draws the pair of ranks whose fit is through the most sizes.
fn draw(arguments: &Arguments, source: &Path, summary: &Summary) -> Result<Option<PathBuf>, String> {
    let fitted = summary.transfers.iter().filter(|pair| pair.latency_us.is_some());
    let Some(pair) = fitted.max_by_key(|pair| pair.sizes) else { return Ok(None) };
    let points = sends(source, summary, pair)?;
    let path = arguments.output.join("fit.svg");
    let title = format!("Transfers from rank {} to rank {} of communicator {}", pair.rank, pair.peer, pair.comm);
    picture::draw(&path, &title, &points, pair.min)?;
    Ok(Some(path))
}

/// The pair's transfers, read from the capture of the sender's process.
fn sends(source: &Path, summary: &Summary, pair: &Transfers) -> Result<Vec<(f64, f64)>, String> {
    let communicator = summary.communicators.iter().find(|communicator| communicator.comm == pair.comm);
    let place = communicator.and_then(|communicator| communicator.ranks.iter().find(|place| place.rank == pair.rank));
    let captures = replay::captures(&[source.into()]).map_err(|error| error.to_string())?;
    let path = place.and_then(|place| captures.get(place.process as usize));
    let comm = u64::from_str_radix(&pair.comm, 16).ok();
    let (Some(path), Some(comm)) = (path, comm) else { return Ok(Vec::new()) };
    let capture = capture::read(path).map_err(|error| error.to_string())?;
    Ok(picture::sends(&capture, comm, pair.peer))
}
