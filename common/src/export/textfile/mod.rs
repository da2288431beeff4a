//! Figures in a file for the textfile collector of Prometheus' node_exporter: one file a process, written anew at every
//! export.
//!
//! node_exporter puts all files of its directory together, and leaves out, with a line in its log alone, what is there
//! twice or has another help text in another file. So every series says whose it is, and no help text depends on the
//! process.

mod place;
mod text;

use crate::base::files;
use crate::export::{Exporter, Family, Identity, interval};
use place::Place;
use std::path::Path;
use std::time::Duration;

/// What writes to that directory, which is as the setting has it.
///
/// # Errors
/// Why there is none, in words.
pub(crate) fn exporter(directory: &Path, identity: &Identity) -> Result<Box<dyn Exporter>, String> {
    let interval = interval::told(|name| std::env::var(name).ok())?;
    // the program may change its working directory later
    let directory = std::path::absolute(files::expand(directory))
        .map_err(|error| format!("NCCL_SCOREP_PROM_DIR is no directory's name ({error})"))?;
    let process = identity.process_name.clone();
    let place = Place::new(directory, &identity.host, &process);
    Ok(Box::new(Textfile { interval, place, info: text::info(identity, &process), process }))
}

struct Textfile {
    interval: Duration,
    place: Place,
    /// As no other of this machine is called.
    process: String,
    /// What is known of it, written down.
    info: String,
}

impl Exporter for Textfile {
    fn interval(&self) -> Duration {
        self.interval
    }

    /// A file system may take its time, which is why there is a thread for it.
    fn export(&mut self, families: &[Family], _patience: Duration) -> Result<(), String> {
        let written = self.place.write(&(text::of(families, &self.process) + &self.info))?;
        self.place.remove_old(written, self.interval);
        Ok(())
    }
}
