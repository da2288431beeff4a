//! The watch beside a job: a program of its own, which is no child of the job's, has nothing of the job's open and ends
//! with it. Whatever fails here, the job begins.

use common::files;
use live::watch::{self, JobProcess};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, getrlimit};
use std::ffi::OsStr;
use std::io::{self, PipeReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// What a person may say of it.
#[derive(Debug, clap::Args)]
pub(super) struct CompanionChoice {
    /// Starts `scorep-nccl watch` beside the job, on the first rank alone. Its findings are in the directory of
    /// --status: watch.log in words, findings.jsonl for `report --findings`. It ends with the job.
    #[arg(long)]
    pub(super) watch: bool,
    /// Has the watch send each finding to this URL, http or https.
    #[arg(long, value_name = "URL", requires = "watch")]
    watch_webhook: Option<String>,
    /// Waits up to this many seconds are no hang for the watch: 10.
    #[arg(long, value_name = "SECONDS", requires = "watch", value_parser = watch::seconds)]
    watch_after: Option<f64>,
}

/// Lines of the watch.
const LINES: &str = "watch.log";
/// Its findings as JSON.
const FINDINGS: &str = "findings.jsonl";
/// Longest wait for the begin of the watch, which takes some tens of milliseconds.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// Variables that have libraries loaded into every program.
const LOADERS: [&str; 2] = ["LD_PRELOAD", "LD_AUDIT"];
/// Signals that schedulers send to all processes of a job, so that it saves its state, or when a terminal closes.
const OF_THE_JOB: [libc::c_int; 4] = [libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2, libc::SIGXCPU];
/// Descriptors up to this one are looked at, where the system does not close them all at once.
const MAX_DESCRIPTORS: u64 = 1 << 16;

/// Starts the watch of a job that this process becomes, and waits for a child that ends at once, as
/// [`super::child_signal`] has it. `status` is the job's directory of status files, or a pattern of its name.
///
/// # Errors
/// In words: there is no watch.
pub(super) fn start(choice: &CompanionChoice, status: &OsStr) -> Result<(), String> {
    if let Some(why) = adopts_orphans() {
        return Err(format!(
            "{why}, so the watch would become a child of the job: start `scorep-nccl watch DIR` yourself"
        ));
    }
    let job = JobProcess::own().ok_or("/proc does not have this process, so a watch would not see its end")?;
    let status = Path::new(status);
    if files::is_one_for_each_process(status) {
        return Err(format!("each process has a directory of its own, {}: name one for all", status.display()));
    }
    let directory = std::path::absolute(files::expand(status)).map_err(|error| error.to_string())?;
    let of_place = |place: &Path, error: io::Error| format!("{}: {error}", place.display());
    files::make(&directory).map_err(|error| of_place(&directory, error))?;
    let lines = directory.join(LINES);
    let (output, said) = files::append(&lines).map_err(|error| of_place(&lines, error))?;
    if said != lines {
        let [asked, said] = [&lines, &said].map(|path| path.display());
        present::output::say(format_args!("--watch: {asked} belongs to another user; the watch writes to {said}"));
    }
    let errors = output.try_clone().map_err(|error| of_place(&said, error))?;
    let program = std::env::current_exe().map_err(|error| format!("this program's file: {error}"))?;
    let mut command = Command::new(program);
    command.arg("watch").arg(&directory).args(["--lines", "--beside", &job.to_string(), "--log"]);
    command.arg(directory.join(FINDINGS));
    if let Some(after) = choice.watch_after {
        command.args(["--after", &after.to_string()]);
    }
    if let Some(url) = choice.webhook() {
        // one word: a URL that begins with a dash is none
        command.arg(format!("--webhook={url}"));
    }
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_job(name)) {
        command.env_remove(name);
    }
    // a directory that is in use cannot be unmounted
    let (begins, begun) = io::pipe().map_err(|error| format!("no pipe: {error}"))?;
    command.current_dir("/").stdin(begun).stdout(output).stderr(errors);
    // SAFETY: `detach` makes calls of the system that are allowed between fork and exec, and allocates nothing.
    unsafe { command.pre_exec(detach) };
    let started = command.spawn().and_then(|mut middle| middle.wait());
    started.map_err(|error| format!("it does not start: {error}"))?;
    // the watch alone has the other end
    drop(command);
    match ends_at_once(begins) {
        true => Err(format!("it has ended at once, and {} says why", said.display())),
        false => Ok(()),
    }
}

/// Returns whether the watch has ended before it began to look (`say_begun` of the watch's command). Waits a little: the job begins.
fn ends_at_once(begins: PipeReader) -> bool {
    let is_said = poll(&mut [PollFd::new(&begins, PollFlags::IN)], Some(&PATIENCE)).is_ok_and(|said| said > 0);
    is_said && (&begins).read(&mut [0]).is_ok_and(|read| read == 0)
}

impl CompanionChoice {
    /// Returns the webhook, unless it cannot be used, which is said.
    fn webhook(&self) -> Option<&str> {
        let url = self.watch_webhook.as_deref()?;
        match watch::check_webhook(url) {
            Ok(()) => Some(url),
            Err(why) => {
                present::output::say(format_args!("{why}; the watch begins without it"));
                None
            }
        }
    }
}

/// Returns why this process would become the parent of what its children leave, in words.
fn adopts_orphans() -> Option<&'static str> {
    if std::process::id() == 1 {
        return Some("this is the first process of its container (docker run --init puts another one there)");
    }
    let mut is_reaper: libc::c_int = 0;
    // SAFETY: `is_reaper` is ours, for the system to write to.
    let asked = unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut is_reaper) };
    (asked == 0 && is_reaper != 0)
        .then_some("this process takes in what other processes leave (PR_SET_CHILD_SUBREAPER)")
}

/// Returns whether a variable concerns the job's libraries, and not the watch.
fn is_of_job(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let is_secret = name == watch::TOKEN.as_bytes();
    let is_setting = name.starts_with(b"NCCL_") || name.starts_with(b"SCOREP_") && !is_secret;
    is_setting || LOADERS.iter().any(|loader| loader.as_bytes() == name)
}

/// Leaves the job, between fork and exec: the watch becomes an orphan in a session of its own, without the job's
/// terminal, descriptors and blocked signals. The process in the middle ends.
fn detach() -> io::Result<()> {
    // SAFETY: these calls have no memory but `none`, which is ours, and are allowed between fork and exec. The child has
    // one thread, so `fork` waits for no lock. `_exit` runs nothing of the parent's.
    unsafe {
        libc::setsid();
        match libc::fork() {
            -1 => return Err(io::Error::last_os_error()),
            0 => {}
            _ => libc::_exit(0),
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        for signal in OF_THE_JOB {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
    leave_descriptors();
    Ok(())
}

/// Has `exec` close all descriptors above 2: the job's launcher may wait for their end. The standard library writes an
/// error of `exec` to one of them, so they stay open until then.
fn leave_descriptors() {
    // SAFETY: the call has no memory of ours.
    let left = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if left == 0 {
        return;
    }
    // before Linux 5.11
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(MAX_DESCRIPTORS).min(MAX_DESCRIPTORS);
    for descriptor in 3..limit {
        // SAFETY: fcntl has no memory of ours.
        unsafe { libc::fcntl(descriptor as libc::c_int, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
