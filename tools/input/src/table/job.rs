//! The table of one recording: starts the child process, and gives its file the final name.

use super::child;
use crate::inherited::Inherited;
use crate::offspring;
use crate::replay::job::{play, settings};
use crate::replay::{ReplayError, request::WINDOW_SECONDS};
use common::files::Directory;
use indicatif::ProgressBar;
use present::output::leftovers;
use report::table::FILE;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The table of one recording.
pub(super) struct TableJob<'a> {
    pub(super) capture: &'a Path,
    pub(super) dataset: &'a Directory,
    /// The dataset's path, for people.
    pub(super) to: &'a Path,
    /// Directory for the job's files.
    pub(super) scratch: &'a Path,
    pub(super) number: usize,
    pub(super) bar: &'a ProgressBar,
    /// Settings that the child inherits.
    pub(super) settings: &'a Inherited,
}

impl TableJob<'_> {
    /// Runs the child and returns the path of the table.
    pub(super) fn run(&self) -> Result<PathBuf, ReplayError> {
        let own = self.scratch.join(self.number.to_string());
        fs::create_dir(&own).map_err(|error| ReplayError::io(&own, error))?;
        let made = self.child(&own).and_then(|()| self.name(&own));
        // files of a recording may be as large as the recording
        let _ = fs::remove_dir_all(&own);
        made
    }

    fn child(&self, own: &Path) -> Result<(), ReplayError> {
        let summary = own.join("summary.json");
        let mut command = offspring::of_own(child::COMMAND).map_err(|error| ReplayError::io(self.capture, error))?;
        command.arg(self.scratch).arg(self.capture).arg(&summary).arg(own);
        settings(&mut command, &summary, WINDOW_SECONDS, self.settings);
        // neither lanes nor arrivals: the operations themselves come out
        command.env("NCCL_SCOREP_LANES", "off").env("NCCL_SCOREP_GATHER_KB", "0");
        if !self.settings.has("NCCL_SCOREP_LOG") {
            // the summary has all remarks on a replay
            command.env("NCCL_SCOREP_LOG", "off");
        }
        play(command, self.capture, own, self.bar, |status| status.success()).map(drop)
    }

    /// Moves the child's table, the only one in its directory, to its place.
    fn name(&self, own: &Path) -> Result<PathBuf, ReplayError> {
        let made = own.read_dir().and_then(|mut entries| {
            let is_table = |entry: &fs::DirEntry| entry.path().join(FILE).is_file();
            let found = entries.find_map(|entry| entry.map(|entry| is_table(&entry).then_some(entry)).transpose());
            found.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
        });
        let made = made.map_err(|error| ReplayError::io(own, error))?;
        let place = self.to.join(made.file_name()).join(FILE);
        let moved = leftovers::undisturbed(|| {
            let directory = Directory::made(&self.dataset.reach().join(made.file_name()))?;
            fs::rename(made.path().join(FILE), directory.reach().join(FILE))
        });
        moved.map(|()| place.clone()).map_err(|error| ReplayError::io(&place, error))
    }
}
