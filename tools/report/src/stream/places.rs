//! Where an operation belongs: its communicator, its member, its GPU.

use crate::job::{Communicator, Job, Process};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where an operation belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MatchingPlace {
    /// Place of the communicator in the job.
    pub(crate) communicator: usize,
    /// Rank in the communicator.
    pub(super) rank: i32,
    /// Place among the communicator's members; `None` for a rank that two processes claim.
    pub(super) member: Option<usize>,
    /// Place of the GPU in the job.
    pub(crate) gpu: usize,
}

/// The members of a communicator that have operations to match.
#[derive(Debug)]
pub(super) struct CommunicatorMembers {
    /// Rank and process of each member, ascending; without a process if two claim the rank.
    pub(super) members: Vec<(i32, Option<usize>)>,
    /// Whether all ranks were found, each once.
    pub(super) is_whole: bool,
    /// Number of ranks; of those that were found, where NCCL does not report it.
    pub(super) ranks: usize,
}

impl CommunicatorMembers {
    fn new(job: &Job, communicator: &Communicator, are_all_here: bool) -> Self {
        let process = |gpu: usize| job.gpus.get(gpu).map(|gpu| gpu.process);
        let members = communicator
            .members
            .iter()
            .map(|member| (member.rank, process(member.gpu).filter(|_| !communicator.repeated.contains(&member.rank))));
        let mut members: Vec<_> = members.collect();
        members.dedup_by_key(|(rank, _)| *rank);
        let ranks = usize::try_from(communicator.nranks).ok().filter(|&ranks| ranks > 0);
        // NCCL before 2.27 does not report the number of ranks
        let is_whole =
            if ranks.is_some() { communicator.is_whole() } else { communicator.repeated.is_empty() && are_all_here };
        Self { is_whole, ranks: ranks.unwrap_or(members.len()), members }
    }

    /// Returns the place of a rank among the members.
    pub(super) fn member(&self, rank: i32) -> Option<usize> {
        let guess = usize::try_from(rank).ok().filter(|&guess| self.members.get(guess).is_some_and(|it| it.0 == rank));
        guess.or_else(|| self.members.binary_search_by_key(&rank, |it| it.0).ok())
    }

    pub(super) fn process(&self, member: usize) -> Option<usize> {
        self.members.get(member)?.1
    }

    pub(super) fn process_of(&self, rank: i32) -> Option<usize> {
        self.process(self.member(rank)?)
    }
}

/// Where the operations of all processes belong.
#[derive(Debug)]
pub(crate) struct Places {
    pub(super) teams: Vec<CommunicatorMembers>,
    /// By process: places by communicator id and rank.
    by_process: Vec<FxHashMap<(u64, i32), MatchingPlace>>,
    /// First GPU of each process.
    first_gpus: Vec<Option<usize>>,
    /// Places of the communicators by id.
    communicators: FxHashMap<u64, usize>,
}

impl Places {
    pub(crate) fn new(job: &Job) -> Self {
        let are_all_here = are_all_here(&job.processes);
        let teams: Vec<CommunicatorMembers> =
            job.communicators.iter().map(|of| CommunicatorMembers::new(job, of, are_all_here)).collect();
        let mut by_process = vec![FxHashMap::default(); job.processes.len()];
        let mut first_gpus = vec![None; job.processes.len()];
        for (gpu, of_gpu) in job.gpus.iter().enumerate() {
            if let Some(first) = first_gpus.get_mut(of_gpu.process) {
                first.get_or_insert(gpu);
            }
        }
        for (communicator, (of, team)) in job.communicators.iter().zip(&teams).enumerate() {
            for member in &of.members {
                let Some(process) = job.gpus.get(member.gpu).map(|gpu| gpu.process) else { continue };
                let Some(known) = by_process.get_mut(process) else { continue };
                let place = team.member(member.rank).filter(|&place| team.process(place).is_some());
                let place = MatchingPlace { communicator, rank: member.rank, member: place, gpu: member.gpu };
                known.insert((of.comm, member.rank), place);
            }
        }
        let communicators = job.communicators.iter().zip(0..).map(|(of, place)| (of.comm, place)).collect();
        Self { teams, by_process, first_gpus, communicators }
    }

    /// Returns where an operation of a process belongs; `None` if the job has no such communicator, or the process no
    /// GPU.
    pub(crate) fn of_operation(&self, process: usize, comm: u64, rank: i32) -> Option<MatchingPlace> {
        let known = self.by_process.get(process)?.get(&(comm, rank)).copied();
        // a rank that another process is taken for, too
        known.or_else(|| {
            let (communicator, gpu) = (*self.communicators.get(&comm)?, (*self.first_gpus.get(process)?)?);
            Some(MatchingPlace { communicator, rank, member: None, gpu })
        })
    }
}

/// Returns whether all processes of the job were found, by the launcher's count of them.
fn are_all_here(processes: &[Process]) -> bool {
    let ranks: FxHashSet<u32> = processes.iter().filter_map(|process| process.rank).collect();
    let count = u32::try_from(ranks.len()).ok();
    ranks.len() == processes.len() && processes.iter().all(|process| process.ranks == count)
}
