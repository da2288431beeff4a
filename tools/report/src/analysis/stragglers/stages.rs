//! The stages of a pipeline.
//!
//! GPUs that send one way are joined. Where they form a line, the stage is the place in it, from the end that sends
//! first: also where each two neighbours have a communicator of their own, as PyTorch makes them. Where they form a
//! ring, as with several stages on a rank, the stage is the rank in the communicator of most messages. The ranks run
//! more than one program. There are no stages where ranks share a large collective for every two messages: they gather
//! and scatter, which PyTorch does by sends and receives one way.

use super::run::CallRun;
use super::timed::Joins;
use crate::job::Job;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes up to which a collective is a loss, a norm or a barrier, which all stages have in common.
const MAX_COMMON_BYTES: u64 = 4096;

/// Neighbours of a GPU by messages one way.
type Neighbours = BTreeMap<usize, BTreeSet<usize>>;

/// Returns the stage of each GPU; `None` where there are no stages. `program_of` has the place of each GPU's program.
pub(super) fn stages(job: &Job, runs: &[CallRun], program_of: &[Option<usize>]) -> Vec<Option<i32>> {
    let mut stages = vec![None; program_of.len()];
    let Some(run) = runs.first() else { return stages };
    let neighbours = neighbours(run);
    let lines = lines(run, &neighbours);
    let mut is_in_line = vec![false; program_of.len()];
    for line in lines {
        line.iter().for_each(|&gpu| is_in_line[gpu] = true);
        if is_pipeline(run, &line, program_of) {
            line.iter().zip(0..).for_each(|(&gpu, place)| stages[gpu] = Some(place));
        }
    }
    let mut pipelines: FxHashMap<u32, bool> = FxHashMap::default();
    for gpu in (0..stages.len()).filter(|&gpu| !is_in_line[gpu]) {
        let Some(most) = communicator(run, gpu) else { continue };
        let Some(of) = job.communicators.get(most as usize) else { continue };
        let is_pipeline = *pipelines.entry(most).or_insert_with(|| {
            let gpus: Vec<usize> = of.members.iter().map(|member| member.gpu).collect();
            let has_few = |gpu: &usize| neighbours.get(gpu).is_some_and(|of| of.len() <= 2);
            gpus.len() > 2 && gpus.iter().all(has_few) && is_pipeline(run, &gpus, program_of)
        });
        let own = of.members.iter().find(|member| member.gpu == gpu && is_pipeline);
        stages[gpu] = own.map(|member| member.rank);
    }
    stages
}

fn messages(run: &CallRun, gpu: usize) -> impl Iterator<Item = usize> {
    (run.first[gpu]..run.first[gpu + 1]).filter(|&call| run.calls[call].joins == Joins::Pairs)
}

fn neighbours(run: &CallRun) -> Neighbours {
    let mut neighbours = Neighbours::new();
    for gpu in 0..run.first.len() - 1 {
        for call in messages(run, gpu).filter(|&call| run.calls[call].is_one_way) {
            let others = run.party(call)[1..].iter().map(|&call| run.gpus[call as usize] as usize);
            neighbours.entry(gpu).or_default().extend(others.filter(|&other| other != gpu));
        }
    }
    neighbours
}

/// Returns whether some GPUs that send to each other are a pipeline.
fn is_pipeline(run: &CallRun, gpus: &[usize], program_of: &[Option<usize>]) -> bool {
    let mut programs = gpus.iter().filter_map(|&gpu| program_of.get(gpu).copied().flatten());
    let first = programs.next();
    if !programs.any(|other| Some(other) != first) {
        return false;
    }
    let mut is_member = vec![false; program_of.len()];
    gpus.iter().filter(|&&gpu| gpu < program_of.len()).for_each(|&gpu| is_member[gpu] = true);
    let is_of_them = |call: u32| is_member.get(run.gpus[call as usize] as usize) == Some(&true);
    let [mut sent, mut shared] = [0_usize; 2];
    for &gpu in gpus {
        for call in run.first[gpu]..run.first[gpu + 1] {
            if run.calls[call].joins == Joins::Pairs {
                sent += 1;
            } else if run.calls[call].bytes > MAX_COMMON_BYTES {
                shared += usize::from(run.party(call).iter().filter(|&&call| is_of_them(call)).count() > 1);
            }
        }
    }
    sent > 2 * shared
}

/// Finds the lines that messages form: GPUs in the order of their stages, at least two.
fn lines(run: &CallRun, neighbours: &Neighbours) -> Vec<Vec<usize>> {
    let mut lines = vec![];
    let mut is_seen: BTreeSet<usize> = BTreeSet::new();
    for &end in neighbours.iter().filter(|(_, of)| of.len() == 1).map(|(gpu, _)| gpu) {
        if !is_seen.insert(end) {
            continue;
        }
        let mut line = vec![end];
        let mut next = neighbours[&end].first().copied();
        while let Some(gpu) = next.filter(|&gpu| is_seen.insert(gpu)) {
            line.push(gpu);
            let on = neighbours.get(&gpu).filter(|of| of.len() == 2);
            next = on.and_then(|of| of.iter().find(|other| !line.contains(other)).copied());
        }
        let ends = line.last().and_then(|last| neighbours.get(last)).is_some_and(|of| of.len() == 1);
        if !ends || line.len() < 2 {
            continue;
        }
        // activations go forward first
        let sends_first = |gpu: usize| messages(run, gpu).next().is_some_and(|call| run.calls[call].sends);
        if !sends_first(line[0]) && line.last().is_some_and(|&last| sends_first(last)) {
            line.reverse();
        }
        lines.push(line);
    }
    lines
}

/// Returns the communicator of most messages of a GPU.
fn communicator(run: &CallRun, gpu: usize) -> Option<u32> {
    let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
    messages(run, gpu).for_each(|call| *counts.entry(run.calls[call].communicator).or_default() += 1);
    counts.into_iter().max_by_key(|&(communicator, count)| (count, communicator)).map(|(communicator, _)| communicator)
}
