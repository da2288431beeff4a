//! The exporter to a file for the textfile collector of Prometheus' node_exporter: one file for each process, rewritten
//! at every export.
//!
//! node_exporter puts all files of its directory together. It drops a series that occurs twice, or whose help text
//! differs in another file, and only its log tells. So every series names its process, and no help text depends on the
//! process.

mod place;
mod resource;
mod text;

use crate::base::files;
use crate::config;
use crate::export::{Exporter, Family, ProcessIdentity, interval};
use place::TextfilePlace;
use std::path::Path;
use std::time::Duration;

/// Makes the exporter to a directory, given as in the setting.
///
/// # Errors
/// Why there is none, in words.
pub(crate) fn exporter(directory: &Path, identity: &ProcessIdentity) -> Result<Box<dyn Exporter>, String> {
    let interval = interval::told(config::of_environment)?;
    // the program may change its working directory later
    let directory = std::path::absolute(files::expand(directory))
        .map_err(|error| format!("NCCL_SCOREP_PROM_DIR is no directory's name ({error})"))?;
    let process = identity.process_name.clone();
    let place = TextfilePlace::new(directory, &identity.host, &process);
    Ok(Box::new(Textfile { interval, place, info: text::info(identity, &process, &resource::labels()), process }))
}

struct Textfile {
    interval: Duration,
    place: TextfilePlace,
    /// Name of the process, unique on the machine.
    process: String,
    /// The series with the process' identity, as text.
    info: String,
}

impl Exporter for Textfile {
    fn interval(&self) -> Duration {
        self.interval
    }

    /// `patience` is ignored: a file system may take any time, which is why there is a thread for it.
    fn export(&mut self, families: &[Family], _patience: Duration) -> Result<(), String> {
        let written = self.place.write(&(text::of(families, &self.process) + &self.info))?;
        self.place.remove_old(written, self.interval);
        Ok(())
    }
}
