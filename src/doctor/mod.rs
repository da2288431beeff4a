//! `scorep-nccl doctor`: checks for the problems that occur in practice, and says how to cure them.
//!
//! It checks the environment that it runs in, which should be the job's: start it as `scorep-nccl run -- scorep-nccl
//! doctor`, or within the job script.

mod finding;
mod library;
mod machine;
mod nccl;
mod plugin;
mod program;
mod score_p;
mod score_p_memory;
mod settings;
mod settings_file;
mod surroundings;

use common::conditions::own_processors;
use finding::{Code, DoctorFinding, Level};
use score_p::ScoreP;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use surroundings::Surroundings;

/// What a person may say.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArguments {
    /// Prints the findings as JSON.
    #[arg(long)]
    json: bool,
    /// The command that the job starts, for what only the program itself tells: its NCCL, and how Score-P watches it.
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
    /// The installed library, where it is not beside this program.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Where shared memory is mounted.
    #[arg(long, value_name = "DIR", default_value = "/dev/shm", hide = true)]
    shared_memory: PathBuf,
    /// Number of processors that this process may run on, instead of the system's.
    #[arg(long, value_name = "N", hide = true)]
    processors: Option<usize>,
}

/// The whole report, for JSON.
#[derive(Debug, Serialize)]
struct DoctorReport {
    version: &'static str,
    /// Exit status: 0, 1 (something will be missing) or 2 (it will not work).
    status: u8,
    findings: Vec<DoctorFinding>,
}

/// Makes all checks and prints the findings. The exit status is that of the worst finding.
///
/// # Errors
/// When the report cannot be written.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<ExitCode, String> {
    let library = crate::installed::library::find(arguments.library.as_deref()).ok();
    let findings = examine(&Surroundings::own(library.as_deref()), arguments);
    let status = match findings.iter().map(|finding| finding.level).max() {
        Some(Level::Failure) => 2,
        Some(Level::Warning) => 1,
        _ => 0,
    };
    if arguments.json {
        let report = DoctorReport { version: env!("CARGO_PKG_VERSION"), status, findings };
        present::output::json(&(serde_json::to_string_pretty(&report).map_err(|error| error.to_string())? + "\n"))?;
    } else {
        present::output::text(&text(&findings, status))?;
    }
    Ok(ExitCode::from(status))
}

fn examine(around: &Surroundings, arguments: &DoctorArguments) -> Vec<DoctorFinding> {
    let DoctorArguments { library: named, shared_memory, processors, command, .. } = arguments;
    let programs = crate::installed::program::named(command, &|name| around.raw(name));
    let score_p = ScoreP::find();
    let plugins = score_p.as_ref().ok().map(ScoreP::libraries);
    let ours = plugin::ours(around);
    let (mut findings, features) = library::check(around, named.as_deref(), ours.as_deref(), plugins.as_deref());
    // an unset variable and a missing library have one cause: the job was not started through `run`
    let is_lost = findings.iter().any(|finding| finding.code == Code::LibraryNotFound);
    findings.extend(
        plugin::check(around, ours.as_deref()).filter(|finding| !is_lost || finding.code != Code::PluginNotSet),
    );
    findings.extend(nccl::check(around, &programs));
    findings.extend(score_p::check(around, score_p.as_ref(), &programs));
    findings.extend(settings_file::check(around));
    findings.extend(settings::check(around, features.as_ref()));
    findings.extend(machine::check(around, shared_memory, processors.or_else(own_processors)));
    findings
}

/// Returns the findings as text for a person, with a summary line.
fn text(findings: &[DoctorFinding], status: u8) -> String {
    let mut text = String::new();
    for DoctorFinding { code, level, what, cure } in findings {
        let sign = match level {
            Level::Good => "ok     ",
            Level::Note => "note   ",
            Level::Warning => "WARNING",
            Level::Failure => "FAILS  ",
        };
        text += &format!("{sign} {what} [{}]\n", code.name());
        if !cure.is_empty() {
            text += &format!("        -> {cure}\n");
        }
    }
    let page = page();
    text + &match status {
        0 => "\nReady.\n".to_owned(),
        1 => format!("\nIt will work, but for what is marked WARNING. {page} has a heading for each code.\n"),
        _ => format!("\nIt will not work. {page} has a heading for each code.\n"),
    }
}

/// Returns the place of the page on the codes: installed beside this program, or in the sources.
fn page() -> String {
    const PAGE: &str = "docs/troubleshooting.md";
    let program = std::env::current_exe().ok();
    let prefix = program.as_deref().and_then(Path::parent).and_then(Path::parent);
    let installed = prefix.map(|prefix| prefix.join("share/doc/scorep-nccl").join(PAGE)).filter(|page| page.is_file());
    installed.map_or_else(|| PAGE.into(), |page| page.display().to_string())
}
