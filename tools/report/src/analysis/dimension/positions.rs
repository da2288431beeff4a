//! Ranks of the job's GPUs.

use crate::job::{Communicator, Job};

/// Returns the rank in the job of each GPU; where it is unknown, the GPU's place.
pub(super) fn positions(job: &Job) -> Vec<u32> {
    job.ranks().unwrap_or_else(|| (0..job.gpus.len() as u32).collect())
}

/// Returns the ranks in the job of a communicator's members, sorted.
pub(super) fn ranks(communicator: &Communicator, positions: &[u32]) -> Vec<u32> {
    let mut ranks: Vec<u32> =
        communicator.members.iter().filter_map(|member| positions.get(member.gpu).copied()).collect();
    ranks.sort_unstable();
    ranks
}
