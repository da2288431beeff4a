//! A communicator and its members.

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
