//! Processes, their GPUs and their ranks, and the communicators that these are members of.

use super::Job;
use common::lateness::Boot;
use common::links::ProcessLinks;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A process of the job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Random number of the process, 16 hexadecimal digits; another unique text where the input has no such number.
    pub id: String,
    /// The input that it is from, as a person names it.
    pub file: String,
    /// Name of the machine, where it is known.
    pub host: Option<String>,
    /// The kernel's random number of the machine's boot, where it is known: processes with the same one read one clock.
    pub boot: Option<String>,
    /// Rank in the job by the launcher's variables.
    pub rank: Option<u32>,
    /// Its id on its machine, where it is known; in a container, that of the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Number of ranks in the job by the launcher's variables.
    pub ranks: Option<u32>,
    /// NCCL's release, where it is known; several, separated by commas, if the process has several NCCLs.
    #[serde(default)]
    pub nccl: Option<String>,
    /// Time of day at which the process' clock showed `mono0`, nanoseconds since 1970; 0 where it is unknown.
    pub real0: u64,
    /// What the process' clock showed then, nanoseconds.
    pub mono0: u64,
    /// First and last time of the recording on the process' clock, nanoseconds.
    pub span: [u64; 2],
    /// Events that were not recorded.
    pub dropped: u64,
    /// Operations of which something never ended.
    pub unfinished: u64,
    /// Operations that NCCL reports no further.
    pub invisible: u64,
    /// Whether the recording reaches the process' end.
    pub complete: bool,
    /// Settings of NCCL's that take ways to run operations away from it, with their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nccl_settings: BTreeMap<String, String>,
    /// Rates of its machine's links, as far as it has read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<ProcessLinks>,
}

impl Process {
    /// Returns what it tells of its machine and the machine's boot.
    pub fn boot(&self) -> Boot<'_> {
        let time = Boot::time_of(self.real0, self.mono0);
        Boot { id: self.boot.as_deref(), host: self.host.as_deref(), time }
    }

    /// Returns the ports of InfiniBand or RoCE on its machine that NCCL would take, as far as they are known. They have
    /// a colon: the library names them as NCCL does. Other names are of network interfaces.
    pub fn ports(&self) -> Vec<String> {
        let adapters = self.links.iter().flat_map(|links| &links.adapters);
        adapters.filter(|adapter| adapter.name.contains(':')).map(|adapter| adapter.name.clone()).collect()
    }
}

/// A GPU of a process: the unit that waits, transfers and computes.
///
/// A process that has several ranks of one communicator has several GPUs. The i-th rank of each of its communicators is
/// taken for its i-th GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// Place of its process.
    pub process: usize,
    /// Place among the GPUs of its process.
    pub index: usize,
    /// Name for people: `rank 3`, or `rank 3 GPU 1` where its process has several; `process 3` without a rank.
    pub name: String,
    /// Place of its machine among the machines of the job.
    pub node: usize,
}

/// A communicator of the job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Communicator {
    /// Id.
    pub comm: u64,
    /// Name, or empty.
    pub name: String,
    /// Number of ranks; 0 where NCCL does not report it.
    pub nranks: i32,
    /// Number of nodes; 0 where NCCL does not report it.
    pub nnodes: i32,
    /// Its ranks in the processes that were found, sorted by rank.
    pub members: Vec<Member>,
    /// Ranks that two processes claim.
    pub repeated: Vec<i32>,
}

/// A rank of a communicator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Member {
    /// The rank.
    pub rank: i32,
    /// Place of its GPU in [`super::Job::gpus`].
    pub gpu: usize,
    /// When its process made the communicator, nanoseconds of the process' clock; 0 where that is unknown.
    pub made: u64,
}

impl Communicator {
    /// Returns whether all of its ranks were found, each once.
    pub fn is_whole(&self) -> bool {
        self.repeated.is_empty()
            && usize::try_from(self.nranks).is_ok_and(|ranks| ranks > 0 && ranks == self.members.len())
    }
}

impl Job {
    /// Returns the rank in the job of each GPU: by the launcher's variables if each process has one GPU and all ranks
    /// differ, else by the communicator that has all GPUs. `None` where neither says.
    pub fn ranks(&self) -> Option<Vec<u32>> {
        self.by_launcher().or_else(|| self.by_world())
    }

    fn by_launcher(&self) -> Option<Vec<u32>> {
        let ranks: Option<Vec<u32>> = self.gpus.iter().map(|gpu| self.processes.get(gpu.process)?.rank).collect();
        ranks.filter(|ranks| are_distinct(ranks))
    }

    fn by_world(&self) -> Option<Vec<u32>> {
        let world = self.communicators.iter().find(|one| one.is_whole() && one.members.len() == self.gpus.len())?;
        let mut ranks = vec![None; self.gpus.len()];
        for member in &world.members {
            *ranks.get_mut(member.gpu)? = u32::try_from(member.rank).ok();
        }
        ranks.into_iter().collect()
    }
}

fn are_distinct(ranks: &[u32]) -> bool {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use crate::analysis::tests::calls::job;

    #[test]
    fn the_launcher_or_the_world_numbers_the_ranks() {
        let mut four = job(&[(1, &[0, 1]), (2, &[3, 2, 1, 0])]);
        four.processes.iter_mut().zip([7, 4, 5, 6]).for_each(|(process, rank)| process.rank = Some(rank));
        assert_eq!(four.ranks(), Some(vec![7, 4, 5, 6]));
        // a rank twice is none
        four.processes[0].rank = Some(4);
        assert_eq!(four.ranks(), Some(vec![3, 2, 1, 0]));
        four.communicators[1].nranks = 5;
        assert_eq!(four.ranks(), None);
    }
}
