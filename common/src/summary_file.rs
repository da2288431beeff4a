//! The file of this process' summary: written every so often while the process runs, so that one that is killed leaves one, and at its end.

use crate::base::files::{self, Earlier, Name};
use crate::base::{lock, log, own_thread};
use crate::config::Settings;
use crate::control;
use crate::record::thread::ThreadCell;
use crate::summary::Summary;
use std::io;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// How long one that is written while the process runs may wait for the collector: what is busy for so long has the next one ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// That of this process, where one is set.
static FILE: OnceLock<Mutex<File>> = OnceLock::new();

struct File {
    name: Name,
    /// The last one is written: an earlier state must not take its place.
    is_whole: bool,
    told_name: bool,
    told_failure: bool,
}

/// Begins to write it, where one is set. Called once, before the first event.
pub(crate) fn begin(settings: &Settings) {
    let Some(path) = &settings.summary else { return };
    let path = files::expand(path);
    // the program may change its working directory later; descriptors are no places
    let place = if files::is_replaced(&path) { std::path::absolute(&path).unwrap_or(path) } else { path };
    let name = Name::new(&place, Earlier::Replaced);
    // it is called once
    let _ = FILE.set(Mutex::new(File { name, is_whole: false, told_name: false, told_failure: false }));
    // what goes into a pipe or a device cannot be taken back there
    let Some(interval) = settings.summary_interval().filter(|_| files::is_replaced(&place)) else { return };
    if let Err(error) = own_thread::spawn("scorep-nccl-sum", move || write_every(interval)) {
        log::warn(&format!("no thread to write the summary while the process runs ({error}): it is written at its end"));
    }
}

/// Has the thread write what there is, as long as something happens.
fn write_every(interval: Duration) {
    let mut seen = 0;
    loop {
        std::thread::sleep(interval);
        let callbacks = ThreadCell::all_callbacks();
        if std::mem::replace(&mut seen, callbacks) == callbacks {
            continue;
        }
        let Some(mut summary) = control::summary_within(PATIENCE) else { continue };
        summary.complete = false;
        if !write(&summary, false) {
            return;
        }
    }
}

/// Writes the last one.
pub(crate) fn write_last(summary: &Summary) {
    write(summary, true);
}

/// False when there is nothing to be written any more.
fn write(summary: &Summary, is_last: bool) -> bool {
    let Some(mut file) = FILE.get().and_then(lock::hold) else { return false };
    if file.is_whole && !is_last {
        return false;
    }
    file.is_whole |= is_last;
    let written = files::write_json_as(&mut file.name, summary);
    file.tell(written, is_last);
    true
}

impl File {
    /// Says once which name it has, if another one than was asked for, and what was in the way; at the end in any case.
    fn tell(&mut self, written: io::Result<()>, is_last: bool) {
        let place = self.name.place().display();
        match written {
            Ok(()) if self.name.is_another() && !self.told_name => {
                self.told_name = true;
                let asked = self.name.asked().display();
                log::warn(&format!(
                    "the summary of this process is in {place}: {asked} is another process' file, or another user's. NCCL_SCOREP_SUMMARY with %r or %p \
                     in it gives each process its own"
                ));
            }
            Err(error) if is_last || !self.told_failure => {
                self.told_failure = true;
                log::warn(&format!("the summary could not be written to {place}: {error}"));
            }
            _ => {}
        }
    }
}
