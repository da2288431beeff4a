//! The GPUs that have lanes: all of a small job; of a large one those that are outliers, those on the critical paths,
//! their peers, and the first one of each node.

use crate::answer::{Stragglers, Stretch};
use crate::job::Job;
use std::collections::{BTreeMap, BTreeSet};

/// Most GPUs.
pub(super) const MAX_GPUS: usize = 64;
/// Most GPUs of one kind.
const MAX_OF_KIND: usize = 16;
/// Most GPUs of one group that is an outlier, and most peers of it.
const MAX_OF_GROUP: usize = 4;

/// Returns the places of the GPUs, in order.
pub(super) fn shown(job: &Job, stragglers: Option<&Stragglers>, paths: &[&[Stretch]]) -> Vec<usize> {
    let all = job.gpus.len();
    if all <= MAX_GPUS {
        return (0..all).collect();
    }
    let found = || stragglers.into_iter().flat_map(|of| &of.found);
    let ranks = stragglers.map_or(&[][..], |of| &of.ranks);
    let out = found().flat_map(|one| one.gpus.iter().take(MAX_OF_GROUP)).copied().take(MAX_OF_KIND);
    let paused = stragglers.into_iter().flat_map(|of| &of.events).map(|event| event.gpu).take(MAX_OF_KIND / 2);
    let peers = found().filter_map(|one| one.gpus.first()).flat_map(|&gpu| peers(gpu, ranks)).take(MAX_OF_KIND);
    let mut shown: BTreeSet<usize> =
        out.chain(paused).chain(on_paths(paths)).chain(peers).filter(|gpu| *gpu < all).take(MAX_GPUS).collect();
    let mut nodes = BTreeSet::new();
    let firsts = job.gpus.iter().enumerate().filter(|(_, gpu)| nodes.insert(gpu.node)).map(|(place, _)| place);
    let firsts: Vec<usize> = firsts.collect();
    // of more nodes than there is room for, some all over the job
    let every = firsts.len().div_ceil((MAX_GPUS - shown.len()).max(1)).max(1);
    for gpu in firsts.iter().step_by(every).copied().chain(0..all) {
        if shown.len() == MAX_GPUS {
            break;
        }
        shown.insert(gpu);
    }
    shown.into_iter().collect()
}

/// Returns the nearest GPUs that run the same program.
fn peers(gpu: usize, ranks: &[crate::answer::RankOwn]) -> Vec<usize> {
    let Some(own) = ranks.get(gpu) else { return vec![] };
    let alike =
        |(place, rank): (usize, &crate::answer::RankOwn)| (rank.peers == own.peers && place != gpu).then_some(place);
    let mut peers: Vec<usize> = ranks.iter().enumerate().filter_map(alike).collect();
    peers.sort_by_key(|place| place.abs_diff(gpu));
    peers.truncate(MAX_OF_GROUP);
    peers
}

/// Returns the GPUs that most of the paths' time is spent on.
fn on_paths(paths: &[&[Stretch]]) -> impl Iterator<Item = usize> {
    let mut times: BTreeMap<usize, f64> = BTreeMap::new();
    for stretch in paths.iter().copied().flatten() {
        *times.entry(stretch.gpu).or_default() += stretch.until_us - stretch.from_us;
    }
    let mut order: Vec<(usize, f64)> = times.into_iter().collect();
    order.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    order.into_iter().map(|(gpu, _)| gpu).take(MAX_OF_KIND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{RankOwn, Straggler};
    use crate::job::Gpu;

    /// Nodes of 8 GPUs.
    fn job(gpus: usize) -> Job {
        let gpu = |place: usize| Gpu { process: place, node: place / 8, ..Gpu::default() };
        Job { gpus: (0..gpus).map(gpu).collect(), ..Job::default() }
    }

    #[test]
    fn a_small_job_is_shown_whole() {
        assert_eq!(shown(&job(64), None, &[]), (0..64).collect::<Vec<_>>());
    }

    #[test]
    fn of_a_large_job_those_that_matter() {
        let ranks = (0..1024).map(|gpu| RankOwn { peers: gpu % 8, ..RankOwn::default() }).collect();
        let found = vec![Straggler { gpus: vec![333], ..Straggler::default() }];
        let stragglers = Stragglers { found, ranks, ..Stragglers::default() };
        let on = |gpu, until_us| Stretch { gpu, until_us, ..Stretch::default() };
        let path: Vec<Stretch> = (500..520).map(|gpu| on(gpu, gpu as f64)).collect();
        let shown = shown(&job(1024), Some(&stragglers), &[&path]);
        assert_eq!(shown.len(), 64);
        // itself, its nearest peers, the longest of the path, first ones of every third node
        for gpu in [333, 325, 341, 317, 349, 519, 504, 0, 960] {
            assert!(shown.contains(&gpu), "{gpu}: {shown:?}");
        }
        assert!(!shown.contains(&503) && !shown.contains(&8), "{shown:?}");
    }
}
