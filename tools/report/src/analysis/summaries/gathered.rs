//! Summaries as they are gathered, file by file.

use super::arrived::Arrived;
use super::parts::{GatheredOfAll, GatheredParts};
use super::read;
use super::sums::{FunctionSums, is_others};
use crate::analysis::transfers::TransferSums;
use crate::analysis::{conditions, pairs};
use crate::answer::{Input, Report};
use crate::job::{DimensionRule, Links, Unreadable};
use common::summary::{Summary, SummaryCommunicator, SummaryProcess, Transfers};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The report of one of the jobs that the summaries are of.
#[derive(Debug, Clone, PartialEq)]
pub struct JobReport {
    /// Name of the job by scheduler and launcher, where a process has it.
    pub name: Option<String>,
    /// The report.
    pub report: Report,
}

/// What was gathered.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    of_all: GatheredOfAll,
    /// Files that were left out.
    unreadable: Vec<Unreadable>,
    /// The inputs by the processes in them.
    seen: FxHashMap<String, usize>,
    /// Each process by itself, without its operations, transfers and counters.
    processes: Vec<Summary>,
    /// By communicator.
    sums: BTreeMap<String, FunctionSums>,
    /// Sums of communicators that are not told apart, by the file's first process.
    others: BTreeMap<u32, FunctionSums>,
    transfers: Vec<Transfers>,
    by_state: TransferSums,
    arrived: Arrived,
}

/// Returns what identifies a process: its random number or, in older summaries, where and when it ran.
fn identity(process: &SummaryProcess) -> Option<String> {
    let origin = &process.origin;
    let older = || Some(format!("{} {} {}", origin.host.as_ref()?, process.pid, origin.started.as_ref()?));
    origin.id.clone().or_else(older)
}

impl Gathered {
    /// Makes an empty collection for this number of files.
    pub(super) fn with_files(count: usize) -> Self {
        Self { arrived: Arrived::with_files(count), ..Self::default() }
    }

    /// Adds a file.
    pub(super) fn add(&mut self, path: &Path) {
        let path_text = path.display().to_string();
        let read = read::read(path).and_then(|summary| self.check_processes(summary, &path_text));
        let (processes, problem) = match read {
            Ok(summary) => (self.take(summary), None),
            Err(error) => {
                let problem = error.to_string();
                self.unreadable.push(error);
                (0, Some(problem))
            }
        };
        self.of_all.inputs.push(Input { path: path_text, kind: "summary".into(), processes, problem });
    }

    /// Refuses a summary with a process of an earlier one.
    fn check_processes(&mut self, summary: Summary, path: &str) -> Result<Summary, Unreadable> {
        let identities: Vec<String> = summary.processes.iter().filter_map(identity).collect();
        for (identity, process) in identities.iter().zip(&summary.processes) {
            if let Some(earlier) = self.seen.get(identity).and_then(|&place| self.of_all.inputs.get(place)) {
                let rank = process.origin.rank.map_or_else(String::new, |rank| format!(" (rank {rank})"));
                let cause = format!("its process {}{rank} is already in {}", process.process, earlier.path);
                return Err(Unreadable { file: path.to_owned(), place: None, cause });
            }
        }
        let place = self.of_all.inputs.len();
        self.seen.extend(identities.into_iter().map(|identity| (identity, place)));
        Ok(summary)
    }

    /// Takes a summary apart. Returns the number of its processes.
    fn take(&mut self, summary: Summary) -> u64 {
        let first = u32::try_from(self.processes.len()).unwrap_or(u32::MAX);
        for row in &summary.operations {
            let sums = if is_others(&row.comm) {
                self.others.entry(first).or_default()
            } else {
                self.sums.entry(row.comm.clone()).or_default()
            };
            sums.add(row);
        }
        for row in summary.transfers {
            if self.transfers.len() < pairs::MAX_PAIRS {
                self.transfers.push(row);
            } else {
                self.of_all.left_out = self.of_all.left_out.saturating_add(row.transfers);
            }
        }
        self.by_state.add(&summary.states, &summary.operation_transfers);
        let count = summary.processes.len() as u64;
        let (communicators, mut rest) = (summary.communicators, Some((summary.clocks, summary.lateness)));
        let (mut bandwidth, mut notes) = (summary.bandwidth, summary.notes);
        for process in summary.processes {
            let number = process.process;
            let of_process = |communicator: &SummaryCommunicator| {
                let mut own = communicator.clone();
                own.ranks.retain(|place| place.process == number);
                (!own.ranks.is_empty()).then_some(own)
            };
            let communicators: Vec<_> = communicators.iter().filter_map(of_process).collect();
            let mut process = SummaryProcess { counters: BTreeMap::new(), series: BTreeMap::new(), ..process };
            if !summary.complete {
                self.of_all.cut.extend(u32::try_from(self.processes.len()).ok());
            }
            let own = u32::try_from(self.processes.len()).unwrap_or(u32::MAX);
            let gpus = communicators.iter().map(|it| it.ranks.len()).max().unwrap_or(1);
            let rows = std::mem::take(&mut process.conditions);
            self.of_all.conditions.extend(conditions::of_process(rows, gpus).map(|of| (own, of)));
            if self.arrived.take(own, &mut process) {
                // of its own ranks alone: it is compared with the other processes
                (rest, bandwidth, notes) = (None, vec![], vec![]);
            }
            // what is of all processes stays with the first one
            let (clocks, lateness) = rest.take().unwrap_or_default();
            self.processes.push(Summary {
                processes: vec![process],
                communicators,
                clocks,
                lateness,
                bandwidth: std::mem::take(&mut bandwidth),
                notes: std::mem::take(&mut notes),
                ..Summary::merge(vec![])
            });
        }
        count
    }

    /// Returns the reports, and the files that were left out.
    pub(super) fn finish(mut self, rules: &[DimensionRule], links: &Links) -> (Vec<JobReport>, Vec<Unreadable>) {
        if self.processes.is_empty() {
            return (vec![], self.unreadable);
        }
        let merged = Summary::merge(self.processes.clone());
        let mut jobs = merged.apart(std::mem::take(&mut self.processes));
        if jobs.is_empty() {
            jobs.push(merged);
        }
        let several = jobs.len() > 1;
        let mut reports = vec![];
        for mut summary in jobs {
            self.arrived.compare(&mut summary);
            if several {
                let note = "The inputs are of several jobs: each has its own report.".to_owned();
                summary.notes.insert(0, note);
            }
            let of_job = |sums: &mut BTreeMap<String, FunctionSums>| -> BTreeMap<String, FunctionSums> {
                let comms = summary.communicators.iter().map(|communicator| communicator.comm.clone());
                comms.filter_map(|comm| sums.remove(&comm).map(|sum| (comm, sum))).collect()
            };
            let sums = of_job(&mut self.sums);
            let mut others = FunctionSums::default();
            for process in &summary.processes {
                others.merge(self.others.remove(&process.process).unwrap_or_default());
            }
            let comms: BTreeSet<&str> = summary.communicators.iter().map(|row| row.comm.as_str()).collect();
            let is_own = |row: &Transfers| !several || comms.contains(row.comm.as_str());
            let (own, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.transfers).into_iter().partition(is_own);
            self.transfers = rest;
            let places: BTreeSet<u64> = comms.iter().filter_map(|comm| u64::from_str_radix(comm, 16).ok()).collect();
            let by_state = self.by_state.split_off(|comm| !several || places.contains(&comm));
            let name = summary.jobs.first().and_then(|job| job.name.clone());
            let of_summaries = GatheredParts {
                summary: &summary,
                sums: &sums,
                others: &others,
                transfers: &own,
                by_state: &by_state,
                of_all: &self.of_all,
                links,
            };
            reports.push(JobReport { name, report: of_summaries.report(rules) });
        }
        (reports, self.unreadable)
    }
}
