//! `scorep-nccl watch` on the command line.

use super::job_process::JobProcess;
use super::judge::finding::{FindingChange, FindingSubject, WatchFinding};
use super::judge::{JobState, Judge};
use super::log::FindingLog;
use super::priority;
use super::textfile::WatchTextfile;
use super::unmarked::UnmarkedProcesses;
use super::view::View;
use super::webhook::Webhook;
use crate::diagnosis::finding::HangVerdict;
use crate::statuses::{Observed, StatusLooks};
use common::origin::{now, since_epoch};
use present::output;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The successor of a watch that reads lines of relays.
pub const RELAYS: &str = "`watch DIR` reads a shared directory; without one, OpenTelemetry brings the figures together";

/// Takes a directory to watch; `-` was the standard input, with the lines of relays.
///
/// # Errors
/// For `-`, in words.
fn no_relay(directory: &str) -> Result<PathBuf, String> {
    if directory == "-" { Err(format!("it is gone: {RELAYS}")) } else { Ok(directory.into()) }
}

/// Exit status where something was found.
const FOUND: u8 = 1;
/// Exit status where the files do not say.
const TROUBLE: u8 = 2;
/// Most lines on files that are left out.
const MAX_LINES: usize = 100;
/// A signal is noticed within this time, and beside a job, whose processors should not be woken often.
const SLICE: Duration = Duration::from_millis(50);
const SLICE_BESIDE: Duration = Duration::from_millis(500);
/// Least pause beside a job, as a multiple of the look before it: looks take a tenth of the time, however large the job.
/// A file system that does not answer for a while makes it no longer than half a minute, which the marks reach back.
const PAUSE_BESIDE: u32 = 9;
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Looks behind the end of the process that a watch is beside, unless the job is over before: other ranks may end a
/// little later, and a process that was killed counts as one that writes for 6 s.
const LAST_LOOKS: u32 = 5;

/// What a person may say.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing stands out or hangs; 1 something does, or did while it was watched; 2 the \
                        files do not say. docs/watch.md describes the findings."
)]
pub struct WatchArguments {
    /// The job's NCCL_SCOREP_STATUS, as of `run --status DIR`; several, where each node has one.
    #[arg(value_name = "DIR", required = true, value_parser = no_relay)]
    directories: Vec<PathBuf>,
    /// Seconds between two looks.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    interval: f64,
    /// Waits up to this many seconds are no hang.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    after: f64,
    /// Looks twice, says what stands out and hangs now, and ends.
    #[arg(long)]
    once: bool,
    /// Prints each finding as a line of JSON.
    #[arg(long)]
    json: bool,
    /// Lines, also in a terminal.
    #[arg(long)]
    lines: bool,
    /// Adds each finding to this file, too, as a line of JSON.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Writes this textfile for Prometheus' node_exporter at each look.
    #[arg(long, value_name = "FILE")]
    textfile: Option<PathBuf>,
    /// Sends each finding to this URL, http or https, as a POST with JSON. The variable SCOREP_NCCL_WEBHOOK_TOKEN may
    /// have a secret, which is sent as `Authorization: Bearer`.
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// File with the secret, in place of the variable.
    #[arg(long, value_name = "FILE", requires = "webhook")]
    webhook_token: Option<PathBuf>,
    /// Gives way to a job and ends soon after this process of it, as of `run --watch`.
    #[arg(long, value_name = "PID.START", hide = true, conflicts_with = "once")]
    beside: Option<JobProcess>,
}

/// Parses a time between two looks, or a shortest hang: processes write once a second.
pub fn seconds(text: &str) -> Result<f64, String> {
    output::seconds(text, [1.5, 3600.0])
}

/// The outputs, each of which may fail without an end of the watch.
struct Outputs<'a> {
    arguments: &'a WatchArguments,
    view: Option<View>,
    log: Option<FindingLog>,
    textfile: Option<WatchTextfile>,
    webhook: Option<Webhook>,
    /// Lines that were said of files that are left out.
    said: BTreeSet<String>,
    /// Lines that were said of outputs that fail.
    failed: BTreeSet<String>,
}

/// Watches a job until it is over or a signal comes. The exit status is 0 where nothing was found, 1 where something
/// was, and 2 where the files do not say.
pub fn run(arguments: &WatchArguments) -> ExitCode {
    if arguments.beside.is_some() {
        priority::give_way();
    }
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&ends)) {
            output::say(format_args!("signals cannot be waited for: {error}"));
        }
    }
    let status = watch(arguments, &ends).unwrap_or_else(|message| {
        output::say(message);
        TROUBLE
    });
    match arguments.beside {
        Some(job) if job.has_ended() => remark(&format!("process {} has ended, and so does the watch", job.pid)),
        Some(_) if ends.load(Ordering::Relaxed) => remark("a signal ends the watch"),
        _ => {}
    }
    ExitCode::from(status)
}

/// Says to `run`, which has started this watch beside a job, that it looks from here on: standard input is a pipe for that.
/// A watch that ends before has said nothing.
fn say_begun() {
    let said = std::fs::File::options().write(true).open("/proc/self/fd/0").and_then(|mut pipe| pipe.write_all(b"\n"));
    // nobody may have wanted to know
    drop(said);
    if let Ok(nothing) = std::fs::File::open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(nothing);
    }
}

/// Says a line with the time, which the line of a finding has, too.
fn remark(text: &str) {
    output::line(format_args!("{} {text}", now()));
}

fn watch(arguments: &WatchArguments, ends: &AtomicBool) -> Result<u8, String> {
    let shows = !arguments.lines && !arguments.json && !arguments.once && std::io::stdout().is_terminal();
    let mut outputs = Outputs {
        arguments,
        view: shows.then(View::new),
        log: arguments.log.as_deref().map(FindingLog::open).transpose()?,
        textfile: arguments.textfile.as_deref().map(WatchTextfile::new),
        webhook: arguments
            .webhook
            .as_deref()
            .map(|url| Webhook::start(url, arguments.webhook_token.as_deref()))
            .transpose()?,
        said: BTreeSet::new(),
        failed: BTreeSet::new(),
    };
    if let (Some(log), Some(asked)) = (&outputs.log, &arguments.log)
        && log.path() != asked
    {
        output::say(format_args!(
            "--log {}: it belongs to another user; the findings are in {}",
            asked.display(),
            log.path().display()
        ));
    }
    if let Some(job) = arguments.beside {
        say_begun();
        remark(&format!("the watch begins, beside process {}", job.pid));
    }
    let status = watch_with(arguments, ends, &mut outputs);
    if let Some(textfile) = outputs.textfile.as_ref().filter(|_| !arguments.once) {
        textfile.remove();
    }
    if let Some(webhook) = outputs.webhook.take() {
        webhook.finish();
    }
    status
}

fn watch_with(arguments: &WatchArguments, ends: &AtomicBool, outputs: &mut Outputs<'_>) -> Result<u8, String> {
    let mut looks: Vec<StatusLooks> =
        arguments.directories.iter().map(|directory| StatusLooks::new(directory)).collect();
    let (mut judge, mut unmarked) = (Judge::new(arguments.after, arguments.once), UnmarkedProcesses::default());
    let (begin, period) = (Instant::now(), Duration::from_secs_f64(arguments.interval));
    let (mut next, mut found, mut is_first) = (begin, false, true);
    let has_ended = || arguments.beside.is_some_and(JobProcess::has_ended);
    let (slice, mut last_looks) = (if arguments.beside.is_some() { SLICE_BESIDE } else { SLICE }, 0);
    loop {
        last_looks += u32::from(has_ended());
        let begun = Instant::now();
        let (processes, is_whole) = look(&mut looks, begin.elapsed().as_secs_f64(), outputs)?;
        if let Some(line) = unmarked.take(&processes) {
            outputs.say(line);
        }
        let findings = judge.take(processes, since_epoch().as_nanos() as u64, begin.elapsed().as_secs_f64());
        found |= findings.iter().any(is_trouble);
        let states = judge.states();
        outputs.put(&findings, &states, begun.elapsed())?;
        if arguments.once && !is_first {
            return Ok(at_once(&states, is_whole));
        }
        // while the process runs, there may be another job, such as the next program of its script
        if judge.is_over() && (arguments.beside.is_none() || last_looks > 0) || last_looks == LAST_LOOKS {
            let status = if is_first { at_once(&states, is_whole) } else { u8::from(found) };
            return Ok(status);
        }
        is_first = false;
        let is_last = last_looks > 0;
        let share = if arguments.beside.is_some() && !is_last { PAUSE_BESIDE } else { 0 };
        next = (next + period).max(Instant::now() + (share * begun.elapsed()).min(LONGEST_PAUSE));
        // processes write once a second, so the end of one does not make the time between two looks shorter than usual
        let due = || if !is_last && has_ended() { next.min(begun + period) } else { next };
        while Instant::now() < due() {
            if ends.load(Ordering::Relaxed) {
                return Ok(if states.is_empty() { TROUBLE } else { u8::from(found) * FOUND });
            }
            thread::sleep(slice.min(next.saturating_duration_since(Instant::now())));
        }
        next = next.min(Instant::now());
    }
}

/// Looks at all directories. `now` are seconds by a clock that does not jump. Returns the processes, and whether no file
/// was left out.
///
/// # Errors
/// In words, with `--once`: the only directory cannot be read.
fn look(looks: &mut [StatusLooks], now: f64, outputs: &mut Outputs<'_>) -> Result<(Vec<Observed>, bool), String> {
    let (mut processes, mut is_whole) = (vec![], true);
    let several = looks.len() > 1;
    for (directory, looks) in outputs.arguments.directories.iter().zip(looks) {
        let directory = directory.display();
        match looks.look(now) {
            Ok(mut reading) => {
                is_whole &= reading.left_out.is_empty();
                if several {
                    let of_directory = |process: &mut Observed| process.file = format!("{directory}/{}", process.file);
                    reading.processes.iter_mut().for_each(of_directory);
                }
                processes.append(&mut reading.processes);
                reading.left_out.into_iter().chain(reading.foreign).for_each(|line| outputs.say(line));
            }
            // a job's directory may come later, and a file system may be away for a while
            Err(error) => {
                let line = format!("{directory}: {error}: name the job's NCCL_SCOREP_STATUS");
                if outputs.arguments.once && !several {
                    return Err(line);
                }
                is_whole = false;
                outputs.say(line);
            }
        }
    }
    Ok((processes, is_whole))
}

/// Returns the exit status of a single answer.
fn at_once(states: &[JobState], is_whole: bool) -> u8 {
    let stands = |state: &JobState| {
        !state.causes.is_empty() || state.slow_links > 0 || state.ranks.iter().any(|rank| rank.stands)
    };
    let is_unknown = |state: &JobState| state.verdict == HangVerdict::Unknown;
    match () {
        () if states.iter().any(stands) => FOUND,
        () if states.is_empty() || !is_whole || states.iter().any(is_unknown) => TROUBLE,
        () => 0,
    }
}

/// Returns whether a finding is one that people are called for.
fn is_trouble(finding: &WatchFinding) -> bool {
    finding.change != FindingChange::Over && !matches!(finding.subject, FindingSubject::Job { .. })
}

impl Outputs<'_> {
    /// Says a line on standard error, once.
    fn say(&mut self, line: String) {
        say_once(&mut self.said, line);
    }

    /// Says once that an output fails. A hundred files that are left out leave room for it.
    fn fail(&mut self, why: String) {
        say_once(&mut self.failed, why);
    }

    /// Gives the findings of a look to all outputs.
    ///
    /// # Errors
    /// When standard output takes nothing more, and there is no other output.
    fn put(&mut self, findings: &[WatchFinding], states: &[JobState], took: Duration) -> Result<(), String> {
        let mut shown = Ok(());
        for finding in findings {
            let line = serde_json::to_string(finding).map_err(|error| error.to_string())? + "\n";
            if let Some(Err(why)) = self.log.as_ref().map(|log| log.add(&line)) {
                self.fail(why);
            }
            if let Some(webhook) = &mut self.webhook {
                webhook.put(&line);
            }
            if self.arguments.json {
                shown = shown.and(output::json(&line));
            } else if self.view.is_none() {
                let line = format!("{} {}{}\n", finding.time, job(finding), finding.text);
                shown = shown.and(output::text(&line));
            }
        }
        if let Some(Err(why)) = self.textfile.as_mut().map(|textfile| textfile.write(findings, states, took)) {
            self.fail(why);
        }
        if let Some(view) = &mut self.view {
            shown = view.draw(findings, states);
        }
        let has_other = self.log.is_some() || self.textfile.is_some() || self.webhook.is_some();
        match shown {
            Err(why) if has_other => self.fail(why),
            shown => return shown,
        }
        Ok(())
    }
}

/// Says a line on standard error, once, unless too many were said.
fn say_once(said: &mut BTreeSet<String>, line: String) {
    if said.len() < MAX_LINES && !said.contains(&line) {
        output::say(&line);
        said.insert(line);
    }
}

/// Returns the name of a finding's job, with what separates it from the text.
fn job(finding: &WatchFinding) -> String {
    finding.job.as_ref().map(|job| format!("{job}: ")).unwrap_or_default()
}
