//! The ranks of communicators that are here. The communicators themselves have their numbers of ranks.

use super::launcher_ranks::LauncherRanks;
use super::{Summary, SummaryCommunicator};
use crate::base::ranks::missing_in_words;
use crate::base::visible::visible;
use crate::origin::{self, Origin};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of communicators whose missing ranks get a note.
const MOST: usize = 5;
/// Largest number of processes in a note.
const MOST_PROCESSES: usize = 8;

/// A rank that two processes have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeated {
    /// Communicator.
    pub comm: String,
    /// Rank.
    pub rank: i32,
    /// The numbers of the two processes.
    pub processes: [u32; 2],
}

impl SummaryCommunicator {
    /// Returns the number of its ranks that are here, and the number of all, if NCCL reported it.
    fn found(&self) -> Option<(usize, usize)> {
        let all = usize::try_from(self.nranks).ok().filter(|&all| all > 0)?;
        Some((self.ranks.iter().map(|place| place.rank).collect::<BTreeSet<_>>().len(), all))
    }

    /// Returns its number of ranks, as text; with the number of ranks that are here, if some are missing.
    pub(crate) fn here_of_all(&self) -> String {
        match self.found() {
            Some((here, all)) if here < all => format!("{here} of {all}"),
            _ => self.nranks.to_string(),
        }
    }

    /// Returns its id and name for people.
    fn called(&self) -> String {
        let name = visible(&self.name);
        if name.is_empty() { self.comm.clone() } else { format!("{} ({name})", self.comm) }
    }

    /// Returns its ranks that are not here, as text.
    fn missing(&self) -> String {
        let here: BTreeSet<i32> = self.ranks.iter().map(|place| place.rank).collect();
        missing_in_words(here, self.nranks.into())
    }
}

impl Summary {
    /// Returns the ranks that are here as text, such as `3 of 8 ranks`. They are those of the largest communicator,
    /// with the number of communicators that are complete if some are not; or those of the job, if its launcher counts
    /// more.
    pub fn ranks(&self) -> String {
        let found: Vec<_> = self.communicators.iter().filter_map(|row| Some((row.found()?, row))).collect();
        let complete = found.iter().filter(|((here, all), _)| here >= all).count();
        let largest = found.iter().max_by_key(|((here, all), _)| (*all, std::cmp::Reverse(*here)));
        let of_all = match found.len() {
            count if complete == count => String::new(),
            count => format!("; all ranks of {complete} of {count} communicators"),
        };
        let said = LauncherRanks::of_one_job(self).filter(|said| {
            // a process may have several ranks of its communicator
            largest.is_none_or(|((here, all), _)| said.all > *all || said.here.len() < said.all && here >= all)
        });
        if let Some(said) = said {
            return format!("{} of {} ranks of the job{of_all}", said.here.len(), said.all);
        }
        let Some(&((here, all), communicator)) = largest else { return "it is not known of how many ranks".into() };
        let at_least = if here < all && self.sums_up() { "at least " } else { "" };
        if complete == found.len() {
            return format!("{here} of {all} ranks");
        }
        let of_all = if found.len() == 1 { String::new() } else { of_all };
        format!("{at_least}{here} of {all} ranks of communicator {}{of_all}", communicator.called())
    }

    /// Returns whether a rank that is not here may be among the ones summed up as others.
    fn sums_up(&self) -> bool {
        self.processes.iter().any(|process| process.others > 0)
    }

    /// Returns the first rank that two processes have.
    pub fn repeated(&self) -> Option<Repeated> {
        self.communicators.iter().filter(|row| row.comm.bytes().any(|digit| digit != b'0')).find_map(|row| {
            let pair = row.ranks.windows(2).find(|pair| pair[0].rank == pair[1].rank)?;
            let processes = [pair[0].process, pair[1].process];
            Some(Repeated { comm: row.comm.clone(), rank: pair[0].rank, processes })
        })
    }

    /// Returns notes on ranks that are not here, and on processes that do not fit together.
    pub(super) fn notes_of_ranks(&self) -> Vec<String> {
        let lacking = self.communicators.iter().filter(|row| row.found().is_some_and(|(here, all)| here < all));
        let lacking: Vec<&SummaryCommunicator> = lacking.collect();
        let which = if self.sums_up() { "; they may be among \"others\"" } else { "" };
        let mut notes: Vec<String> = lacking
            .iter()
            .take(MOST)
            .map(|row| {
                format!(
                    "of the {} ranks of communicator {} these are not here: {}{which}",
                    row.nranks,
                    row.called(),
                    row.missing()
                )
            })
            .collect();
        if lacking.len() > MOST {
            notes.push(match lacking.len() - MOST {
                1 => "1 more communicator lacks ranks".into(),
                more => format!("{more} more communicators lack ranks"),
            });
        }
        notes.extend(
            self.jobs.iter().filter_map(|job| LauncherRanks::of(self, &job.processes)?.note(job.name.as_deref())),
        );
        notes.extend(self.jobs.iter().filter_map(|job| self.note_of_releases(&job.processes)));
        notes
    }

    /// Returns a note if processes of one job use different releases of NCCL, since NCCL makes communicators of one
    /// release only. A release that is not known differs from those of other interface versions.
    fn note_of_releases(&self, of_job: &[u32]) -> Option<String> {
        let mut releases: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut nccls: BTreeSet<(Option<&str>, Option<u32>)> = BTreeSet::new();
        let of_job: BTreeSet<u32> = of_job.iter().copied().collect();
        for process in self.processes.iter().filter(|process| of_job.contains(&process.process)) {
            let Origin { nccl, interface, .. } = &process.origin;
            nccls.insert((nccl.as_deref(), *interface));
            let oldest = || Some(format!("{} or later", origin::dotted(origin::first_release((*interface)?))));
            if let Some(release) = nccl.clone().or_else(oldest) {
                releases.entry(release).or_default().push(process.process.to_string());
            }
        }
        let differ = |one: &(Option<&str>, Option<u32>), other: &(Option<&str>, Option<u32>)| match (one, other) {
            ((Some(one), _), (Some(other), _)) => one != other,
            ((_, Some(one)), (_, Some(other))) => one != other,
            _ => false,
        };
        let say = |(release, processes): (String, Vec<String>)| {
            let more = if processes.len() > MOST_PROCESSES { ", ..." } else { "" };
            format!("{release} (process {}{more})", processes[..processes.len().min(MOST_PROCESSES)].join(", "))
        };
        let is_mixed = nccls.iter().any(|one| nccls.iter().any(|other| differ(one, other)));
        is_mixed.then(|| {
            format!(
                "the processes of one job use different NCCLs: {}",
                releases.into_iter().map(say).collect::<Vec<_>>().join("; ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::RankPlace;

    fn communicator(comm: &str, nranks: i32, here: &[(i32, u32)]) -> SummaryCommunicator {
        let ranks = here.iter().map(|&(rank, process)| RankPlace { rank, process }).collect();
        SummaryCommunicator { comm: comm.into(), nranks, nnodes: 1, name: "tp".into(), ranks }
    }

    fn of(communicators: Vec<SummaryCommunicator>) -> Summary {
        Summary { communicators, ..Summary::merge(vec![]) }
    }

    #[test]
    fn the_largest_communicator_says_how_many_ranks_there_are() {
        let whole = communicator("b", 2, &[(0, 0), (1, 1)]);
        assert_eq!(of(vec![whole.clone()]).ranks(), "2 of 2 ranks");
        assert_eq!(of(vec![]).ranks(), "it is not known of how many ranks");
        assert_eq!(of(vec![communicator("c", 0, &[(0, 0)])]).ranks(), "it is not known of how many ranks");
        let part = communicator("a", 8, &[(0, 0), (3, 1), (7, 0)]);
        assert_eq!(of(vec![part.clone()]).ranks(), "3 of 8 ranks of communicator a (tp)");
        let mut both = of(vec![part, whole]);
        assert_eq!(both.ranks(), "3 of 8 ranks of communicator a (tp); all ranks of 1 of 2 communicators");
        let expected = "of the 8 ranks of communicator a (tp) these are not here: 1 to 2, 4 to 6";
        assert_eq!(both.notes_of_ranks(), [expected]);
        // a missing rank may be among the ended communicators that are summed up
        both.processes = Summary::of_nothing("").processes;
        both.processes[0].others = 1;
        assert!(both.ranks().starts_with("at least 3 of 8 ranks"));
        assert_eq!(both.notes_of_ranks(), [format!("{expected}; they may be among \"others\"")]);
    }

    #[test]
    fn notes_do_not_grow_with_the_job() {
        let every_second: Vec<(i32, u32)> = (0..1000).map(|rank| (2 * rank, 0)).collect();
        let notes = |count: usize| {
            let all = (0..count).map(|number| communicator(&format!("c{number}"), 2000, &every_second));
            of(all.collect()).notes_of_ranks()
        };
        assert_eq!(notes(MOST + 1)[MOST], "1 more communicator lacks ranks");
        let notes = notes(20);
        assert_eq!((notes.len(), notes[MOST].as_str()), (MOST + 1, "15 more communicators lack ranks"));
        assert!(notes[0].ends_with("1, 3, 5, 7, 9, 11, 13, 15, ..."), "{}", notes[0]);
    }

    #[test]
    fn a_rank_that_two_processes_have_is_found() {
        assert_eq!(of(vec![communicator("a", 8, &[(0, 0), (1, 0)])]).repeated(), None);
        let repeated = Repeated { comm: "a".into(), rank: 3, processes: [0, 2] };
        assert_eq!(of(vec![communicator("a", 8, &[(0, 1), (3, 0), (3, 2)])]).repeated(), Some(repeated));
        // communicators of which nothing is known
        assert_eq!(of(vec![communicator("0000", 0, &[(3, 0), (3, 2)])]).repeated(), None);
    }

    #[test]
    fn different_nccls_are_said() {
        let mut summary = of(vec![]);
        for (number, nccl, interface) in
            [(0, Some("2.28.9"), 5), (1, Some("2.30.7"), 6), (2, None, 6), (3, Some("2.28.9"), 5), (4, None, 5)]
        {
            let mut process = Summary::of_nothing("").processes.remove(0);
            process.process = number;
            process.origin = crate::origin::Origin {
                nccl: nccl.map(str::to_owned),
                interface: Some(interface),
                ..Default::default()
            };
            summary.processes.push(process);
        }
        let note = |of: &[u32]| summary.note_of_releases(of);
        let expected = "the processes of one job use different NCCLs: 2.28.9 (process 0, 3); 2.30.7 (process 1)";
        assert_eq!((note(&[0, 3]), note(&[0, 1, 3]).as_deref()), (None, Some(expected)));
        assert!(note(&[0, 2]).is_some_and(|note| note.ends_with(": 2.28.9 (process 0); 2.29.0 or later (process 2)")));
        // what is not known may be the same
        assert_eq!([note(&[0, 4]), note(&[1, 2])], [None, None]);
    }
}
