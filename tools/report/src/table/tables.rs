//! The files of a dataset as the operations' tables of a job.

use super::assembly::{assemble, by_rank};
use super::rows::{FileRows, footer};
use super::{About, FILE};
use crate::job::{Job, OperationTables, ProcessOperations, Unreadable};
use common::conditions::ConditionRow;
use common::summary::Summary;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The tables of a job: a file for each process, in the order of [`Job::processes`].
#[derive(Debug, Clone, Default)]
pub struct Tables {
    files: Vec<PathBuf>,
    rows: u64,
}

/// What was found in datasets and files.
#[derive(Debug, Clone, Default)]
pub struct OpenedTables {
    /// The job.
    pub job: Job,
    /// Its tables.
    pub tables: Tables,
    /// The paths as they were given, each with the number of its processes that are in the job.
    pub inputs: Vec<(PathBuf, u64)>,
    /// The paths and files that were left out.
    pub left_out: Vec<Unreadable>,
    /// Remarks for people, a sentence each.
    pub notes: Vec<String>,
}

impl Tables {
    /// Reads the footers of files and of datasets. A file that cannot be read is left out, and so is a second file of
    /// one process.
    pub fn open(paths: &[PathBuf]) -> OpenedTables {
        Self::open_without(paths, &BTreeMap::new())
    }

    /// Like [`Tables::open`], without these files, each of which has its cause.
    pub fn open_without(paths: &[PathBuf], unreadable: &BTreeMap<PathBuf, String>) -> OpenedTables {
        let (mut inputs, mut left_out) = (Vec::new(), Vec::new());
        let (mut files, mut abouts): (Vec<PathBuf>, Vec<About>) = Default::default();
        let mut seen: BTreeMap<String, PathBuf> = BTreeMap::new();
        let mut rows = 0_u64;
        for path in paths {
            let before = files.len();
            let found = files_of(path).unwrap_or_else(|error| {
                left_out.push(error);
                Vec::new()
            });
            for file in found {
                let cause = unreadable.get(&file).cloned();
                let refused = cause.map(|cause| Unreadable::whole(&file, cause));
                match refused.map_or_else(|| about(&file, &seen), Err) {
                    Ok((about, of_file)) => {
                        rows = rows.saturating_add(of_file);
                        seen.insert(about.process.id.clone(), file.clone());
                        abouts.push(about);
                        files.push(file);
                    }
                    Err(error) => left_out.push(error),
                }
            }
            inputs.push((path.clone(), (files.len() - before) as u64));
        }
        let order = by_rank(&abouts);
        let abouts: Vec<About> = order.iter().filter_map(|&place| abouts.get(place).cloned()).collect();
        let files = order.iter().filter_map(|&place| files.get(place).cloned()).collect();
        let (job, notes) = assemble(&abouts);
        OpenedTables { job, tables: Self { files, rows }, inputs, left_out, notes }
    }

    /// Returns the number of operations in all tables.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the file of a process.
    pub fn file(&self, process: usize) -> Option<&Path> {
        self.files.get(process).map(PathBuf::as_path)
    }

    /// Reads the summary of a process; `None` where its file has none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn summary(&self, process: usize) -> Result<Option<Summary>, Unreadable> {
        let file = self.files.get(process).ok_or_else(|| unknown(process))?;
        let (_, metadata) = footer(file)?;
        About::summary(metadata.file_metadata(), &file.display().to_string())
    }
}

impl OperationTables for Tables {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        Ok(Box::new(FileRows::open(self.files.get(process).ok_or_else(|| unknown(process))?)?))
    }

    fn conditions(&self, process: usize) -> Result<Vec<ConditionRow>, Unreadable> {
        let file = self.files.get(process).ok_or_else(|| unknown(process))?;
        let (_, metadata) = footer(file)?;
        About::conditions(metadata.file_metadata(), &file.display().to_string())
    }
}

/// Reads the footer of a file and its number of rows, unless another file is of the same process.
fn about(file: &Path, seen: &BTreeMap<String, PathBuf>) -> Result<(About, u64), Unreadable> {
    let name = file.display().to_string();
    let (_, metadata) = footer(file)?;
    let about = About::read(metadata.file_metadata(), &name)?;
    match seen.get(&about.process.id) {
        None => Ok((about, u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0))),
        Some(other) => {
            let cause = format!(
                "is of process {}, as {} is: its operations would count twice, so this file is left out",
                about.process.id,
                other.display()
            );
            Err(Unreadable::whole(name, cause))
        }
    }
}

fn unknown(process: usize) -> Unreadable {
    Unreadable::whole(format!("process {process}"), "there is no table of this process")
}

/// Returns the file itself, or the files of a dataset by name.
///
/// # Errors
/// It is a directory that cannot be read or has no table.
pub fn files_of(path: &Path) -> Result<Vec<PathBuf>, Unreadable> {
    let wrong = |cause: String| Unreadable::whole(path, cause);
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let own = path.join(FILE);
    if own.is_file() {
        return Ok(vec![own]);
    }
    let mut found = Vec::new();
    for entry in path.read_dir().map_err(|error| wrong(error.to_string()))? {
        let entry = entry.map_err(|error| wrong(error.to_string()))?;
        let file = entry.path().join(FILE);
        if entry.file_name().to_string_lossy().starts_with("process=") && file.is_file() {
            found.push(file);
        }
    }
    if found.is_empty() {
        return Err(wrong(format!("there is no table (process=*/{FILE}) in this directory")));
    }
    found.sort();
    Ok(found)
}
