//! The command-line tool of scorep-nccl.

#![cfg_attr(
    not(test),
    deny(clippy::print_stdout, clippy::print_stderr, reason = "they panic where nothing can be written")
)]

mod demo;
mod doctor;
mod gone;
mod installed;
mod launch;
mod pages;
mod report;

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
    Hang(live::hang::command::HangArguments),
    /// Watches a job: says when a rank, node or link begins to stand out, and when the job hangs.
    Watch(live::watch::command::WatchArguments),
    /// Asks the running processes of a job for other event types, for their summaries or their stacks.
    Ask(live::ask::AskArguments),
    /// Shows clocks, power, use and errors of this node's GPUs, and the bytes over NVLink, PCIe and network adapters.
    #[command(alias = "nvlink")]
    Gpus(live::gpus::command::GpusArguments),
    /// Replays recorded NCCL callbacks through the plugin, with stand-ins for NCCL and Score-P.
    Replay(input::replay::command::ReplayArguments),
    /// Answers which rank is late, what communication costs a step, and whether the network is as fast as it should be.
    Report(report::command::ReportArguments),
    /// Compares two runs: what takes longer, and what less.
    Compare(report::compare::CompareArguments),
    /// Writes the operations of recordings as tables: a Parquet file for each process.
    Table(input::table::command::TableArguments),
    /// Copies a Score-P experiment, with NCCL's communicators, messages and collectives in its trace.
    Trace(input::communication::command::CommunicationArguments),
    /// Replays two recorded runs, and answers the three questions of the report for one with a late rank.
    Demo(demo::DemoArguments),
    #[command(name = installed::nccl_files::COMMAND, hide = true)]
    ReleaseOf(installed::nccl_files::VersionArguments),
    #[command(name = installed::loader::COMMAND, hide = true)]
    WhatIs(installed::loader::LoaderArguments),
    #[command(name = input::replay::child::COMMAND, hide = true)]
    ReplayOne(input::replay::child::ReplayChildArguments),
    #[command(name = input::table::child::COMMAND, hide = true)]
    TableOne(input::table::child::TableChildArguments),
    #[command(name = input::communication::CHILD, hide = true)]
    TraceOne(input::communication::child::CommunicationChildArguments),
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
        Command::ReplayOne(arguments) => return input::replay::child::run(&arguments),
        Command::TableOne(arguments) => return input::table::child::run(&arguments),
        Command::TraceOne(arguments) => return input::communication::child::run(&arguments),
        Command::ArchiveOne(arguments) => return report::archive_child::run(&arguments),
        Command::ReadTables(arguments) => return report::tables_child::run(&arguments),
        Command::WhatIs(arguments) => return installed::loader::run(&arguments),
        Command::ReleaseOf(arguments) => return installed::nccl_files::run(&arguments),
        Command::Run(arguments) => launch::run::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Hang(arguments) => return live::hang::command::run(&arguments),
        Command::Watch(arguments) => return live::watch::command::run(&arguments),
        Command::Ask(arguments) => return live::ask::run(&arguments),
        Command::Gpus(arguments) => done(live::gpus::command::run(&arguments)),
        Command::Env(arguments) => done(launch::env::run(&arguments)),
        Command::Replay(arguments) => done(catching_signals().and_then(|()| input::replay::command::run(arguments))),
        Command::Report(arguments) => done(catching_signals().and_then(|()| report::command::run(arguments))),
        Command::Compare(arguments) => catching_signals().map(|()| report::compare::run(arguments)),
        Command::Table(arguments) => done(catching_signals().and_then(|()| input::table::command::run(&arguments))),
        Command::Trace(arguments) => {
            done(catching_signals().and_then(|()| input::communication::command::run(&arguments)))
        }
        Command::Demo(arguments) => done(catching_signals().and_then(|()| demo::run(&arguments))),
        Command::Pages(arguments) => done(pages::run(&arguments, &Arguments::command())),
    };
    match ended {
        Ok(status) => status,
        Err(message) => {
            // a signal has removed files that are missed now: it ends the program, and nothing is said
            present::output::leftovers::undisturbed(|| ());
            present::output::say(message);
            ExitCode::FAILURE
        }
    }
}

/// Prints the help text, or the error in the command line.
fn said(usage: &clap::Error) -> ExitCode {
    if let Some(answer) = gone::answer(usage) {
        present::output::say(answer);
        return ExitCode::from(2);
    }
    match usage.print() {
        Ok(()) => ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(1)),
        Err(error) => present::output::answered(Err(format!("standard output: {error}"))),
    }
}

/// Makes signals remove the temporary files of commands that create some.
fn catching_signals() -> Result<(), String> {
    present::output::leftovers::remove_on_signals().map_err(|error| format!("signals cannot be waited for: {error}"))
}
