//! `scorep-nccl run`: replaces itself by a command, in the environment that a measurement needs.

use super::child_signal::ChildSignal;
use super::companion::{self, CompanionChoice};
use super::environment::{self, LaunchChoice};
use common::rank;
use present::output;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// What a person may say.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    choice: LaunchChoice,
    /// An experiment directory of its own for each rank: always where torchrun has started this process, else when
    /// asked for.
    #[arg(long)]
    per_rank: bool,
    #[command(flatten)]
    companion: CompanionChoice,
    /// The command and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Variable that only torchrun sets. Its processes do not use MPI, so Score-P takes each process for a job of its own.
const TORCHRUN: &str = "TORCHELASTIC_RUN_ID";
/// Python modules that start torchrun, besides the program of its name.
const MODULES: [&str; 2] = ["torch.distributed.run", "torch.distributed.launch"];
const DIRECTORY: &str = "SCOREP_EXPERIMENT_DIRECTORY";

/// Sets the variables and replaces this process by the command. Returns only if that fails.
///
/// # Errors
/// When the library is missing or its place cannot be used; nothing has been started then.
pub(crate) fn run(arguments: &RunArguments) -> Result<ExitCode, String> {
    let lookup = |name: &str| std::env::var_os(name);
    // of whatever asks NCCL's library for its release, and of the watch
    let signal = ChildSignal::by_default();
    let made = environment::of(&arguments.choice, &arguments.command, &lookup)?;
    let Some((program, rest)) = arguments.command.split_first() else { return Err("no command".into()) };
    let torchrun = lookup(TORCHRUN);
    // the same number that replaces %r in file names
    let rank = rank::rank();
    // one process of a job prints the remarks
    let speaks = rank.is_none_or(|rank| rank == 0);
    if speaks {
        made.remarks.iter().for_each(output::say);
    }
    let status = made.status.filter(|_| arguments.companion.watch);
    if arguments.companion.watch && status.is_none() {
        return Err("--watch: it reads the job's status files: add --status DIR, which all hosts of the job see".into());
    }
    let mut command = Command::new(program);
    command.args(rest).envs(made.variables);
    if let (Some(rank), true) = (rank, torchrun.is_some() || arguments.per_rank) {
        let given = lookup(DIRECTORY).map(|path| path.to_string_lossy().into_owned());
        command.env(DIRECTORY, of_rank(given, torchrun.as_ref().map(|id| id.to_string_lossy()).as_deref(), rank));
    } else if arguments.per_rank {
        let names = rank::tellers().collect::<Vec<_>>().join(", ");
        return Err(format!(
            "--per-rank: no launcher has said this process' rank ({names}; SLURM's counts in a step alone)"
        ));
    } else if speaks && starts_torchrun(&arguments.command) {
        output::say(
            "ranks that torchrun starts would share one experiment directory and destroy each other's. Put this program behind \
             it: torchrun --no-python ... scorep-nccl run -- python -m scorep ...",
        );
    }
    // one watch sees all ranks of the job
    if let Some(Err(why)) = status.filter(|_| speaks).map(|status| companion::start(&arguments.companion, &status)) {
        output::say(format_args!("--watch: {why}; the job begins without a watch"));
    }
    signal.restore();
    let error = command.exec();
    output::say(format_args!("{}: {error}", Path::new(program).display()));
    // exit statuses of env(1) and of shells
    Ok(ExitCode::from(if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }))
}

/// Returns the experiment directory of one rank: the variable's value, or a name made from the job's, with the rank as
/// its ending. It lies in the same parent directory, because Score-P does not create parent directories.
fn of_rank(given: Option<String>, job: Option<&str>, rank: u32) -> String {
    let ending = format!(".rank{rank}");
    match given {
        Some(given) if given.ends_with(&ending) => given,
        Some(given) => format!("{}{ending}", given.trim_end_matches('/')),
        None => {
            let job = job.filter(|job| !job.is_empty() && *job != "none").unwrap_or("nccl");
            let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
            format!("scorep-{}{ending}", job.chars().map(plain).collect::<String>())
        }
    }
}

fn starts_torchrun(command: &[OsString]) -> bool {
    let program = command.first().and_then(|program| Path::new(program).file_name());
    program.is_some_and(|name| name == "torchrun")
        || command.iter().any(|word| MODULES.iter().any(|module| word == module))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_a_directory_beside_the_others() {
        let of = |given: Option<&str>, job, rank| of_rank(given.map(str::to_owned), job, rank);
        assert_eq!(of(Some("/scratch/run/"), None, 3), "/scratch/run.rank3");
        assert_eq!(of(Some("/scratch/run.rank3"), None, 3), "/scratch/run.rank3");
        assert_eq!(of(None, Some("a/b c"), 0), "scorep-a_b_c.rank0");
        assert_eq!(of(None, Some("none"), 0), "scorep-nccl.rank0");
    }
}
