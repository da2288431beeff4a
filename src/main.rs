//! The command-line tool of scorep-nccl.

#![cfg_attr(
    not(test),
    deny(clippy::print_stdout, clippy::print_stderr, reason = "they panic where nothing can be written")
)]

mod archive;
mod ask;
mod communication;
mod demo;
mod diagnosis;
mod doctor;
mod gone;
mod gpus;
mod hang;
mod host;
mod inherited;
mod installed;
mod kernels;
mod launch;
mod natural;
mod offspring;
pub mod otf2;
mod output;
mod pages;
mod replay;
mod report;
mod sequence;
mod statuses;
mod table;
pub mod trace;
mod watch;

use clap::{CommandFactory, Parser, Subcommand};
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
    Env(launch::env::EnvArguments),
    /// Starts a command in the environment that a measurement needs.
    Run(launch::run::RunArguments),
    /// Looks at what goes wrong in practice, and says how to mend it.
    Doctor(doctor::DoctorArguments),
    /// Says what holds a job up: who has not entered which operation, who is dead or stopped, which link stands.
    Hang(hang::command::HangArguments),
    /// Watches a job: says when a rank, node or link begins to stand out, and when the job hangs.
    Watch(watch::command::WatchArguments),
    /// Asks the running processes of a job for other event types, for their summaries or their stacks.
    Ask(ask::AskArguments),
    /// Shows clocks, power, use and errors of this node's GPUs, and the bytes over NVLink, PCIe and network adapters.
    #[command(alias = "nvlink")]
    Gpus(gpus::command::GpusArguments),
    /// Replays recorded NCCL callbacks through the plugin, with stand-ins for NCCL and Score-P.
    Replay(replay::command::ReplayArguments),
    /// Answers which rank is late, what communication costs a step, and whether the network is as fast as it should be.
    Report(report::command::ReportArguments),
    /// Compares two runs: what takes longer, and what less.
    Compare(report::compare::CompareArguments),
    /// Writes the operations of recordings as tables: a Parquet file for each process.
    Table(table::command::TableArguments),
    /// Copies a Score-P experiment, with NCCL's communicators, messages and collectives in its trace.
    Trace(communication::command::CommunicationArguments),
    /// Replays two recorded runs, and answers the three questions of the report for one with a late rank.
    Demo(demo::DemoArguments),
    #[command(name = installed::nccl_files::COMMAND, hide = true)]
    ReleaseOf(installed::nccl_files::VersionArguments),
    #[command(name = installed::loader::COMMAND, hide = true)]
    WhatIs(installed::loader::LoaderArguments),
    #[command(name = replay::child::COMMAND, hide = true)]
    ReplayOne(replay::child::ReplayChildArguments),
    #[command(name = table::child::COMMAND, hide = true)]
    TableOne(table::child::TableChildArguments),
    #[command(name = communication::CHILD, hide = true)]
    TraceOne(communication::child::CommunicationChildArguments),
    #[command(name = report::archives::CHILD, hide = true)]
    ArchiveOne(report::archive_child::ArchiveChildArguments),
    #[command(name = report::tables_child::COMMAND, hide = true)]
    ReadTables(report::tables_child::TablesChildArguments),
    #[command(name = pages::COMMAND, hide = true)]
    Pages(pages::PagesArguments),
}

fn main() -> ExitCode {
    // Restores the default action of SIGPIPE: a reader that closes the pipe early (head) ends this program quietly, as
    // it ends other programs.
    // SAFETY: no other thread runs yet.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let done = |result: Result<(), String>| result.map(|()| ExitCode::SUCCESS);
    let command = match Arguments::try_parse() {
        Ok(arguments) => arguments.command,
        Err(usage) => return said(&usage),
    };
    let ended = match command {
        Command::ReplayOne(arguments) => return replay::child::run(&arguments),
        Command::TableOne(arguments) => return table::child::run(&arguments),
        Command::TraceOne(arguments) => return communication::child::run(&arguments),
        Command::ArchiveOne(arguments) => return report::archive_child::run(&arguments),
        Command::ReadTables(arguments) => return report::tables_child::run(&arguments),
        Command::WhatIs(arguments) => return installed::loader::run(&arguments),
        Command::ReleaseOf(arguments) => return installed::nccl_files::run(&arguments),
        Command::Run(arguments) => launch::run::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Hang(arguments) => return hang::command::run(&arguments),
        Command::Watch(arguments) => return watch::command::run(&arguments),
        Command::Ask(arguments) => return ask::run(&arguments),
        Command::Gpus(arguments) => done(gpus::command::run(&arguments)),
        Command::Env(arguments) => done(launch::env::run(&arguments)),
        Command::Replay(arguments) => done(catching_signals().and_then(|()| replay::command::run(arguments))),
        Command::Report(arguments) => done(catching_signals().and_then(|()| report::command::run(arguments))),
        Command::Compare(arguments) => catching_signals().map(|()| report::compare::run(arguments)),
        Command::Table(arguments) => done(catching_signals().and_then(|()| table::command::run(&arguments))),
        Command::Trace(arguments) => done(catching_signals().and_then(|()| communication::command::run(&arguments))),
        Command::Demo(arguments) => done(catching_signals().and_then(|()| demo::run(&arguments))),
        Command::Pages(arguments) => done(pages::run(&arguments, &Arguments::command())),
    };
    match ended {
        Ok(status) => status,
        Err(message) => {
            // a signal has removed files that are missed now: it ends the program, and nothing is said
            output::leftovers::undisturbed(|| ());
            output::say(message);
            ExitCode::FAILURE
        }
    }
}

/// Prints the help text, or the error in the command line.
fn said(usage: &clap::Error) -> ExitCode {
    if let Some(answer) = gone::answer(usage) {
        output::say(answer);
        return ExitCode::from(2);
    }
    match usage.print() {
        Ok(()) => ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(1)),
        Err(error) => output::answered(Err(format!("standard output: {error}"))),
    }
}

/// Makes signals remove the temporary files of commands that create some.
fn catching_signals() -> Result<(), String> {
    output::leftovers::remove_on_signals().map_err(|error| format!("signals cannot be waited for: {error}"))
}
