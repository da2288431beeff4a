//! The command-line tool of scorep-nccl.

mod bench;
mod capture;
mod child;
mod demo;
mod doctor;
mod host;
mod lateness;
mod launch;
mod library;
mod loader;
mod nccl_files;
pub mod otf2;
mod output;
mod pages;
mod picture;
mod probe;
mod recordings;
mod replay;
pub mod trace;

use clap::{Parser, Subcommand, ValueEnum};
use common::report;
use std::path::PathBuf;
use std::process::ExitCode;

/// NCCL's communication in Score-P measurements: transfer rate, latency and collective time.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Prints what a job needs in its environment, for `eval`, or lists all settings.
    Env(launch::env::Arguments),
    /// Starts a command in the environment that a measurement needs.
    Run(launch::run::Arguments),
    /// Looks at what goes wrong in practice, and says how to mend it.
    Doctor(doctor::Arguments),
    /// Replays recorded NCCL callbacks through the plugin, with stand-ins for NCCL and Score-P.
    Replay(Replay),
    /// Replays two recorded runs, prints their figures, and leaves a trace and a picture.
    Demo(demo::Arguments),
    /// Measures what a profiler plugin costs, beside an empty one and the least that recording can cost.
    Bench(bench::Arguments),
    #[command(name = bench::measure::COMMAND, hide = true)]
    BenchOne(bench::measure::Arguments),
    #[command(name = nccl_files::COMMAND, hide = true)]
    ReleaseOf(nccl_files::Arguments),
    #[command(name = loader::COMMAND, hide = true)]
    WhatIs(loader::Arguments),
    #[command(name = child::COMMAND, hide = true)]
    ReplayOne(child::Arguments),
    #[command(name = pages::COMMAND, hide = true)]
    Pages(pages::Arguments),
}

/// Versions that a replay can speak, as clap wants them.
const INTERFACES: std::ops::RangeInclusive<i64> = host::table::OLDEST as i64..=host::table::NEWEST as i64;

#[derive(Debug, clap::Args)]
struct Replay {
    /// Captures (*.jsonl.gz), or directories of them; one process each, in the order of their names.
    #[arg(required = true, value_name = "DIR|FILE")]
    sources: Vec<PathBuf>,
    /// Writes the summary to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Writes an OTF2 archive of all processes into this directory, which must be missing or empty.
    #[arg(long, value_name = "DIR")]
    otf2: Option<PathBuf>,
    /// Sends the figures of each process to this OTLP endpoint, over HTTP; needs a library built with OpenTelemetry.
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// Adds how late ranks arrive at their collectives to the summary; the captures must be of one machine.
    #[arg(long)]
    lateness: bool,
    /// What is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Length of a window in the capture's time, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = demo::WINDOW_SECONDS, value_parser = seconds)]
    window: f64,
    /// Version of NCCL's interface to speak, 1 to 7; what it cannot say is not told. Without it, the newest that the library
    /// has, at most the captures' own.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(INTERFACES))]
    interface: Option<u32>,
    /// The shipped library, where it is not beside this program.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

/// A positive number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0);
    seconds.ok_or_else(|| "not a positive number of seconds".into())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables for a person.
    Table,
    /// The summary.
    Json,
}

fn main() -> ExitCode {
    // a reader that has seen enough (head) ends this program quietly, as it does any other
    // SAFETY: no other thread runs yet.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let done = |result: Result<(), String>| result.map(|()| ExitCode::SUCCESS);
    let ended = match Arguments::parse().command {
        Command::ReplayOne(arguments) => return child::run(&arguments),
        Command::BenchOne(arguments) => return bench::measure::run(&arguments),
        Command::WhatIs(arguments) => return loader::run(&arguments),
        Command::ReleaseOf(arguments) => return nccl_files::run(&arguments),
        Command::Run(arguments) => launch::run::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Env(arguments) => done(launch::env::run(&arguments)),
        Command::Bench(arguments) => done(bench::run(&arguments)),
        Command::Replay(arguments) => done(replay(arguments)),
        Command::Demo(arguments) => done(demo::run(&arguments)),
        Command::Pages(arguments) => done(pages::run(&arguments)),
    };
    match ended {
        Ok(status) => status,
        Err(message) => {
            eprintln!("scorep-nccl: {message}");
            ExitCode::FAILURE
        }
    }
}

fn replay(arguments: Replay) -> Result<(), String> {
    let Replay { sources, summary, otf2, otlp, lateness, format, window, interface, library } = arguments;
    let request = replay::Request { sources, summary, otf2, otlp, lateness, library, window_seconds: window, interface };
    let outcome = replay::replay(&request).map_err(|error| error.to_string())?;
    match format {
        Format::Table => {
            match outcome.jobs.as_slice() {
                [] => print!("{}", report::tables(&outcome.summary)),
                jobs => print!("{}", report::tables_of_jobs(jobs)),
            }
            if let Some(trace) = outcome.trace {
                println!("\ntrace: {}", trace.display());
            }
        }
        Format::Json => print!("{}", replay::to_json(&outcome.summary).map_err(|error| error.to_string())?),
    }
    if let Some(lacking) = outcome.lacking {
        eprintln!("scorep-nccl: {lacking}");
    }
    // the figures are there; who has them sent wants to know that they were not
    if outcome.sent { Ok(()) } else { Err("not all figures were sent, as said above".into()) }
}
