//! All parts of the answer that are counted by step: steps, budget, phases, stragglers, and steps in detail.

use super::budget::Budgets;
use super::dimension::Dimensions;
use super::phases::JobPhases;
use super::series::ThinnedSeries;
use super::steps::{Follower, InStep, Records, StepEvent, StepPlan};
use super::stragglers::{Concluded, Costs, NetworkGains};
use super::swim::SwimDetail;
use crate::answer::{Budget, Part, Phases, Steps, Stragglers};
use crate::job::{Job, Kernels, Options};
use crate::stream::{JudgedCall, Listener};

/// What is made by step, and remarks for people.
#[derive(Debug)]
pub struct ByStep {
    /// The steps.
    pub steps: Part<Steps>,
    /// Where their time goes.
    pub budget: Part<Budget>,
    /// Windows between phases of communication.
    pub phases: Part<Phases>,
    /// Steps in detail.
    pub(crate) detail: SwimDetail,
    /// What ranks cost a step.
    pub stragglers: Part<Stragglers>,
    /// Share of each GPU's delay cost that began with it, by place; `None` where that is not known.
    pub own_shares: Vec<Option<f64>>,
    /// The steps, to find what they gain with a faster network; `None` where they cannot be played.
    pub of_network: Option<NetworkGains>,
    /// Lengths of steps, and the waits in them, microseconds ([`crate::answer::Series`]).
    pub lengths_and_waits: [Vec<f32>; 2],
    /// Time without NCCL in a step by GPU, and its error, microseconds.
    pub outside_us: Vec<[f32; 2]>,
    /// Remarks, a sentence each.
    pub notes: Vec<String>,
}

/// The listener that counts by step.
#[derive(Debug)]
pub struct Stepwise<'a> {
    dimensions: &'a Dimensions,
    follower: Follower,
    budgets: Budgets,
    records: Records,
    /// Time without NCCL of each GPU's steps, microseconds.
    outside: Vec<ThinnedSeries>,
    phases: JobPhases,
    costs: Costs,
    detail: SwimDetail,
    top: usize,
    /// Step that is shown in detail, counted after the warm-up.
    shown: Option<u64>,
    /// Whether it was chosen for its length.
    is_slowest_shown: bool,
    events: Vec<StepEvent>,
    /// Step of the last call, counted after the warm-up; `None` if it was in no such step.
    pub last: Option<u64>,
}

impl ByStep {
    /// Withholds all that is made of times between operations, for this reason.
    pub(crate) fn withhold(&mut self, reason: &str) {
        self.steps = Part::Absent(reason.into());
        self.budget = Part::Absent(reason.into());
        self.phases = Part::Absent(reason.into());
        self.stragglers = Part::Absent(reason.into());
        self.of_network = None;
        (self.lengths_and_waits, self.outside_us, self.notes) = Default::default();
    }
}

impl<'a> Stepwise<'a> {
    /// Prepares to count the steps of a plan. `common` returns a process' time on the common clock.
    pub fn new(
        job: &Job,
        plan: StepPlan,
        dimensions: &'a Dimensions,
        options: &Options,
        kernels: Option<Kernels>,
        common: &dyn Fn(usize, u64) -> i64,
    ) -> Self {
        // without steps, the recording is one
        let shown = if plan.has_steps() { options.step.or(plan.slowest) } else { Some(0) };
        let usual = plan.usual;
        let warm_up = plan.has_steps().then_some(plan.warm_up);
        let is_slowest_shown = plan.has_steps() && options.step.is_none();
        Self {
            dimensions,
            costs: Costs::new(job, &plan),
            budgets: Budgets::new(job, dimensions, &options.links, kernels, common),
            follower: Follower::new(job, plan),
            records: Records::new(job.gpus.len()),
            outside: vec![ThinnedSeries::default(); job.gpus.len()],
            phases: JobPhases::new(job.gpus.len()),
            detail: SwimDetail::new(job.gpus.len(), shown, usual, warm_up),
            top: options.top,
            shown,
            is_slowest_shown,
            events: vec![],
            last: None,
        }
    }

    /// Returns the step that a GPU has begun last, counted after the warm-up; `None` in the warm-up or without steps.
    pub fn last_of(&self, gpu: usize) -> Option<u64> {
        let plan = &self.follower.plan;
        self.follower.last(gpu).filter(|_| plan.has_steps())?.checked_sub(plan.warm_up)
    }

    /// Ends the stream, and makes the answers.
    pub fn finish(mut self, job: &Job) -> ByStep {
        for gpu in 0..job.gpus.len() {
            let mut events = std::mem::take(&mut self.events);
            self.follower.finish(job, gpu, &mut events);
            self.pass(gpu, &mut events);
            self.budgets.finish(gpu);
            self.end(gpu);
        }
        let Concluded { stragglers, paused, own_shares, of_network } = self.costs.finish(job);
        let (steps, mut notes) = self.records.answer(&self.follower, self.top, &paused);
        let count = steps.known().map_or(1, |steps| steps.count);
        let has_plan = self.follower.plan.has_steps();
        let (budget, of_budget) = match (has_plan, steps.absent()) {
            // the calls did not go on as the plan has it, and nothing was counted but by the plan
            (true, Some(reason)) => (Part::Absent(reason.into()), vec![]),
            _ => self.budgets.answer(self.dimensions, has_plan, count, &paused),
        };
        notes.extend(of_budget);
        let slowest = steps.known().and_then(|steps| steps.slowest.first()).map(|slow| slow.step);
        if self.is_slowest_shown && slowest != self.shown && !self.follower.plan.is_surveyed() {
            notes.push("The step in detail is the slowest one of each GPU's first 262,144 operations.".into());
        }
        let stragglers = match (has_plan, steps.absent()) {
            (true, Some(reason)) => Part::Absent(reason.into()),
            _ => stragglers,
        };
        let (lengths_and_waits, outside_us) = match &steps {
            Part::Known(steps) => {
                let outside = self.outside.iter().map(|of_gpu| of_gpu.median().unwrap_or_default());
                (self.records.series(steps.count), outside.collect())
            }
            Part::Absent(_) => Default::default(),
        };
        ByStep {
            steps,
            budget,
            phases: self.phases.answer(self.dimensions),
            detail: self.detail,
            stragglers,
            own_shares,
            of_network,
            lengths_and_waits,
            outside_us,
            notes,
        }
    }

    /// Passes on what happens to a GPU's step.
    fn pass(&mut self, gpu: usize, events: &mut Vec<StepEvent>) {
        for event in events.drain(..) {
            self.detail.event(event);
            self.budgets.event(gpu, event);
        }
        self.events = std::mem::take(events);
        self.end(gpu);
    }

    /// Counts the steps that a GPU has ended.
    fn end(&mut self, gpu: usize) {
        for ended in self.budgets.ended() {
            let Some(step) = self.follower.plan.counted(ended.step) else { continue };
            self.budgets.end(gpu, step, &ended);
            self.records.end(gpu, step, ended.length, ended.wait);
            if let Some(outside) = self.outside.get_mut(gpu) {
                outside.add(step, ended.outside_ns() as f32 / 1e3);
            }
            self.detail.end(ended.step, ended.length);
        }
    }
}

impl Listener for Stepwise<'_> {
    fn call(&mut self, job: &Job, judged: &JudgedCall) {
        let call = judged.call();
        let mut events = std::mem::take(&mut self.events);
        let in_step = self.follower.call(job, judged, &mut events);
        let step = in_step.map(|it| it.step);
        self.pass(call.gpu, &mut events);
        let counted = step.and_then(|step| self.follower.plan.counted(step));
        self.last = counted;
        if let Some((at, step)) = in_step.zip(counted) {
            self.costs.call(job, judged, InStep { step, ..at });
        }
        let dimension = self.dimensions.number(call.communicator);
        let cost = judged.cost.unwrap_or(0);
        self.records.call(call.gpu, counted, call.function, cost, judged.part.wait.is_some());
        self.budgets.call(job, judged, counted, dimension);
        self.end(call.gpu);
        self.phases.call(judged, dimension, counted.is_some());
        self.detail.call(judged, step);
    }
}

#[cfg(test)]
mod tests;
