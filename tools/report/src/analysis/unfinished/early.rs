//! Ranks that stand before the others: their data end early, or the others wait for them.
//!
//! Where a rank is gone, its neighbours wait, and in their other communicators they are behind themselves. So the rank
//! that others wait for is one that is behind and waits nowhere.

use super::course::{Course, RankCourse};
use crate::answer::EarlyRank;
use crate::job::{Communicator, Job};
use std::collections::{BTreeMap, BTreeSet};

/// Returns these ranks, each once, without their steps. Each of the job's communicators has its ranks and its course.
pub(super) fn early(courses: &[Course], job: &Job) -> Vec<EarlyRank> {
    let ranks = courses.iter().flat_map(|course| course.ranks.values());
    let waiting: BTreeSet<usize> = ranks.filter(|rank| rank.waits()).map(|rank| rank.gpu).collect();
    let mut found: BTreeMap<usize, EarlyRank> = BTreeMap::new();
    let communicators = job.communicators.iter().zip(courses);
    for early in communicators.flat_map(|(one, course)| of_communicator(one, course, &waiting, job)) {
        let known = found.get(&early.gpu).map_or(0, |known| known.waiting);
        if early.waiting > known || !found.contains_key(&early.gpu) {
            found.insert(early.gpu, early);
        }
    }
    let mut all: Vec<EarlyRank> = found.into_values().collect();
    all.sort_by_key(|early| std::cmp::Reverse(early.waiting));
    // the data of a rank that others wait for say why; those of others may be cut for that reason
    if all.first().is_some_and(|first| first.waiting > 0) {
        all.retain(|early| early.waiting > 0);
    }
    all
}

fn of_communicator<'a>(
    communicator: &'a Communicator,
    course: &'a Course,
    waiting: &'a BTreeSet<usize>,
    job: &'a Job,
) -> impl Iterator<Item = EarlyRank> + 'a {
    let (ranks, most) = (&course.ranks, course.most());
    let is_cut = |rank: &RankCourse| {
        let process = job.gpus.get(rank.gpu).and_then(|gpu| job.processes.get(gpu.process));
        process.is_some_and(|process| !process.complete)
    };
    let others = ranks.values().filter(|rank| rank.waits());
    let first = others.clone().next().and_then(|rank| rank.last_begun);
    let waits = others.count() as u64;
    // where all were killed, all data end early
    let is_one_whole = ranks.values().any(|rank| !is_cut(rank) && rank.collectives == most);
    ranks.values().filter(move |rank| rank.collectives < most).filter_map(move |rank| {
        let is_root = waits > 0 && !waiting.contains(&rank.gpu);
        (is_root || (is_cut(rank) && is_one_whole)).then(|| EarlyRank {
            gpu: rank.gpu,
            is_cut: is_cut(rank),
            step: None,
            comm: format!("{:016x}", communicator.comm),
            waiting: if is_root { waits } else { 0 },
            waits_in: first.filter(|_| is_root).map(|stand| (stand.function.text(), stand.sequence)),
        })
    })
}
