//! The file of this process' summary. It is written at intervals while the process runs, so that a killed process
//! leaves one, and at the end.

mod earlier;

use crate::base::files::{self, Earlier, FileName};
use crate::base::last_work::{LastWork, Promise};
use crate::base::visible::visible;
use crate::base::{log, patience};
use crate::config::Settings;
use crate::control;
use crate::origin;
use crate::record::thread::ThreadCell;
use crate::summary::Summary;
use earlier::Fate;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// Time for which a summary written while the process runs waits for the collector. A collector that is busy for longer
/// answers in time for the next one.
const PATIENCE: Duration = Duration::from_secs(10);

/// The name of the file in warnings.
const WRITTEN: &str = "the summary";

/// Longest time until the first summary: many jobs that fail do so at their begin.
const FIRST: Duration = Duration::from_secs(5);

/// The file of this process, if one is set.
static FILE: OnceLock<Mutex<SummaryFile>> = OnceLock::new();
/// The last summary, for the thread.
static LAST: LastWork<Summary> = LastWork::new();
/// Time between two looks of a thread that writes the last summary alone; it is woken for that.
const IDLE: Duration = Duration::from_secs(3600);

struct SummaryFile {
    name: FileName,
    /// The name as it was set.
    pattern: PathBuf,
    /// The fate of the summary that was there before, once decided.
    fate: Option<Fate>,
    /// Whether the last summary is written. An earlier state must not replace it.
    is_whole: bool,
    told_name: bool,
    told_failure: bool,
}

/// Begins to write the summary, if a file is set. Called once, before the first event.
pub(crate) fn begin(settings: &Settings) {
    let Some(pattern) = &settings.summary else { return };
    let path = files::expand(pattern);
    // the program may change its working directory later
    let place = std::path::absolute(&path).unwrap_or(path);
    let name = FileName::new(&place, Earlier::Replaced);
    let pattern = pattern.clone();
    // never set before: `begin` is called once
    let _ = FILE.set(Mutex::new(SummaryFile {
        name,
        pattern,
        fate: None,
        is_whole: false,
        told_name: false,
        told_failure: false,
    }));
    let interval = settings.summary_interval();
    if let Err(error) = LAST.begin_thread("scorep-nccl-sum", move |last| write_every(interval, &place, last)) {
        log::warn(&format!(
            "no thread to write the summary while the process runs ({error}): it is written at its end"
        ));
    }
}

/// Runs the thread: writes the present summary at intervals, unless nothing has happened since the last one, and the
/// last summary whenever it is asked for.
fn write_every(interval: Option<Duration>, place: &Path, last: &Promise<Summary>) {
    // a pipe or a device cannot be rewritten
    let mut interval = interval.filter(|_| files::is_replaced(place));
    let (mut seen, mut pause) = (0, interval.map_or(IDLE, |interval| interval.min(FIRST)));
    loop {
        if last.keep_within(pause, |summary| _ = write(&summary, true)) {
            (interval, pause) = (None, IDLE);
        }
        let Some(interval) = interval else { continue };
        let callbacks = ThreadCell::all_callbacks();
        if std::mem::replace(&mut seen, callbacks) == callbacks {
            continue;
        }
        if let Some(summary) = present() {
            write(&summary, false);
            pause = interval;
        }
    }
}

/// Returns the summary of now, which is not the last one. `None` if the collector does not answer in time.
fn present() -> Option<Summary> {
    control::summary_within(PATIENCE).map(|summary| Summary { complete: false, ..summary })
}

/// Writes the present summary now, and returns its path.
///
/// # Errors
/// Returns why there is none.
pub(crate) fn write_now() -> Result<PathBuf, String> {
    let file = FILE.get().ok_or("no file for the summary is set (NCCL_SCOREP_SUMMARY)")?;
    let summary = present().ok_or("the collector thread does not answer")?;
    if !write(&summary, false) {
        return Err("the last summary is written already".into());
    }
    let file = patience::hold(file, WRITTEN).ok_or("the file system does not answer")?;
    Ok(file.name.place().to_owned())
}

/// Has the last summary written.
pub(crate) fn write_last(summary: Summary) {
    if let Err(summary) = LAST.have_done(summary, WRITTEN) {
        write(&summary, true);
    }
}

/// Writes a summary. Returns false if no more summaries are to be written.
fn write(summary: &Summary, is_last: bool) -> bool {
    let Some(mut file) = FILE.get().and_then(|file| patience::hold(file, WRITTEN)) else { return false };
    if file.is_whole && !is_last {
        return false;
    }
    file.is_whole |= is_last;
    file.look_at_earlier();
    let written = files::write_json_as(&mut file.name, summary);
    file.tell(written, is_last);
    true
}

impl SummaryFile {
    /// Decides once on a file that was there before this process began. A file that another process writes from here on
    /// is recognized by its time.
    fn look_at_earlier(&mut self) {
        if self.fate.is_none() && files::is_replaced(self.name.place()) {
            let fate = Fate::of(self.name.place(), &origin::own());
            if fate == Fate::Stays {
                self.name.keep_earlier();
            }
            self.fate = Some(fate);
        }
    }

    /// Warns once of the file's name, if it is not the name asked for, or of the file that it has replaced. Warns of an
    /// error, the first time and at the end.
    fn tell(&mut self, written: io::Result<()>, is_last: bool) {
        let place = self.name.place().display();
        match written {
            Ok(()) if !std::mem::replace(&mut self.told_name, true) => {
                if let Some(line) = self.line_of_name(origin::own().rank) {
                    log::warn(&line);
                }
            }
            Err(error) if is_last || !self.told_failure => {
                self.told_failure = true;
                log::warn(&format!("the summary could not be written to {place}: {error}"));
            }
            _ => {}
        }
    }

    /// Returns the warning about the name. All ranks with the same name, and all runs of a program that is started
    /// again, would give the same one: only the first ranks do.
    fn line_of_name(&self, rank: Option<u32>) -> Option<String> {
        let (place, asked) = (self.name.place().display(), self.name.asked().display());
        let is_earlier = self.name.is_beside_earlier();
        let says = match is_earlier || !self.name.is_another() {
            true => rank.is_none_or(|rank| rank == 0),
            // one of the first two ranks has the name itself
            false => files::is_one_for_each_process(&self.pattern) || rank.is_none_or(|rank| rank <= 1),
        };
        let cure = cure(&self.pattern, is_earlier || !self.name.is_another());
        let line = match &self.fate {
            _ if self.name.is_another() && is_earlier => format!(
                "the summary of this process is in {place}: {asked} is of an earlier program of this job, or does not say of which job. {cure}"
            ),
            _ if self.name.is_another() => {
                format!(
                    "the summary of this process is in {place}: {asked} is another process' file, or another user's. {cure}"
                )
            }
            Some(Fate::ReplacedAloud(job)) => {
                let job = job.as_ref().map_or_else(String::new, |job| format!(" of job {}", visible(job)));
                format!("the summary in {place} takes the place of an earlier one{job}. {cure}")
            }
            _ => return None,
        };
        says.then_some(line)
    }
}

/// Returns how each process gets a file of its own, by the name that was set.
fn cure(pattern: &Path, is_earlier: bool) -> &'static str {
    match (files::holds(pattern, files::RANK), files::holds(pattern, files::PROCESS)) {
        (_, true) if is_earlier => "A directory of its own for each run keeps them apart",
        (_, false) if is_earlier => "NCCL_SCOREP_SUMMARY with %p in it gives each process its own",
        (false, false) => "NCCL_SCOREP_SUMMARY with %r or %p in it gives each process its own",
        (false, true) => "NCCL_SCOREP_SUMMARY with %r in it gives each rank its own",
        (true, false) => "NCCL_SCOREP_SUMMARY with %p in it gives each process its own",
        (true, true) => "A directory of its own for each job keeps them apart",
    }
}
