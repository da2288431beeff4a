//! The summary as files in Score-P's experiment directory.

use common::summary::Summary;
use common::{files, report};
use std::io;
use std::path::{Path, PathBuf};

/// The directory and the name of the files.
#[derive(Debug)]
pub(crate) struct JobFiles<'a> {
    directory: &'a Path,
    /// `summary`, or `summary.<rank>`.
    stem: String,
}

impl<'a> JobFiles<'a> {
    /// Names the files of the whole job, or of one process alone.
    pub(crate) fn new(directory: &'a Path, rank: Option<usize>) -> Self {
        let stem = rank.map_or_else(|| "summary".into(), |rank| format!("summary.{rank}"));
        Self { directory, stem }
    }

    /// Writes `summary.json` and, for the whole job, `summary.txt`.
    ///
    /// # Errors
    /// The path that cannot be written, and why.
    pub(crate) fn write(&self, summary: &Summary) -> Result<(), String> {
        let at = |path: PathBuf| move |error: io::Error| format!("{}: {error}", path.display());
        // only beside the files of Score-P: on a node that does not see its directory, nobody would look for the files
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
