//! Checks over all recordings of a replay: each process occurs once, and which callbacks they lack.
//!
//! The checks use the first lines, which are known before the replay. A recording that cannot be read is passed over
//! here; its replay reports the error.

use common::summary::Summary;
use common::visible::visible;
use recording::Meta;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Largest number of incomplete recordings that are named.
const MOST: usize = 5;

/// Two recordings of one process: its figures would count twice.
#[derive(Debug, thiserror::Error)]
pub enum RepeatedRecording {
    /// Two files have the same process in their first lines.
    #[error("{} and {} are recordings of one process ({of}): its figures would count twice. Leave one of them out", one.display(), other.display())]
    Process { one: PathBuf, other: PathBuf, of: String },
    /// Two files have the same rank of a communicator.
    #[error(
        "rank {rank} of communicator {comm} is in {} and in {}: its figures would count twice. Leave one of them out",
        one.display(),
        other.display()
    )]
    Rank { comm: String, rank: i32, one: PathBuf, other: PathBuf },
}

/// A recording with its first line, where that can be read.
#[derive(Debug)]
struct NamedRecording {
    path: PathBuf,
    meta: Option<Meta>,
}

/// All recordings of a replay, in the replay's order.
#[derive(Debug)]
pub(crate) struct Recordings(Vec<NamedRecording>);

impl NamedRecording {
    /// Returns what tells the process from others: the file itself, if its first line cannot be read.
    fn process(&self) -> String {
        let file = || self.path.canonicalize().unwrap_or_else(|_| self.path.clone()).display().to_string();
        self.meta.as_ref().map_or_else(file, |meta| meta.process(&self.path))
    }

    /// Returns the process in words for messages.
    fn called(&self) -> String {
        let Some(meta) = &self.meta else { return "the same file".into() };
        let host = meta.origin.host.as_ref().map_or_else(String::new, |host| format!(" on {}", visible(host)));
        let begun = meta.origin.started.as_ref().map_or_else(String::new, |begun| format!(", begun {begun}"));
        format!("process {}{host}{begun}", meta.pid)
    }
}

impl Recordings {
    pub(crate) fn of(captures: &[PathBuf]) -> Self {
        let recording = |path: &PathBuf| NamedRecording { path: path.clone(), meta: recording::read_meta(path).ok() };
        Self(captures.iter().map(recording).collect())
    }

    /// Checks by the first lines that each process occurs once. If one of two files of a process cannot be replayed, it
    /// does not count: its replay leaves it out.
    ///
    /// # Errors
    /// When two files are of one process.
    pub(crate) fn check_processes(&self) -> Result<(), RepeatedRecording> {
        let mut seen: HashMap<String, &Path> = HashMap::new();
        for recording in &self.0 {
            let (process, path) = (recording.process(), recording.path.as_path());
            let Some(&one) = seen.get(&process) else {
                seen.insert(process, path);
                continue;
            };
            // a file without a first line may be a pipe, which can be read only once
            let is_good = |path: &Path| recording.meta.is_none() || recording::KeptRecording::open(path).is_ok();
            if !is_good(one) {
                seen.insert(process, path);
            } else if is_good(path) {
                return Err(RepeatedRecording::Process {
                    one: one.into(),
                    other: recording.path.clone(),
                    of: recording.called(),
                });
            }
        }
        Ok(())
    }

    /// Checks by the replayed contents that no two processes have the same rank of a communicator. `place` maps a
    /// process of the summary to the place of its recording.
    ///
    /// # Errors
    /// When two files have the same rank.
    pub(crate) fn check_ranks(
        &self,
        summary: &Summary,
        place: impl Fn(usize) -> Option<usize>,
    ) -> Result<(), RepeatedRecording> {
        let Some(repeated) = summary.repeated() else { return Ok(()) };
        let [one, other] = repeated.processes.map(|process| {
            let recording = place(process as usize).and_then(|place| self.0.get(place));
            recording.map_or_else(PathBuf::new, |recording| recording.path.clone())
        });
        Err(RepeatedRecording::Rank { comm: repeated.comm, rank: repeated.rank, one, other })
    }

    /// Returns the remark on recordings that lack callbacks, or `None` if none does.
    pub(crate) fn lacking(&self) -> Option<String> {
        let lacking = self.0.iter().filter_map(|recording| {
            let meta = recording.meta.as_ref().filter(|meta| meta.dropped > 0)?;
            let full = |at: u64| format!(", full after {:.1} s", at as f64 / 1e9);
            let name = visible(&recording.path.display().to_string());
            // a killed process has written no end, and the count in its first line is older than its last callbacks
            let at_least = if meta.origin.id.is_some() && meta.origin.ended.is_none() { "at least " } else { "" };
            Some(format!("{name} ({at_least}{}{})", meta.dropped, meta.full.map_or_else(String::new, full)))
        });
        let lacking: Vec<String> = lacking.collect();
        let more =
            lacking.len().checked_sub(MOST + 1).map_or_else(String::new, |more| format!(" and {} more", more + 1));
        let named = lacking[..lacking.len().min(MOST)].join(", ");
        let (count, all) = (lacking.len(), self.0.len());
        (count > 0).then(|| {
            format!(
                "{count} of {all} recordings lack callbacks, so the figures are too small: {named}{more}. A recording that was \
                 full has room for more with a larger NCCL_SCOREP_RECORD_MB"
            )
        })
    }
}
