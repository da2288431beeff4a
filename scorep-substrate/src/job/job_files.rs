//! The summary as files in Score-P's experiment directory.

use common::summary::Summary;
use common::{files, report};
use std::io;
use std::path::{Path, PathBuf};

/// Where they go.
#[derive(Debug)]
pub(crate) struct JobFiles<'a> {
    directory: &'a Path,
    /// `summary`, or with a rank behind.
    stem: String,
}

impl<'a> JobFiles<'a> {
    /// Of the whole job, or of one rank alone.
    pub(crate) fn new(directory: &'a Path, rank: Option<usize>) -> Self {
        let stem = rank.map_or_else(|| "summary".into(), |rank| format!("summary.{rank}"));
        Self { directory, stem }
    }

    /// Writes `summary.json` and `summary.txt`; of one rank alone the first only.
    ///
    /// # Errors
    /// What cannot be written, with its path.
    pub(crate) fn write(&self, summary: &Summary) -> Result<(), String> {
        let at = |path: PathBuf| move |error: io::Error| format!("{}: {error}", path.display());
        // only where Score-P has made its own: a process elsewhere would leave a directory that nobody looks for
        match self.directory.parent() {
            Some(parent) if parent.is_dir() => {}
            _ => return Err(format!("{}: this node does not see the experiment directory", self.directory.display())),
        }
        files::make_own(self.directory).map_err(at(self.directory.into()))?;
        let path = self.directory.join(format!("{}.json", self.stem));
        files::write_json(&path, summary).map_err(at(path))?;
        if self.stem == "summary" {
            let path = self.directory.join("summary.txt");
            files::write(&path, report::tables(summary).as_bytes()).map_err(at(path))?;
        }
        Ok(())
    }
}
