//! The ranks of a job by its launcher, from environment variables of its processes. Communicators may know fewer ranks.

use super::Summary;
use crate::base::rank::Told;
use crate::base::ranks::missing_in_words;
use std::collections::BTreeSet;

/// The ranks of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LauncherRanks {
    /// The ranks that are here.
    pub(super) here: BTreeSet<u32>,
    /// Number of all ranks.
    pub(super) all: usize,
    /// The environment variables that the ranks were read from.
    variables: BTreeSet<&'static str>,
}

impl LauncherRanks {
    /// Returns the ranks of a job from its processes' numbers. `None` unless every process knows its rank and the
    /// number of ranks.
    pub(super) fn of(summary: &Summary, processes: &[u32]) -> Option<Self> {
        let numbers: BTreeSet<u32> = processes.iter().copied().collect();
        let (mut here, mut sizes, mut variables) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for process in summary.processes.iter().filter(|process| numbers.contains(&process.process)) {
            here.insert(process.origin.rank?);
            sizes.insert(process.origin.ranks?);
            variables.extend(Told::by(|name| process.origin.variables.get(name).cloned()).variable);
        }
        // processes that disagree have several launchers
        let mut sizes = sizes.into_iter();
        let (Some(all), None) = (sizes.next(), sizes.next()) else { return None };
        Some(Self { here, all: usize::try_from(all).ok()?, variables })
    }

    /// Returns the ranks of a summary of one job.
    pub(super) fn of_one_job(summary: &Summary) -> Option<Self> {
        match summary.jobs.as_slice() {
            [job] => Self::of(summary, &job.processes),
            _ => None,
        }
    }

    /// Returns a note on the ranks that are not here.
    pub(super) fn note(&self, name: Option<&str>) -> Option<String> {
        if self.here.len() >= self.all {
            return None;
        }
        let job = name.map_or_else(|| "the job".into(), |name| format!("job {name}"));
        let variables: Vec<&str> = self.variables.iter().copied().collect();
        let by = if variables.is_empty() { String::new() } else { format!(" (by {})", variables.join(", ")) };
        let all = i64::try_from(self.all).ok()?;
        let missing = missing_in_words(self.here.iter().copied(), all);
        Some(format!("of the {all} ranks of {job}{by} these are not here, or have not called NCCL: {missing}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Origin;
    use crate::summary::{RankPlace, SummaryCommunicator, SummaryJob};

    /// Returns a summary of one job: processes by rank and number of ranks, and communicators by their ranks.
    fn of(processes: &[(Option<u32>, Option<u32>)], communicators: &[(i32, &[i32])]) -> Summary {
        let mut summary = Summary::merge(vec![]);
        for (number, &(rank, ranks)) in (0..).zip(processes) {
            let mut process = Summary::of_nothing("").processes.remove(0);
            let variables = rank.map(|rank| ("PMI_RANK".to_owned(), rank.to_string())).into_iter().collect();
            process.process = number;
            process.origin = Origin { rank, ranks, variables, ..Origin::default() };
            summary.processes.push(process);
        }
        for (number, (nranks, here)) in communicators.iter().enumerate() {
            let ranks = (0..).zip(*here).map(|(process, &rank)| RankPlace { rank, process }).collect();
            let comm = format!("c{number}");
            summary.communicators.push(SummaryCommunicator {
                comm,
                nranks: *nranks,
                nnodes: 1,
                name: String::new(),
                ranks,
            });
        }
        summary.jobs =
            vec![SummaryJob { name: Some("slurm 7".into()), processes: (0..processes.len() as u32).collect() }];
        summary
    }

    #[test]
    fn the_larger_number_of_ranks_is_said() {
        let two_of = |all| [(Some(0), Some(all)), (Some(1), Some(all))];
        let whole: (i32, &[i32]) = (2, &[0, 1]);
        assert_eq!(of(&two_of(8), &[whole]).ranks(), "2 of 8 ranks of the job");
        assert_eq!(
            of(&two_of(8), &[whole, (4, &[0, 1])]).ranks(),
            "2 of 8 ranks of the job; all ranks of 1 of 2 communicators"
        );
        assert_eq!(of(&two_of(8), &[]).ranks(), "2 of 8 ranks of the job");
        assert_eq!(of(&two_of(2), &[whole]).ranks(), "2 of 2 ranks");
        // one process has several ranks of a communicator
        assert_eq!(of(&two_of(2), &[(8, &[0, 1])]).ranks(), "2 of 8 ranks of communicator c0");
        assert_eq!(of(&[(Some(0), Some(2))], &[(1, &[0])]).ranks(), "1 of 2 ranks of the job");
        assert_eq!(of(&[(Some(1), Some(2))], &[(1, &[0])]).ranks(), "1 of 2 ranks of the job");
        // a process that does not know its rank may have any
        assert_eq!(of(&[(Some(0), Some(8)), (None, None)], &[whole]).ranks(), "2 of 2 ranks");
    }

    #[test]
    fn a_note_names_the_ranks_that_are_missing_and_the_variable() {
        let notes = of(&[(Some(0), Some(8)), (Some(5), Some(8))], &[]).notes_of_ranks();
        let expected =
            "of the 8 ranks of job slurm 7 (by PMI_RANK) these are not here, or have not called NCCL: 1 to 4, 6 to 7";
        assert_eq!(notes, [expected]);
        assert!(of(&[(Some(0), Some(2)), (Some(1), Some(2))], &[]).notes_of_ranks().is_empty());
    }
}
