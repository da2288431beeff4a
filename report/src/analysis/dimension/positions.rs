//! Ranks of the job's GPUs.

use crate::job::{Communicator, Job};

/// Returns the rank in the job of each GPU: by the launcher's variables if each process has one GPU and all ranks
/// differ, else by the communicator that has all GPUs, else the GPU's place.
pub(super) fn positions(job: &Job) -> Vec<u32> {
    let by_launcher = || job.gpus.iter().map(|gpu| job.processes.get(gpu.process)?.rank).collect::<Option<Vec<u32>>>();
    let by_world = || {
        let world = job.communicators.iter().find(|one| one.is_whole() && one.members.len() == job.gpus.len())?;
        let mut ranks = vec![None; job.gpus.len()];
        for member in &world.members {
            *ranks.get_mut(member.gpu)? = u32::try_from(member.rank).ok();
        }
        ranks.into_iter().collect::<Option<Vec<u32>>>()
    };
    by_launcher()
        .filter(|ranks| are_distinct(ranks))
        .or_else(by_world)
        .unwrap_or_else(|| (0..job.gpus.len() as u32).collect())
}

/// Returns the ranks in the job of a communicator's members, sorted.
pub(super) fn ranks(communicator: &Communicator, positions: &[u32]) -> Vec<u32> {
    let mut ranks: Vec<u32> =
        communicator.members.iter().filter_map(|member| positions.get(member.gpu).copied()).collect();
    ranks.sort_unstable();
    ranks
}

fn are_distinct(ranks: &[u32]) -> bool {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}
