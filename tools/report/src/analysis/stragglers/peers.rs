//! Peers: ranks of one program and of one stage of a pipeline.
//!
//! The middle stages of a pipeline run one program, but need not compute equally much: they are peers only within their
//! stage ([`super::stages`]).

use super::programs::{Program, programs};
use super::run::CallRun;
use super::stages::stages;
use crate::job::Job;
use rustc_hash::FxHashMap;

/// Ranks that do the same.
#[derive(Debug)]
pub(super) struct Peers {
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
    pub(super) fn new(job: &Job, runs: &[CallRun]) -> Self {
        let programs = programs(runs, job.gpus.len());
        let mut program_of = vec![None; job.gpus.len()];
        for (place, program) in programs.iter().enumerate() {
            program.gpus.iter().for_each(|&gpu| program_of[gpu] = Some(place));
        }
        let stages = stages(job, runs, &program_of);
        let mut peers: Vec<Peers> = vec![];
        for (place, program) in programs.iter().enumerate() {
            let mut by_stage: FxHashMap<Option<i32>, Vec<usize>> = FxHashMap::default();
            for (member, &gpu) in program.gpus.iter().enumerate() {
                by_stage.entry(stages[gpu]).or_default().push(member);
            }
            let of = by_stage.into_iter().map(|(stage, members)| Peers { program: place, members, stage });
            peers.extend(of);
        }
        peers.sort_by_key(|peers| programs[peers.program].gpus[peers.members[0]]);
        Self { programs, peers }
    }

    pub(super) fn gpus(&self, peers: &Peers) -> impl Iterator<Item = usize> {
        let gpus = &self.programs[peers.program].gpus;
        peers.members.iter().map(|&member| gpus[member])
    }
}
