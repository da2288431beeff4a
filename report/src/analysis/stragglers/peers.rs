//! Peers: ranks of one program and of one stage of a pipeline.
//!
//! The middle stages of a pipeline run one program, but need not compute equally much: they are peers only within their
//! stage. A rank's stage is its rank in the communicator of its messages, where the ranks of that communicator run more
//! than one program, and some only send or only receive at times. In a ring all run the same program and send when they
//! receive, and there are no stages.

use super::kept::Joins;
use super::programs::{Program, programs};
use super::run::Run;
use crate::job::Job;
use rustc_hash::FxHashMap;

/// Ranks that do the same.
#[derive(Debug)]
pub(super) struct Peers {
    /// Place of their program.
    pub(super) program: usize,
    /// Places of their GPUs among those of the program.
    pub(super) members: Vec<usize>,
    /// Their stage, where there are stages.
    pub(super) stage: Option<i32>,
}

/// The programs of a job, and the ranks of each that are peers.
#[derive(Debug)]
pub(super) struct Division {
    pub(super) programs: Vec<Program>,
    pub(super) peers: Vec<Peers>,
}

impl Division {
    pub(super) fn of(job: &Job, runs: &[Run]) -> Self {
        let programs = programs(runs, job.gpus.len());
        let mut program_of = vec![None; job.gpus.len()];
        for (place, program) in programs.iter().enumerate() {
            program.gpus.iter().for_each(|&gpu| program_of[gpu] = Some(place));
        }
        let stage = |gpu: usize| stage(job, runs, gpu, &program_of);
        let mut peers: Vec<Peers> = vec![];
        for (place, program) in programs.iter().enumerate() {
            let mut by_stage: FxHashMap<Option<i32>, Vec<usize>> = FxHashMap::default();
            for (member, &gpu) in program.gpus.iter().enumerate() {
                by_stage.entry(stage(gpu)).or_default().push(member);
            }
            let of = by_stage.into_iter().map(|(stage, members)| Peers { program: place, members, stage });
            peers.extend(of);
        }
        peers.sort_by_key(|peers| programs[peers.program].gpus[peers.members[0]]);
        Self { programs, peers }
    }

    /// Returns the GPUs of some peers.
    pub(super) fn gpus(&self, peers: &Peers) -> impl Iterator<Item = usize> {
        let gpus = &self.programs[peers.program].gpus;
        peers.members.iter().map(|&member| gpus[member])
    }
}

/// Returns the stage of a GPU: by the communicator of most of its messages.
fn stage(job: &Job, runs: &[Run], gpu: usize, program_of: &[Option<usize>]) -> Option<i32> {
    let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
    let mut is_one_way = false;
    for run in runs.iter().take(1) {
        let own = &run.calls[run.first[gpu]..run.first[gpu + 1]];
        for call in own.iter().filter(|call| call.joins == Joins::Pairs) {
            *counts.entry(call.communicator).or_default() += 1;
            is_one_way |= call.is_one_way;
        }
    }
    let most = counts.into_iter().max_by_key(|&(communicator, count)| (count, communicator))?.0;
    let members = &job.communicators.get(most as usize)?.members;
    let mut of_members = members.iter().filter_map(|member| program_of.get(member.gpu).copied().flatten());
    let first = of_members.next()?;
    let is_pipeline = is_one_way && of_members.any(|program| program != first);
    members.iter().find(|member| member.gpu == gpu && is_pipeline).map(|member| member.rank)
}
