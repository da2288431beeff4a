//! The stages of a pipeline.
//!
//! GPUs that exchange messages are joined. Where they form a line, the stage is the place in it, from the end that sends
//! first: also where each two neighbours have a communicator of their own, as PyTorch makes them. Where they form
//! something else, as with several stages on a rank, the stage is the rank in the communicator of most messages. Either
//! way some rank only sends or only receives at times, and the ranks run more than one program: in a ring all run the
//! same one and send when they receive, and there are no stages.

use super::kept::Joins;
use super::run::Run;
use crate::job::Job;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the stage of each GPU; `None` where there are no stages. `program_of` has the place of each GPU's program.
pub(super) fn stages(job: &Job, runs: &[Run], program_of: &[Option<usize>]) -> Vec<Option<i32>> {
    let mut stages = vec![None; program_of.len()];
    let Some(run) = runs.first() else { return stages };
    let lines = lines(run);
    for (gpu, stage) in stages.iter_mut().enumerate() {
        *stage = of_communicator(job, run, gpu, program_of);
    }
    for line in lines {
        let mut programs = line.iter().filter_map(|&gpu| program_of[gpu]);
        let first = programs.next();
        let is_pipeline = line.iter().any(|&gpu| is_one_way(run, gpu)) && programs.any(|other| Some(other) != first);
        for (place, &gpu) in line.iter().enumerate() {
            stages[gpu] = is_pipeline.then_some(place as i32);
        }
    }
    stages
}

fn messages(run: &Run, gpu: usize) -> impl Iterator<Item = usize> {
    (run.first[gpu]..run.first[gpu + 1]).filter(|&call| run.calls[call].joins == Joins::Pairs)
}

fn is_one_way(run: &Run, gpu: usize) -> bool {
    messages(run, gpu).any(|call| run.calls[call].is_one_way)
}

/// Finds the lines that messages form: GPUs in the order of their stages, at least two.
fn lines(run: &Run) -> Vec<Vec<usize>> {
    let mut neighbours: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for party in run.parties().iter().filter(|party| party.len() > 1) {
        if run.calls[party[0] as usize].joins != Joins::Pairs {
            continue;
        }
        let gpu = run.gpus[party[0] as usize] as usize;
        let others = party[1..].iter().map(|&call| run.gpus[call as usize] as usize);
        neighbours.entry(gpu).or_default().extend(others.filter(|&other| other != gpu));
    }
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
            next = neighbours
                .get(&gpu)
                .filter(|of| of.len() == 2)
                .and_then(|of| of.iter().find(|other| !line.contains(other)).copied());
        }
        let is_line = line.last().is_some_and(|last| line.len() > 1 && neighbours[last].len() == 1);
        if !is_line {
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

/// Returns the stage of a GPU by the communicator of most of its messages.
fn of_communicator(job: &Job, run: &Run, gpu: usize, program_of: &[Option<usize>]) -> Option<i32> {
    let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
    messages(run, gpu).for_each(|call| *counts.entry(run.calls[call].communicator).or_default() += 1);
    let most = counts.into_iter().max_by_key(|&(communicator, count)| (count, communicator))?.0;
    let members = &job.communicators.get(most as usize)?.members;
    let mut of_members = members.iter().filter_map(|member| program_of.get(member.gpu).copied().flatten());
    let first = of_members.next()?;
    let is_pipeline = is_one_way(run, gpu) && of_members.any(|program| program != first);
    members.iter().find(|member| member.gpu == gpu && is_pipeline).map(|member| member.rank)
}
