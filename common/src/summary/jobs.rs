//! Finds the jobs of processes.
//!
//! Processes that share a communicator are of one job, whatever their environments say: NCCL gives all ranks of a
//! communicator the same id. Processes whose jobs have the same name are of one job if they can be of one run: no rank
//! occurs twice, and they ran at the same time. Nameless processes are of one job if they are different ranks of the
//! same number of ranks and ran at the same time. Any other processes are taken to be of different jobs.

use super::runs::{self, RunAbout};
use super::{Summary, SummaryProcess};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryJob {
    /// Name of the job by scheduler and launcher, if one of its processes has it.
    pub name: Option<String>,
    /// Numbers of its processes.
    pub processes: Vec<u32>,
}

/// Disjoint sets of processes. Each place names a place nearer to the first one of its set.
struct Sets(Vec<usize>);

impl Sets {
    fn first(&mut self, mut place: usize) -> usize {
        while self.0[place] != place {
            self.0[place] = self.0[self.0[place]];
            place = self.0[place];
        }
        place
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        self.0[one.max(other)] = one.min(other);
    }
}

impl Summary {
    /// Finds the jobs of the summary's processes, in the order of the processes.
    pub(super) fn find_jobs(&self) -> Vec<SummaryJob> {
        let places: BTreeMap<u32, usize> =
            self.processes.iter().zip(0..).map(|(process, place)| (process.process, place)).collect();
        let mut sets = Sets((0..self.processes.len()).collect());
        for communicator in &self.communicators {
            let of_communicator: Vec<usize> =
                communicator.ranks.iter().filter_map(|at| places.get(&at.process).copied()).collect();
            of_communicator.windows(2).for_each(|pair| sets.join(pair[0], pair[1]));
        }
        let mut parts: BTreeMap<usize, RunAbout<'_>> = BTreeMap::new();
        for (place, process) in self.processes.iter().enumerate() {
            parts.entry(sets.first(place)).or_default().add(place, process);
        }
        let runs = runs::together(parts.into_values().collect());
        let name = |run: &RunAbout<'_>| self.first_name(run);
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        runs.iter().filter_map(name).for_each(|name| *count.entry(name).or_default() += 1);
        let mut number: BTreeMap<String, usize> = BTreeMap::new();
        // runs are numbered in the order of their begins
        let job = |run: RunAbout<'_>| {
            let name = name(&run).map(|name| match count.get(&name) {
                Some(2..) => {
                    let number = number.entry(name.clone()).or_default();
                    *number += 1;
                    format!("{name}, run {number}")
                }
                _ => name,
            });
            let mut places = run.places;
            places.sort_unstable();
            SummaryJob { name, processes: places.into_iter().map(|place| self.processes[place].process).collect() }
        };
        let mut jobs: Vec<SummaryJob> = runs.into_iter().map(job).collect();
        jobs.sort_by_key(|job| job.processes.iter().filter_map(|number| places.get(number)).min().copied());
        jobs
    }

    /// Returns the job's name by the first process of a run that has one.
    fn first_name(&self, run: &RunAbout<'_>) -> Option<String> {
        let mut named: Vec<(usize, &String)> =
            run.places.iter().filter_map(|&place| Some((place, self.processes[place].origin.job.as_ref()?))).collect();
        named.sort_unstable();
        named.first().map(|(_, name)| (*name).clone())
    }

    /// Returns the summary of each job if there are several, from the processes' summaries that this one was merged
    /// from.
    pub fn apart(&self, processes: Vec<Self>) -> Vec<Self> {
        if self.jobs.len() < 2 {
            return vec![];
        }
        let mut processes: BTreeMap<u32, Self> = (0..).zip(processes).collect();
        let of_job = |job: &SummaryJob| {
            let parts = job.processes.iter().filter_map(|&number| Some((number, processes.remove(&number)?)));
            let mut summary = Self::merge_numbered(parts.collect::<Vec<_>>());
            // these rows were worked out over all processes together; no two jobs share a communicator
            let comms: BTreeSet<&str> = summary.communicators.iter().map(|row| row.comm.as_str()).collect();
            summary.lateness = self.lateness.iter().filter(|row| comms.contains(row.comm.as_str())).cloned().collect();
            summary.bandwidth =
                self.bandwidth.iter().filter(|row| comms.contains(row.comm.as_str())).cloned().collect();
            summary.jobs = vec![job.clone()];
            summary
        };
        self.jobs.iter().map(of_job).collect()
    }
}

/// Returns whether no two of these process lists can be of one job.
pub(super) fn are_apart<'a>(jobs: impl Iterator<Item = &'a [SummaryProcess]>) -> bool {
    let run = |processes: &'a [SummaryProcess]| {
        let mut run = RunAbout::default();
        processes.iter().enumerate().for_each(|(place, process)| run.add(place, process));
        run
    };
    runs::are_all_others(&jobs.map(run).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{RankPlace, SummaryCommunicator};

    /// Returns the jobs of processes with these job names, and of communicators with the processes that share them.
    fn jobs(names: &[&str], communicators: &[&[u32]]) -> Vec<(Option<String>, Vec<u32>)> {
        let mut summary = Summary::merge(vec![]);
        for (number, name) in (0..).zip(names) {
            let mut process = Summary::of_nothing("").processes.remove(0);
            process.process = number;
            process.origin.job = Some((*name).to_owned()).filter(|name| !name.is_empty());
            summary.processes.push(process);
        }
        for (number, processes) in communicators.iter().enumerate() {
            let ranks = (0..).zip(*processes).map(|(rank, &process)| RankPlace { rank, process }).collect();
            let comm = format!("{number:016x}");
            summary.communicators.push(SummaryCommunicator { comm, nranks: 9, nnodes: 1, name: String::new(), ranks });
        }
        summary.find_jobs().into_iter().map(|job| (job.name, job.processes)).collect()
    }

    #[test]
    fn a_communicator_makes_one_job_of_its_processes_whatever_they_are_called() {
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(
            jobs(&["a", "b", "", "c"], &[&[0, 2], &[1, 2]]),
            [(named("a"), vec![0, 1, 2]), (named("c"), vec![3])]
        );
        assert_eq!(jobs(&["", "", "", ""], &[&[3, 0], &[2, 1]]), [(None, vec![0, 3]), (None, vec![1, 2])]);
    }

    #[test]
    fn a_name_makes_one_job_of_processes_without_a_communicator_in_common() {
        assert_eq!(jobs(&["a", "b", "a"], &[]), [(Some("a".into()), vec![0, 2]), (Some("b".into()), vec![1])]);
        assert_eq!(jobs(&["", ""], &[]).len(), 2);
    }
}
