//! What ranks cost a step: the steps played again with ranks as their peers are.
//!
//! ```text
//! calls in steps ──► kept ──► run ──► programs ──► peers ──► owns ──► rank ──► standing ──► whatif ──► Stragglers
//!                  (blocks)  (who waits (who does  (fit, paths:  (who stands    (gains)
//!                             for whom)  the same)  two clocks)   out)
//! ```
//! The question is a counterfactual: how much shorter would a step be if this rank were like its peers? Sums of waits
//! do not answer it: they charge the rank that came last, and one always does. So each rank's own time before each call
//! is compared with that of the ranks that run the same program, and the steps are played again with the peers' times
//! in place of the rank's (the what-if analysis of Lin et al., Understanding Stragglers in Large Model Training Using
//! What-if Analysis, OSDI 2025, arXiv 2505.05713, on NCCL's operations alone). A rank has two clocks of progress, its
//! host's and its GPU's, since a host and a computation go on while an operation waits.

mod conclusion;
mod fit;
mod gain_range;
mod kept;
mod links;
mod messages;
mod owns;
mod paths;
mod pauses;
mod peers;
mod programs;
mod rank;
pub mod rules;
mod run;
mod samples;
mod scene;
mod shares;
mod stages;
mod standing;
#[cfg(test)]
mod tests;
mod timed;
mod whatif;

use super::robust::median;
use super::steps::{InStep, StepPlan};
use crate::answer::{Part, Stragglers};
use crate::job::Job;
use crate::stream::JudgedCall;
use fit::Hidden;
use gain_range::GainRanges;
use kept::KeptCalls;
pub use links::{NetworkGains, SlowRow};
use messages::run_of;
use owns::{KnownPlaces, Owns, owns};
use pauses::Pauses;
use peers::Division;
use programs::Program;
use rank::RankSteps;
use run::CallRun;
use scene::Scene;
use standing::{StandingTogether, standing};
use std::ops::Range;
use timed::NeighbouringCalls;
use whatif::WhatIf;

/// Microseconds a step below which differences of own times are not resolved.
pub const RESOLVED_US: f64 = rules::MIN_EXCESS_NS / 1e3;
/// Share of the operations without a begin from which on own times are not known.
const MAX_UNTIMED_SHARE: f64 = 0.2;

/// What is concluded from the steps.
#[derive(Debug)]
pub struct Concluded {
    /// The part of the answer.
    pub stragglers: Part<Stragglers>,
    /// Steps in which ranks paused that are not outliers, sorted: they are in no mean.
    pub paused: Vec<u64>,
    /// Share (0 to 1) of each GPU's delay cost that began with it; `None` where it is not known.
    pub own_shares: Vec<Option<f64>>,
    /// The steps, to find what they gain with a faster network; `None` where they cannot be played.
    pub of_network: Option<NetworkGains>,
}

/// Listens for calls in steps.
#[derive(Debug)]
pub struct Costs {
    kept: KeptCalls,
    has_steps: bool,
    /// Node of each GPU.
    nodes: Vec<usize>,
    /// Steps after the warm-up.
    steps: u64,
    /// Pauses in steps that were given up.
    pauses: Pauses,
    /// What the places of programs follow, as the steps that were given up show it.
    places: KnownPlaces,
}

impl Costs {
    /// Prepares to listen to a job with these steps.
    pub fn new(job: &Job, plan: &StepPlan) -> Self {
        Self {
            kept: KeptCalls::new(job.gpus.len(), plan.calls()),
            has_steps: plan.has_steps(),
            nodes: job.gpus.iter().map(|gpu| gpu.node).collect(),
            steps: 0,
            pauses: Pauses::default(),
            places: KnownPlaces::new(),
        }
    }

    /// Takes in the next call of a GPU, with its place in a step that counts from 0 after the warm-up.
    pub(crate) fn call(&mut self, job: &Job, judged: &JudgedCall, at: InStep) {
        self.steps = self.steps.max(at.step + 1);
        let (pauses, places) = (&mut self.pauses, &mut self.places);
        let nodes = &self.nodes;
        let mut given_up = |calls: NeighbouringCalls| {
            let runs = [run_of(calls, nodes)];
            let division = Division::new(job, &runs);
            let step = step_length(&runs);
            let owns = owns(&runs, &division, step, Hidden::Usual, places);
            pauses.add_all(&runs, &division, &owns, step);
        };
        self.kept.add(judged, at, &mut given_up);
    }

    /// Draws the conclusions.
    pub fn finish(self, job: &Job) -> Concluded {
        let absent = |reason: &str| Concluded {
            stragglers: Part::Absent(reason.into()),
            paused: vec![],
            own_shares: vec![],
            of_network: None,
        };
        if self.kept.is_full {
            return absent("A step has more operations than are compared over ranks at a time.");
        }
        let stretches = self.kept.into_stretches();
        let runs: Vec<CallRun> = stretches.into_iter().map(|calls| run_of(calls, &self.nodes)).collect();
        if runs.iter().all(|run| run.calls.is_empty()) {
            return absent(
                "No operation in a step behind the warm-up has a begin and an end on the GPU, so that own times of \
                 ranks are not known.",
            );
        }
        let all: usize = runs.iter().map(|run| run.calls.len()).sum();
        let untimed = runs.iter().flat_map(|run| &run.calls).filter(|call| !call.is_timed).count();
        if untimed as f64 > MAX_UNTIMED_SHARE * all as f64 {
            return absent(&format!(
                "{:.0} % of the operations in steps have no begin on the GPU, so that own times of ranks are not known.",
                100.0 * untimed as f64 / all as f64
            ));
        }
        let division = Division::new(job, &runs);
        let step = step_length(&runs);
        let mut places = KnownPlaces::new();
        let mut pauses = self.pauses;
        let mut owns = owns(&runs, &division, step, Hidden::Usual, &mut places);
        pauses.add_all(&runs, &division, &owns, step);
        let all_ranks = |owns: &[Owns], stretch: &dyn Fn(usize) -> Range<u32>| {
            let mut ranks: Vec<Option<RankSteps>> = job.gpus.iter().map(|_| None).collect();
            for peers in &division.peers {
                for (&member, gpu) in peers.members.iter().zip(division.gpus(peers)) {
                    ranks[gpu] = RankSteps::take((&runs, &division), peers, member, owns, &stretch(gpu));
                }
            }
            ranks
        };
        let ranks = all_ranks(&owns, &|_| ALL_STEPS);
        let chronic = pauses.chronic(job.gpus.len());
        let left_out = pauses.steps_without(&chronic);
        let scene = Scene { runs: &runs, owns: &owns, left_out: &left_out };
        let Some(measured) = scene.measured() else {
            return absent("No step is whole, so that costs of ranks are not known.");
        };
        let places_of = |program: &Program| {
            let tokens = fit::tokens(program, &runs);
            places.iter().find(|(of, _)| *of == tokens).map_or(&[][..], |(_, places)| &places[..])
        };
        let unseen: Vec<f64> = division.programs.iter().map(|it| fit::unseen_of(places_of(it))).collect();
        let lone = |program: &&Program| places_of(program).iter().any(|it| it.is_lone);
        let lone: Vec<usize> = division.programs.iter().filter(lone).flat_map(|it| it.gpus.iter().copied()).collect();
        let mut found = standing(job, &division, &ranks, measured, &unseen);
        // pauses that recur cost as a slow rank does
        let known: Vec<usize> = found.standing.iter().flat_map(|it| it.gpus.iter().copied()).collect();
        let least = rules::least(step) * self.steps as f64;
        let mut pausing: Vec<usize> = chronic.iter().copied().filter(|gpu| !known.contains(gpu)).collect();
        pausing.retain(|&gpu| pauses.sum(gpu) > least);
        pausing.sort_by(|&one, &other| pauses.sum(other).total_cmp(&pauses.sum(one)));
        for gpu in pausing.into_iter().take(rules::MAX_GROUPS) {
            let Some(rank) = &ranks[gpu] else { continue };
            let z = found.z[gpu].unwrap_or_default();
            found.standing.push(StandingTogether::rank(gpu, [rank.own, rank.excess, z], 0));
        }
        // the measure of those that are outliers is the others
        let out: Vec<usize> = found.standing.iter().flat_map(|it| it.gpus.iter().copied()).collect();
        let against_others = |owns: &mut [Owns]| {
            for peers in division.peers.iter().filter(|peers| division.gpus(peers).any(|gpu| out.contains(&gpu))) {
                owns::excess(&runs, &division, peers, &out, owns);
            }
        };
        against_others(&mut owns);
        let standing = found.standing.clone();
        let slow = |gpu: usize| {
            let group = standing.iter().find(|group| group.gpus.contains(&gpu));
            group.and_then(|group| group.stretch.clone()).unwrap_or(ALL_STEPS)
        };
        let ranks_against_others = all_ranks(&owns, &slow);
        let what_if =
            WhatIf { scene: Scene { runs: &runs, owns: &owns, left_out: &left_out }, ranks: &ranks_against_others };
        let mut stragglers =
            what_if.answer(job, &division, &ranks, measured, found, &pauses, &chronic, (self.has_steps, self.steps));
        let own_shares = shares::own_shares(&runs, &owns, job.gpus.len());
        if let Part::Known(known) = &mut stragglers
            && known.found.iter().any(|it| it.gain_us.is_some())
        {
            // one in memory at a time
            drop(owns);
            let mut taken = |hidden| {
                let mut owns = self::owns(&runs, &division, step, hidden, &mut places);
                against_others(&mut owns);
                let ranks = all_ranks(&owns, &slow);
                (owns, ranks)
            };
            // pauses are those of all steps, own times those of the steps that were kept
            let whole = |gpu: usize| {
                let paused = pauses.sum(gpu) / self.steps.max(1) as f64;
                paused.max(ranks[gpu].as_ref().map_or(0.0, RankSteps::mean_excess))
            };
            let mut gains =
                GainRanges { runs: &runs, left_out: &left_out, measured, standing: &standing, taken: &mut taken };
            owns = gains.bound(&mut known.found, &whole, &lone);
        }
        Concluded {
            stragglers,
            paused: left_out.iter().copied().map(u64::from).collect(),
            own_shares,
            of_network: Some(NetworkGains { runs, owns, left_out, measured }),
        }
    }
}

const ALL_STEPS: Range<u32> = 0..u32::MAX;

/// Returns the median length of a step of all GPUs, nanoseconds.
fn step_length(runs: &[CallRun]) -> f64 {
    let mut lengths: Vec<f64> = vec![];
    for run in runs {
        for gpu in 0..run.first.len() - 1 {
            let calls = &run.calls[run.first[gpu]..run.first[gpu + 1]];
            let mut begins = calls.chunk_by(|one, other| one.step == other.step).filter_map(|step| step.first());
            let Some(mut last) = begins.next() else { continue };
            for next in begins {
                lengths.push((next.begin - last.begin) as f64);
                last = next;
            }
        }
    }
    if lengths.is_empty() {
        let of = |run: &CallRun| {
            let begin = run.calls.iter().map(|call| call.begin).min()?;
            run.calls.iter().map(|call| call.end).max().map(|end| (end - begin) as f64)
        };
        lengths.extend(runs.iter().filter_map(of));
    }
    median(&mut lengths)
}
