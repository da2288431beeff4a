//! The judge of a job that runs, as a pure function of looks at its processes: no clock, no file.
//!
//! ```text
//! look ──► jobs ──► communicator ──► window ──► track ──► place ──► job ──► findings
//!         (by shared (marks joined   (own time  (held in  (a rank   (nodes, ranks, pauses,
//!          names)     over ranks)     by peers)  a row)    of all)    links, hangs, end)
//! ```
//! Memory is bounded by the ranks, not by the length of the job: 900 bytes a rank and communicator, 150 a link.

mod communicator;
pub(crate) mod finding;
mod hang;
mod job;
mod jobs;
mod link;
mod place;
pub(super) mod sentence;
mod speaking;
mod track;
mod window;

use crate::diagnosis::{Condition, of_latest_run};
use crate::statuses::Observed;
use finding::WatchFinding;
use job::WatchedJob;
pub(super) use job::{JobState, RankState};
use jobs::divided;
use std::collections::{BTreeMap, BTreeSet};

/// Nanoseconds for which a job without files is kept: a file system may be away for a while.
const KEPT: u64 = 900_000_000_000;
/// Most jobs of a directory.
const MOST_JOBS: usize = 64;

/// The judge.
#[derive(Debug, Default)]
pub(super) struct Judge {
    /// Waits up to this many seconds are no hang.
    after: f64,
    /// Whether nothing waits for a further look.
    is_hasty: bool,
    jobs: BTreeMap<u64, WatchedJob>,
    /// Job of each file.
    files: BTreeMap<String, u64>,
    number: u64,
    /// Files of the first look: a job of these that does not run is an earlier one.
    earlier: Option<BTreeSet<String>>,
}

impl Judge {
    /// Begins without any knowledge.
    pub(super) fn new(after: f64, is_hasty: bool) -> Self {
        Self { after, is_hasty, ..Self::default() }
    }

    /// Takes a look at the processes of a directory at `time`, nanoseconds since the Epoch, and `now`, seconds by a
    /// clock that does not jump. Returns what is new.
    pub(super) fn take(&mut self, mut processes: Vec<Observed>, time: u64, now: f64) -> Vec<WatchFinding> {
        if self.earlier.is_none() {
            self.earlier = Some(processes.iter().map(|process| process.file.clone()).collect());
        }
        // files of earlier runs in the directory say nothing of this one
        let mut latest = of_latest_run(&processes).into_iter();
        processes.retain(|process| {
            let is_latest = latest.next().unwrap_or(true);
            if !is_latest {
                self.files.remove(&process.file);
            }
            is_latest
        });
        let jobs = divided(&processes);
        let mut of: Vec<Option<Observed>> = processes.drain(..).map(Some).collect();
        let (mut findings, mut taken) = (vec![], BTreeSet::new());
        for job in jobs {
            let processes: Vec<Observed> = job.processes.iter().filter_map(|&index| of[index].take()).collect();
            let number = self.number_of(&processes, job.name.as_deref(), &taken);
            let is_new = !self.jobs.contains_key(&number);
            if is_new && (self.jobs.len() >= MOST_JOBS || self.is_earlier(&processes)) {
                continue;
            }
            taken.insert(number);
            self.number = self.number.max(number);
            for process in &processes {
                if self.files.get(&process.file) != Some(&number) {
                    self.files.insert(process.file.clone(), number);
                }
            }
            let watched = self.jobs.entry(number).or_default();
            if job.name.is_some() {
                watched.name = job.name;
            }
            watched.seen = (now * 1e9) as u64;
            findings.extend(watched.take(&processes, (self.after, self.is_hasty), time, now));
        }
        self.forget((now * 1e9) as u64);
        findings
    }

    /// Returns the number of a job: that of its files, or of its name after a restart, or a new one. In one look, each
    /// job has a number of its own.
    fn number_of(&self, processes: &[Observed], name: Option<&str>, taken: &BTreeSet<u64>) -> u64 {
        let is_free = |number: &&u64| !taken.contains(number);
        let of_files = processes.iter().filter_map(|process| self.files.get(&process.file)).filter(is_free).min();
        let of_name = || {
            let jobs = self.jobs.iter().filter(|(_, job)| name.is_some() && job.name.as_deref() == name);
            jobs.map(|(number, _)| number).find(is_free)
        };
        of_files.or_else(of_name).copied().unwrap_or(self.number + 1)
    }

    /// Returns whether all files of a job were there at the first look, and nothing of it runs.
    fn is_earlier(&self, processes: &[Observed]) -> bool {
        let is_there = |process: &Observed| {
            let is_alive =
                matches!(Condition::of(process), Condition::Runs | Condition::Stopped | Condition::Unwritten);
            is_alive || self.earlier.as_ref().is_some_and(|earlier| !earlier.contains(&process.file))
        };
        !self.is_hasty && !processes.iter().any(is_there)
    }

    /// Forgets jobs whose files have been gone for long, and those whose files belong to another one now: processes
    /// are jobs of their own until a communicator joins them.
    fn forget(&mut self, now: u64) {
        let with_files: BTreeSet<u64> = self.files.values().copied().collect();
        let count = self.jobs.len();
        self.jobs.retain(|number, job| with_files.contains(number) && now.saturating_sub(job.seen) < KEPT);
        if self.jobs.len() < count {
            let left: BTreeSet<u64> = self.jobs.keys().copied().collect();
            self.files.retain(|_, job| left.contains(job));
        }
    }

    /// Returns whether there were jobs, and all of them are over.
    pub(super) fn is_over(&self) -> bool {
        !self.jobs.is_empty() && self.jobs.values().all(|job| job.is_over)
    }

    /// Returns the state of each job.
    pub(super) fn states(&self) -> Vec<JobState> {
        self.jobs.iter().map(|(number, job)| job.state(*number)).collect()
    }
}
