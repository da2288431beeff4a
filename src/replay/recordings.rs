//! The recordings of a replay beside each other: each process once, and what they lack.
//!
//! What stands in their first lines is known before the replay. One that cannot be read is passed over here: its replay
//! says what is wrong with it.

use crate::capture::{self, Meta};
use common::summary::Summary;
use common::visible::visible;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Recordings that lack callbacks, by name.
const MOST: usize = 5;

/// One process twice: figures would count twice.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Repeated {
    /// Two files of one process.
    #[error("{} and {} are recordings of one process ({of}): its figures would count twice. Leave one of them out", one.display(), other.display())]
    Process { one: PathBuf, other: PathBuf, of: String },
    /// Two files that say they are one rank.
    #[error(
        "rank {rank} of communicator {comm} is in {} and in {}: its figures would count twice. Leave one of them out",
        one.display(),
        other.display()
    )]
    Rank { comm: String, rank: i32, one: PathBuf, other: PathBuf },
}

/// A recording, by its first line.
#[derive(Debug)]
struct Recording {
    path: PathBuf,
    meta: Option<Meta>,
}

/// All recordings of a replay, in their order.
#[derive(Debug)]
pub(crate) struct Recordings(Vec<Recording>);

/// What tells a process from all others.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Process {
    /// Its own number.
    Number(String),
    /// Of an older recorder, which gave none: process id and both clocks at its begin.
    Begin(i32, u64, u64),
    /// Of a file that says neither.
    File(PathBuf),
}

impl Recording {
    fn process(&self) -> Process {
        let file = || Process::File(self.path.canonicalize().unwrap_or_else(|_| self.path.clone()));
        let Some(meta) = &self.meta else { return file() };
        match &meta.origin.id {
            Some(id) => Process::Number(id.clone()),
            None if meta.real0 > 0 => Process::Begin(meta.pid, meta.real0, meta.mono0),
            None => file(),
        }
    }

    /// The process as a person knows it.
    fn called(&self) -> String {
        let Some(meta) = &self.meta else { return "the same file".into() };
        let host = meta.origin.host.as_ref().map_or_else(String::new, |host| format!(" on {}", visible(host)));
        let begun = meta.origin.started.as_ref().map_or_else(String::new, |begun| format!(", begun {begun}"));
        format!("process {}{host}{begun}", meta.pid)
    }
}

impl Recordings {
    pub(crate) fn of(captures: &[PathBuf]) -> Self {
        let recording = |path: &PathBuf| Recording { path: path.clone(), meta: capture::read_meta(path).ok() };
        Self(captures.iter().map(recording).collect())
    }

    /// Whether each process is there once, as the first lines have it. Of two files of one process, one that cannot be
    /// replayed does not count: its replay leaves it out.
    ///
    /// # Errors
    /// Two files of one process.
    pub(crate) fn check_processes(&self) -> Result<(), Repeated> {
        let mut seen: HashMap<Process, &Path> = HashMap::new();
        for recording in &self.0 {
            let (process, path) = (recording.process(), recording.path.as_path());
            let Some(&one) = seen.get(&process) else {
                seen.insert(process, path);
                continue;
            };
            // one without a first line may be a pipe, which can be read once
            let is_good = |path: &Path| recording.meta.is_none() || capture::Recording::open(path).is_ok();
            if !is_good(one) {
                seen.insert(process, path);
            } else if is_good(path) {
                return Err(Repeated::Process {
                    one: one.into(),
                    other: recording.path.clone(),
                    of: recording.called(),
                });
            }
        }
        Ok(())
    }

    /// The same by what they hold: no two processes have one rank of a communicator. `place` is that of a process'
    /// recording here.
    ///
    /// # Errors
    /// Two files with the same rank.
    pub(crate) fn check_ranks(
        &self,
        summary: &Summary,
        place: impl Fn(usize) -> Option<usize>,
    ) -> Result<(), Repeated> {
        let Some(repeated) = summary.repeated() else { return Ok(()) };
        let [one, other] = repeated.processes.map(|process| {
            let recording = place(process as usize).and_then(|place| self.0.get(place));
            recording.map_or_else(PathBuf::new, |recording| recording.path.clone())
        });
        Err(Repeated::Rank { comm: repeated.comm, rank: repeated.rank, one, other })
    }

    /// What is to be said last, where recordings lack callbacks.
    pub(crate) fn lacking(&self) -> Option<String> {
        let lacking = self.0.iter().filter_map(|recording| {
            let meta = recording.meta.as_ref().filter(|meta| meta.dropped > 0)?;
            let full = |at: u64| format!(", full after {:.1} s", at as f64 / 1e9);
            let name = visible(&recording.path.display().to_string());
            // the head of a process that was killed has no end, and its count is as old as the head
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
