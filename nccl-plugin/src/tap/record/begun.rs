//! The recording of this process, from its begin to the exit.

use super::file::complain;
use super::{Recording, thread};
use common::config::Settings;
use common::guard::contain;
use common::{files, launch, process};
use std::io;
use std::path::Path;
use std::sync::{Once, OnceLock};

static RECORDING: OnceLock<Option<Recording>> = OnceLock::new();

impl Recording {
    /// Begins the recording, which ends when the process exits. If that fails, writes one line and returns `None`.
    ///
    /// The file system is left to a thread of the library: it may not answer.
    pub fn begin(directory: &Path, settings: &Settings, version: u32) -> Option<&'static Self> {
        let recording = RECORDING.get_or_init(|| {
            let directory = files::expand(directory);
            let made = Self::new(&directory, settings.record_bytes, version).and_then(|made| at_exit().map(|()| made));
            launch::watch(|number, time| {
                if let Some(recording) = RECORDING.get().and_then(Option::as_ref) {
                    recording.kernel(number, time);
                }
            });
            made.map_err(|error| complain(&directory, &error)).ok()
        });
        // after the recording: the thread uses it
        static ONCE: Once = Once::new();
        if let Some(recording) = recording {
            ONCE.call_once(|| thread::begin(recording, settings.record_interval()));
        }
        recording.as_ref()
    }
}

/// Registers the recording to be written when the process exits.
fn at_exit() -> io::Result<()> {
    extern "C" fn finish() {
        contain("exit", None, || RECORDING.get().and_then(Option::as_ref).map(Recording::finish));
    }
    process::at_exit(finish)
}
