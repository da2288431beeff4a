//! Pauses: own times far beyond the usual, once or now and then, of one rank or of all at once.

use super::owns::{Between, Owns, PAUSE_LIMITS, between, beyond};
use super::peers::Division;
use super::run::CallRun;
use crate::analysis::robust::median_of;
use crate::answer::{CostsWhen, Stalls, StragglerPause};
use std::collections::{BTreeMap, BTreeSet};

/// Steps of a rank with pauses, from which on these recur.
const MIN_RECURRING: usize = 3;
/// How many times its usual share a slow rank may take longer between steps.
const MAX_SLOWNESS_RATIO: f64 = 1.5;
/// Most pauses in the answer.
pub(super) const MAX_PAUSES_LISTED: usize = 100;

/// Pauses by GPU and step: how much longer, nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    by_gpu: BTreeMap<usize, BTreeMap<u32, f64>>,
    /// GPUs and steps that end with a pause before the first call of the next one; without a GPU where all pause.
    ending: BTreeSet<(Option<usize>, u32)>,
    between: Vec<Between>,
    /// Steps in which all ranks stand at a place at once, and for how long, nanoseconds.
    stalls: BTreeMap<u32, f64>,
}

impl Pauses {
    pub(super) fn add(&mut self, gpu: usize, step: u32, excess: f64) {
        *self.by_gpu.entry(gpu).or_default().entry(step).or_default() += excess;
    }

    /// Adds the pauses of some stretches.
    pub(super) fn add_all(&mut self, runs: &[CallRun], division: &Division, owns: &[Owns], step_length: f64) {
        self.between.extend(between(runs, owns, step_length));
        self.add_stalls(runs, division, owns, step_length);
        for (run, owns) in runs.iter().zip(owns) {
            for peers in &division.peers {
                for gpu in division.gpus(peers) {
                    for call in (run.first[gpu]..run.first[gpu + 1]).filter(|&call| owns.is_pause[call]) {
                        let at = &run.calls[call];
                        self.add(gpu, at.step, owns.excess_of(call));
                        self.ending
                            .extend(at.step.checked_sub(1).filter(|_| at.place == 0).map(|step| (Some(gpu), step)));
                    }
                }
            }
        }
    }

    /// Adds the steps in which all ranks of all programs take longer at a place than they usually do there.
    fn add_stalls(&mut self, runs: &[CallRun], division: &Division, owns: &[Owns], step_length: f64) {
        let mut found: Option<BTreeMap<u32, f64>> = None;
        for program in &division.programs {
            let mut of_program: BTreeMap<u32, f64> = BTreeMap::new();
            for place in 0..program.places {
                let own = |step: usize, member: usize| {
                    let (stretch, call) = (program.steps[step].0, *program.calls(step, member)?.get(place)? as usize);
                    runs[stretch].is_known(call).then(|| owns[stretch].own[call] as f64)
                };
                let usual = |member: usize| median_of((0..program.steps.len()).filter_map(|step| own(step, member)));
                let usual: Vec<f64> = (0..program.gpus.len()).map(usual).collect();
                let least = |step: usize| {
                    let more = usual.iter().enumerate().filter_map(|(member, usual)| Some(own(step, member)? - usual));
                    more.fold(f64::INFINITY, f64::min)
                };
                let least: Vec<f64> = (0..program.steps.len()).map(least).collect();
                let stood = beyond(&least, PAUSE_LIMITS, step_length);
                for ((step, least), _) in program.steps.iter().zip(&least).zip(stood).filter(|(_, stood)| *stood) {
                    if !least.is_finite() {
                        continue;
                    }
                    *of_program.entry(step.1).or_default() += least;
                    self.ending.extend(step.1.checked_sub(1).filter(|_| place == 0).map(|step| (None, step)));
                }
            }
            if let Some(found) = &mut found {
                found.retain(|step, _| of_program.contains_key(step));
                found.iter_mut().for_each(|(step, time)| *time = time.min(of_program[step]));
            } else {
                found = Some(of_program);
            }
        }
        self.stalls.extend(found.unwrap_or_default());
    }

    /// Returns the steps in which all ranks stand at once, of so many; `None` if there are none.
    pub(super) fn stalls(&self, of: u64) -> Option<Stalls> {
        let length_us = median_of(self.stalls.values().copied()) / 1e3;
        let steps: Vec<u32> = self.stalls.keys().copied().collect();
        (!steps.is_empty()).then(|| Stalls { steps: steps.len() as u64, of, every: every(&steps), length_us })
    }

    /// Returns whether a GPU's pauses recur.
    pub(super) fn recur(&self, gpu: usize) -> bool {
        self.by_gpu.get(&gpu).is_some_and(|steps| steps.len() >= MIN_RECURRING)
    }

    /// Returns the GPUs whose pauses recur more often than those of the others: a rank has so many that pauses of
    /// random ranks would not meet on it. The difference from the others' mean exceeds 4 standard deviations, if all
    /// ranks have one rate (Poisson distributions): those of the rank's own number, and of the mean, which few ranks do
    /// not settle.
    pub(super) fn chronic(&self, gpus: usize) -> Vec<usize> {
        let counts: Vec<(usize, usize)> = self.by_gpu.iter().map(|(&gpu, steps)| (gpu, steps.len())).collect();
        let all: usize = counts.iter().map(|(_, count)| count).sum();
        let others = gpus.saturating_sub(1).max(1) as f64;
        let rate = all as f64 / (others + 1.0);
        let deviation = (rate + rate / others).max(1.0).sqrt();
        let is_chronic = |&&(gpu, count): &&(usize, usize)| {
            let mean = (all - count) as f64 / others;
            self.recur(gpu) && count as f64 > mean + 4.0 * deviation
        };
        counts.iter().filter(is_chronic).map(|&(gpu, _)| gpu).collect()
    }

    /// Returns how long a GPU pauses in all, nanoseconds.
    pub(super) fn sum(&self, gpu: usize) -> f64 {
        self.by_gpu.get(&gpu).map_or(0.0, |steps| steps.values().sum())
    }

    /// Returns when a GPU pauses.
    pub(super) fn when(&self, gpu: usize) -> CostsWhen {
        let mut steps: Vec<u32> = self.by_gpu.get(&gpu).map(|it| it.keys().copied().collect()).unwrap_or_default();
        // what a rank does after its last call shows in the next step
        steps.dedup_by(|next, last| *next == *last + 1);
        CostsWhen::Sometimes { steps: steps.len() as u64, every: every(&steps) }
    }

    /// Returns the steps with pauses of GPUs that are not among these, sorted. A pause between two steps lengthens the
    /// one for the rank that pauses, and the other one for those that wait for it.
    pub(super) fn steps_without(&self, gpus: &[usize]) -> Vec<u32> {
        let others = self.by_gpu.iter().filter(|(gpu, _)| !gpus.contains(gpu));
        let mut steps: Vec<u32> = others.flat_map(|(_, steps)| steps.keys().copied()).collect();
        let is_other = |(gpu, _): &&(Option<usize>, u32)| gpu.is_none_or(|gpu| !gpus.contains(&gpu));
        steps.extend(self.ending.iter().filter(is_other).map(|(_, step)| *step));
        steps.extend(self.stalls.keys());
        steps.extend(self.between.iter().map(|it| it.step));
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// Returns the pauses of GPUs that are not among these, longest first, and the number of these GPUs. A GPU that is
    /// slow takes so many times `slowness` longer than others between steps, too: that is no pause.
    pub(super) fn events_without(&self, gpus: &[usize], slowness: &dyn Fn(usize) -> f64) -> (Vec<StragglerPause>, u64) {
        let others = || self.by_gpu.iter().filter(|(gpu, _)| !gpus.contains(gpu));
        let event = |gpu: usize, step: u32, excess: f64| StragglerPause {
            gpu,
            step: u64::from(step),
            excess_us: excess / 1e3,
            cost_us: None,
            cause: None,
        };
        // where all stand, some stand a little longer
        let is_alone = |step: u32, excess: f64| self.stalls.get(&step).is_none_or(|stall| excess > stall / 2.0);
        let mut events: Vec<StragglerPause> = others()
            .flat_map(|(&gpu, steps)| steps.iter().map(move |(&step, &excess)| (gpu, step, excess)))
            .filter(|&(_, step, excess)| is_alone(step, excess))
            .map(|(gpu, step, excess)| event(gpu, step, excess))
            .collect();
        let is_pause = |it: &&Between| it.excess > MAX_SLOWNESS_RATIO * slowness(it.gpu) * it.usual;
        events.extend(self.between.iter().filter(is_pause).map(|it| event(it.gpu, it.step, it.excess)));
        events.sort_by(|one, other| other.excess_us.total_cmp(&one.excess_us));
        let mut gpus: Vec<usize> = events.iter().map(|event| event.gpu).collect();
        gpus.sort_unstable();
        gpus.dedup();
        (events, gpus.len() as u64)
    }
}

/// Returns the distance of two steps where it is always the same, and more than one.
fn every(steps: &[u32]) -> Option<u64> {
    let mut distances = steps.windows(2).map(|pair| u64::from(pair[1] - pair[0]));
    // two steps are at some distance, whatever it is
    let first = distances.next().filter(|_| steps.len() > 2);
    first.filter(|first| *first > 1 && distances.all(|distance| distance == *first))
}
