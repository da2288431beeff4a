//! `scorep-nccl ask`: a request to the running processes of a job.

mod answers;
mod stacks;

use crate::statuses;
use answers::{Answers, RequestOutcome};
use common::config::Preset;
use common::files::{self, Directory, NewFile};
use common::status::Status;
use common::status::request::{self, FILE, SCHEMA, StatusRequest, To};
use present::output;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// Mode of the request: processes of other users may read it.
const MODE: u32 = 0o644;
/// Time between two looks at the answers.
const PAUSE: Duration = Duration::from_millis(250);
/// Exit status where the request could not be written, or nobody is there to take it.
const TROUBLE: u8 = 2;
/// Exit status where all have taken it, and some have left a part out.
const IN_PART: u8 = 3;
/// Most processes that are named.
const MAX_NAMED: usize = 3;

/// What a person may say.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 all running processes have done it; 1 some have not, or refuse; 2 nobody was asked; \
                  3 all have done it, and some have left a part out, which is named."
)]
#[group(id = "request", required = true, multiple = true, args = ["preset", "back", "summary", "stacks"])]
pub struct AskArguments {
    /// The job's NCCL_SCOREP_STATUS, as of `run --status DIR`.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Event types that NCCL is asked for from now on: light, network, full or api.
    #[arg(long, value_name = "PRESET", conflicts_with = "back")]
    preset: Option<Preset>,
    /// Goes back to the job's own setting after this time, such as 30s, 5m or 2h. Without it, at the next request.
    #[arg(long = "for", value_name = "TIME", requires = "preset", value_parser = duration)]
    duration: Option<f64>,
    /// Goes back to the job's own setting now.
    #[arg(long)]
    back: bool,
    /// Each process writes its summary now (NCCL_SCOREP_SUMMARY).
    #[arg(long)]
    summary: bool,
    /// Each process writes its threads and its Python stacks now, which are printed: first those of the threads that
    /// have enqueued operations.
    #[arg(long)]
    stacks: bool,
    /// Prints the stacks of all processes and threads.
    #[arg(long, requires = "stacks")]
    all: bool,
    /// Asks the process with this id alone. Without it, all processes are asked.
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Host of that process, where several hosts have one of this id.
    #[arg(long, value_name = "HOST", requires = "pid")]
    host: Option<String>,
    /// Waits at most so many seconds for the answers.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = |text: &str| output::seconds(text, [0.0, 1e6]))]
    wait: f64,
}

/// Parses a time with its unit, and returns seconds.
fn duration(text: &str) -> Result<f64, String> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (number, unit) =
        units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit))).unwrap_or((text, 1.0));
    let seconds = number.trim().parse().ok().map(|number: f64| number * unit);
    let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    seconds.ok_or_else(|| "not a time such as 30s, 5m or 2h".into())
}

/// Writes a request and waits for the answers of the running processes.
pub fn run(arguments: &AskArguments) -> ExitCode {
    match asked(arguments) {
        Ok(status) => status,
        Err(message) => {
            output::say(message);
            ExitCode::from(TROUBLE)
        }
    }
}

fn asked(arguments: &AskArguments) -> Result<ExitCode, String> {
    let named = &arguments.directory;
    let in_words = |error: io::Error| format!("{}: {error}: name the job's NCCL_SCOREP_STATUS", named.display());
    // the request goes where the processes were found, wherever the name leads by then
    let directory = Directory::open(named).map_err(in_words)?;
    let place = directory.reach();
    let statuses = statuses::read(&place).map_err(in_words)?;
    statuses.left_out.iter().take(MAX_NAMED).chain(&statuses.foreign).for_each(output::say);
    let asked = statuses.found.into_iter().filter(|(_, status)| arguments.is_for(status));
    let mut answers = Answers::awaited(asked.collect(), Instant::now());
    let to = match (arguments.pid, answers.only()) {
        (_, None) if answers.is_empty() => {
            let which = arguments.pid.map_or("no process".into(), |pid| format!("no process {pid}"));
            return Err(format!("{}: {which} runs that writes its status there: nobody was asked", named.display()));
        }
        (None, _) => To::All,
        (Some(_), Some(only)) => only.clone(),
        (Some(pid), None) => {
            return Err(format!("{}: several hosts have a process {pid}: name one (--host)", named.display()));
        }
    };
    let request = request(arguments, to);
    write(&place, &request).map_err(in_words)?;
    let deadline = Instant::now() + Duration::from_secs_f64(arguments.wait);
    loop {
        let statuses = statuses::read(&place).map_err(in_words)?;
        answers.take(statuses.found, &request.ticket, is_replaced(&place, &request), Instant::now());
        if answers.are_all() || Instant::now() >= deadline {
            break;
        }
        thread::sleep(PAUSE);
    }
    if arguments.stacks {
        answers.want_stacks();
    }
    output::text(&answers.text(MAX_NAMED))?;
    if arguments.stacks {
        output::text(&stacks::text(&answers, &place, named, &request.ticket, arguments.all))?;
    }
    Ok(match answers.outcome() {
        RequestOutcome::Done => ExitCode::SUCCESS,
        RequestOutcome::InPart => ExitCode::from(IN_PART),
        RequestOutcome::NotDone => ExitCode::FAILURE,
    })
}

impl AskArguments {
    /// Returns whether the process with this status shall be asked.
    fn is_for(&self, status: &Status) -> bool {
        self.pid.is_none_or(|pid| pid == status.pid) && (self.host.is_none() || self.host == status.origin.host)
    }
}

/// Returns whether somebody has made another request since this one.
fn is_replaced(directory: &Path, request: &StatusRequest) -> bool {
    request::read(&directory.join(FILE)).is_ok_and(|(found, _)| found.ticket != request.ticket)
}

fn request(arguments: &AskArguments, to: To) -> StatusRequest {
    let &AskArguments { preset, duration, back, summary, stacks, .. } = arguments;
    StatusRequest {
        schema: SCHEMA.into(),
        ticket: format!("{:016x}", files::random()),
        to: Some(to),
        preset: preset.map(|preset| preset.name().into()),
        seconds: duration,
        back,
        summary,
        stacks,
    }
}

fn write(directory: &Path, request: &StatusRequest) -> io::Result<()> {
    let mut file = NewFile::beside(&directory.join(FILE))?;
    serde_json::to_writer(&mut file, request)?;
    file.write_all(b"\n")?;
    // whatever the umask is
    file.set_permissions(Permissions::from_mode(MODE))?;
    file.appear()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(
            ["30s", "5m", "2h", "250ms", "30"].map(|text| duration(text).unwrap()),
            [30.0, 300.0, 7200.0, 0.25, 30.0]
        );
        assert!(["", "s", "-1s", "1d", "inf"].iter().all(|text| duration(text).is_err()));
    }

    #[test]
    fn a_request_is_whole_and_everybody_may_read_it() {
        let directory = tempfile::tempdir().unwrap();
        let request = StatusRequest { schema: SCHEMA.into(), ticket: "1".into(), ..StatusRequest::default() };
        write(directory.path(), &request).unwrap();
        let place = directory.path().join(FILE);
        assert_eq!(serde_json::from_slice::<StatusRequest>(&std::fs::read(&place).unwrap()).unwrap(), request);
        assert_eq!(place.metadata().unwrap().permissions().mode() & 0o777, MODE);
        assert_eq!(directory.path().read_dir().unwrap().count(), 1);
    }
}
