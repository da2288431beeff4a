//! Ranks that run the same program: their calls of a step are equal, one by one.
//!
//! They are each other's peers: the data-parallel replicas of a stage, the ranks of a tensor-parallel group. Calls are
//! compared by their tokens, which are equal for equal functions, sizes and distances to the peer.

use super::run::CallRun;
use super::timed::BETWEEN;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// The calls of a program's ranks at its places.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) gpus: Vec<usize>,
    /// Steps that any of its GPUs has, by stretch: number of the stretch, and the step.
    pub(super) steps: Vec<(usize, u32)>,
    /// Calls of a step.
    pub(super) places: usize,
    /// By step, GPU and place: the call in its stretch; [`NOWHERE`] of a step that this GPU has not whole.
    calls: Vec<u32>,
}

/// No call.
pub(super) const NOWHERE: u32 = u32::MAX;

impl Program {
    /// Returns the calls of a GPU, by place in [`Self::gpus`], in a step, by place in [`Self::steps`].
    pub(super) fn calls(&self, step: usize, gpu: usize) -> Option<&[u32]> {
        let at = (step * self.gpus.len() + gpu) * self.places;
        self.calls.get(at..at + self.places).filter(|calls| calls.first().is_some_and(|&call| call != NOWHERE))
    }
}

/// Steps of a GPU: stretch, step, the hash of its tokens, and its calls.
type GpuSteps = Vec<(usize, u32, u64, Vec<u32>)>;

fn own(runs: &[CallRun], gpu: usize) -> GpuSteps {
    let mut own: GpuSteps = vec![];
    for (stretch, run) in runs.iter().enumerate() {
        let mut hasher = FxHasher::default();
        let mut calls: Vec<u32> = vec![];
        let range = run.first[gpu]..run.first[gpu + 1];
        let mut placed = range.filter(|&call| run.calls[call].place != BETWEEN).peekable();
        while let Some(call) = placed.next() {
            let step = run.calls[call].step;
            hasher.write_u32(run.calls[call].token);
            calls.push(call as u32);
            if placed.peek().is_none_or(|&next| run.calls[next].step != step) {
                let hash = std::mem::take(&mut hasher).finish();
                own.push((stretch, step, hash, std::mem::take(&mut calls)));
            }
        }
    }
    own
}

/// Finds the programs of all GPUs with calls. A GPU's program is that of most of its steps; its other steps, as one
/// that the recording cuts, are in none.
pub(super) fn programs(runs: &[CallRun], gpus: usize) -> Vec<Program> {
    let mut by_hash: FxHashMap<u64, Vec<(usize, GpuSteps)>> = FxHashMap::default();
    for gpu in 0..gpus {
        let mut of_gpu = own(runs, gpu);
        let mut counts: FxHashMap<u64, usize> = FxHashMap::default();
        of_gpu.iter().for_each(|(_, _, hash, _)| *counts.entry(*hash).or_default() += 1);
        let Some((&program, _)) = counts.iter().max_by_key(|&(&hash, &count)| (count, hash)) else { continue };
        of_gpu.retain(|(_, _, hash, _)| *hash == program);
        by_hash.entry(program).or_default().push((gpu, of_gpu));
    }
    let mut programs: Vec<Program> = by_hash.into_values().map(program).collect();
    programs.sort_by_key(|program| program.gpus.first().copied());
    programs
}

fn program(members: Vec<(usize, GpuSteps)>) -> Program {
    let mut steps: Vec<(usize, u32)> = members.iter().flat_map(|(_, own)| own.iter().map(|it| (it.0, it.1))).collect();
    steps.sort_unstable();
    steps.dedup();
    let places = members.iter().flat_map(|(_, own)| own.first()).map(|it| it.3.len()).max().unwrap_or(0);
    let mut calls = vec![NOWHERE; steps.len() * members.len() * places];
    for (gpu, (_, own)) in members.iter().enumerate() {
        for (stretch, step, _, of_step) in own.iter().filter(|it| it.3.len() == places) {
            let Ok(step) = steps.binary_search(&(*stretch, *step)) else { continue };
            let at = (step * members.len() + gpu) * places;
            calls[at..at + places].copy_from_slice(of_step);
        }
    }
    Program { gpus: members.into_iter().map(|(gpu, _)| gpu).collect(), steps, places, calls }
}
