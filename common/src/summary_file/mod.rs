//! The file of this process' summary: written every so often while the process runs, so that one that is killed leaves
//! one, and at its end.

mod earlier;

use crate::base::files::{self, Earlier, Name};
use crate::base::visible::visible;
use crate::base::{log, own_thread};
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

/// How long one that is written while the process runs may wait for the collector: what is busy for so long has the
/// next one ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// Until the first one, at most: many jobs that fail do so at their begin.
const FIRST: Duration = Duration::from_secs(5);

/// That of this process, where one is set.
static FILE: OnceLock<Mutex<File>> = OnceLock::new();

struct File {
    name: Name,
    /// The name as it was set.
    pattern: PathBuf,
    /// Of the summary that was there, once that was looked at.
    fate: Option<Fate>,
    /// The last one is written: an earlier state must not take its place.
    is_whole: bool,
    told_name: bool,
    told_failure: bool,
}

/// Begins to write it, where one is set. Called once, before the first event.
pub(crate) fn begin(settings: &Settings) {
    let Some(pattern) = &settings.summary else { return };
    let path = files::expand(pattern);
    // the program may change its working directory later; descriptors are no places
    let place = if files::is_replaced(&path) { std::path::absolute(&path).unwrap_or(path) } else { path };
    let name = Name::new(&place, Earlier::Replaced);
    let pattern = pattern.clone();
    // the first value set: `begin` is called once
    let _ = FILE.set(Mutex::new(File {
        name,
        pattern,
        fate: None,
        is_whole: false,
        told_name: false,
        told_failure: false,
    }));
    // what goes into a pipe or a device cannot be taken back there
    let Some(interval) = settings.summary_interval().filter(|_| files::is_replaced(&place)) else { return };
    if let Err(error) = own_thread::spawn("scorep-nccl-sum", move || write_every(interval)) {
        log::warn(&format!(
            "no thread to write the summary while the process runs ({error}): it is written at its end"
        ));
    }
}

/// Has the thread write what there is, as long as something happens.
fn write_every(interval: Duration) {
    let (mut seen, mut pause) = (0, interval.min(FIRST));
    loop {
        std::thread::sleep(pause);
        let callbacks = ThreadCell::all_callbacks();
        if std::mem::replace(&mut seen, callbacks) == callbacks {
            continue;
        }
        let Some(mut summary) = control::summary_within(PATIENCE) else { continue };
        summary.complete = false;
        if !write(&summary, false) {
            return;
        }
        pause = interval;
    }
}

/// Writes the last one.
pub(crate) fn write_last(summary: &Summary) {
    write(summary, true);
}

/// False when there is nothing to be written any more.
fn write(summary: &Summary, is_last: bool) -> bool {
    let Some(mut file) = FILE.get().and_then(|file| own_thread::hold(file, "the summary")) else { return false };
    if file.is_whole && !is_last {
        return false;
    }
    file.is_whole |= is_last;
    file.look_at_earlier();
    let written = files::write_json_as(&mut file.name, summary);
    file.tell(written, is_last);
    true
}

impl File {
    /// What was there before this process began is looked at once. One that another process writes from here on is
    /// known by its time.
    fn look_at_earlier(&mut self) {
        if self.fate.is_none() && files::is_replaced(self.name.place()) {
            let fate = Fate::of(self.name.place(), &origin::own());
            if fate == Fate::Stays {
                self.name.keep_earlier();
            }
            self.fate = Some(fate);
        }
    }

    /// Says once which name it has, if another one than was asked for, and which file it has replaced; and what was in
    /// the way, at the end in any case.
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

    /// What is to be said of the name. All ranks with one name, and all of a program that is started again, say the
    /// same: the first ones do.
    fn line_of_name(&self, rank: Option<u32>) -> Option<String> {
        let (place, asked) = (self.name.place().display(), self.name.asked().display());
        let is_earlier = self.name.is_beside_earlier();
        let says = match is_earlier || !self.name.is_another() {
            true => rank.is_none_or(|rank| rank == 0),
            // one of the two has the name itself
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

/// How each process gets a file of its own, by the name that was set.
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
