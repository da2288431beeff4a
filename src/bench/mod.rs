//! `scorep-nccl bench`: measures the cost of a profiler plugin, beside an empty plugin and the least cost of recording.
//!
//! Each measurement is a process of its own. Rounds go through all plugins in turn, so that other load of the machine
//! hits all plugins alike.

mod drive;
mod floor;
pub(crate) mod measure;
mod process;
mod row;
mod script;
mod table;
mod template;

use crate::host::table::INTERFACES;
use crate::inherited::Inherited;
use crate::installed::library;
use crate::offspring;
use crate::output::{self, format::Format, scratch::Scratch};
use common::summary::Summary;
use measure::{EMPTY, LIMIT, Measured, RecordedCounts};
use row::BenchRow;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Captures that are played where none is named, relative to the repository's root: a training, a pipeline over the
/// network, and the GPUs of one node.
const CAPTURES: [&str; 3] = [
    "tests/captures/nodes2x2_train/train.r0.jsonl.gz",
    "tests/captures/nodes4x1_pipeline/pipeline.r1.jsonl.gz",
    "tests/captures/nvlink4_single/single.r0.jsonl.gz",
];

/// What is to be measured.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArguments {
    /// Captures (*.jsonl.gz) whose calls are made; without, three of the repository's, in whose root this runs then.
    #[arg(value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    /// A profiler plugin to measure besides, scorep-nccl's or another: a library that exports ncclProfiler_v1 to _v7.
    /// May be given more than once.
    #[arg(long = "plugin", value_name = "FILE")]
    plugins: Vec<PathBuf>,
    /// The shipped library, where it is not beside this program.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Threads that make the calls of the capture, each all of them, in the same communicators.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=256))]
    threads: u64,
    /// Copies of the capture's communicators, in which the calls are made in turn.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1024))]
    communicators: u64,
    /// Times that all calls are made.
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..))]
    repeat: u64,
    /// Measurements of each; the fastest and the one in the middle are shown.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    rounds: u64,
    /// Version of NCCL's interface to speak, 1 to 7. Without it, the newest that the plugin has; an older one's calls
    /// are others, and not compared with the limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(INTERFACES))]
    interface: Option<u32>,
    /// What is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Measures all plugins with all captures and prints the results.
///
/// # Errors
/// In words.
pub(crate) fn run(arguments: &BenchArguments) -> Result<(), String> {
    let captures = match arguments.captures.as_slice() {
        [] => CAPTURES.map(PathBuf::from).into(),
        named => named.to_vec(),
    };
    if let (true, Some(missing)) = (arguments.captures.is_empty(), captures.iter().find(|path| !path.is_file())) {
        return Err(format!("{}: no such file; run in the repository's root, or name a capture", missing.display()));
    }
    let ours = library::find(arguments.library.as_deref()).map_err(|error| error.to_string())?;
    let mut plugins = vec![EMPTY.to_owned(), LIMIT.to_owned(), ours.display().to_string()];
    // dlopen would look for a name without a directory elsewhere
    let plain = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string();
    plugins.extend(arguments.plugins.iter().map(plain));
    let settings = Inherited::read();
    let mut rows = Vec::new();
    for capture in &captures {
        rows.extend(measure_all(arguments, &settings, capture, &plugins)?);
    }
    match arguments.format {
        Format::Table => output::text(&table::of(&rows, output::width())),
        Format::Json => output::json(&(serde_json::to_string_pretty(&rows).map_err(|error| error.to_string())? + "\n")),
    }
}

/// Returns a capture's rows: empty, limit, and the plugins.
fn measure_all(
    arguments: &BenchArguments,
    settings: &Inherited,
    capture: &Path,
    plugins: &[String],
) -> Result<Vec<BenchRow>, String> {
    let mut rounds: Vec<Vec<Measured>> = vec![Vec::new(); plugins.len()];
    for _ in 0..arguments.rounds {
        for (plugin, rounds) in plugins.iter().zip(&mut rounds) {
            rounds.push(measure_one(arguments, settings, capture, plugin, false)?);
        }
    }
    let times = |rounds: &[Measured]| {
        let mut times: Vec<f64> = rounds.iter().map(|measured| measured.ns_per_call).collect();
        times.sort_by(f64::total_cmp);
        [times.first(), times.get(times.len() / 2)].map(|time| time.copied().unwrap_or(f64::NAN))
    };
    let [empty, limit] = [0, 1].map(|place| rounds.get(place).map_or(f64::NAN, |rounds| times(rounds)[0]));
    let spoken = |rounds: &[Measured]| rounds.first().map(|measured| measured.interface);
    let limits = rounds.first().and_then(|rounds| spoken(rounds));
    let row = |(plugin, rounds): (&String, Vec<Measured>)| {
        let [fastest_ns, median_ns] = times(&rounds);
        let is_comparable = spoken(&rounds) == limits;
        Ok(BenchRow {
            capture: crate::capture::process_name(capture),
            plugin: plugin.clone(),
            fastest_ns,
            median_ns,
            times_limit: is_comparable.then_some(fastest_ns / limit),
            above_empty_ns: is_comparable.then_some(fastest_ns - empty),
            rounds,
            timed: measure_one(arguments, settings, capture, plugin, true)?,
        })
    };
    plugins.iter().zip(rounds).map(row).collect()
}

fn measure_one(
    arguments: &BenchArguments,
    settings: &Inherited,
    capture: &Path,
    plugin: &str,
    latency: bool,
) -> Result<Measured, String> {
    let mut command = offspring::of_own(measure::COMMAND).map_err(|error| error.to_string())?;
    command.arg(plugin).arg(capture);
    for (name, number) in
        [("--threads", arguments.threads), ("--communicators", arguments.communicators), ("--repeat", arguments.repeat)]
    {
        command.arg(name).arg(number.to_string());
    }
    if let Some(interface) = arguments.interface {
        command.arg("--interface").arg(interface.to_string());
    }
    if latency {
        command.arg("--latency");
    }
    settings.give(&mut command);
    if !settings.has("NCCL_SCOREP_PRESET") {
        command.env("NCCL_SCOREP_PRESET", "full");
    }
    // the calls come whatever the plugin asks NCCL for, and no job can hang
    command.env("NCCL_SCOREP_TRUST_NCCL", "on");
    let scratch = Scratch::new().map_err(|error| error.to_string())?;
    let summary = scratch.path().join("summary.json");
    command.env("NCCL_SCOREP_SUMMARY", &summary);
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{plugin} with {}: the process ended with {}\n{said}", capture.display(), output.status));
    }
    // a plugin may print lines of its own before the results
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    let measured: Measured = serde_json::from_str(last).map_err(|error| format!("{plugin}: {error}"))?;
    Ok(Measured { recorded: recorded(&summary), ..measured })
}

/// Reads the library's own counts from its summary; other plugins write none.
fn recorded(summary: &Path) -> Option<RecordedCounts> {
    let summary: Summary = serde_json::from_slice(&std::fs::read(summary).ok()?).ok()?;
    let process = summary.processes.first()?;
    Some(RecordedCounts { callbacks: process.callbacks, events: process.events, dropped: process.dropped })
}
