//! Steps in detail: the slowest one or the user's choice, and one of median length.
//!
//! Both are known before the stream, by the survey. So their calls alone are kept.

mod kept;
mod path;
mod shown;

use super::dimension::Dimensions;
use super::steps::StepEvent;
use crate::answer::{Part, Stragglers, Stretch, Swim, SwimBar, SwimLane};
use crate::job::Job;
use crate::stream::JudgedCall;
use kept::StepCalls;
use std::collections::BTreeMap;

/// Most calls of a step that is shown.
const MAX_CALLS_SHOWN: usize = 20_000;

/// The steps in detail.
#[derive(Debug)]
pub(crate) struct SwimDetail {
    /// The one that is asked for; `None` if there is none to show.
    chosen: Option<StepCalls>,
    usual: Option<StepCalls>,
    /// Number of steps that are not counted; `None` without steps.
    warm_up: Option<u64>,
}

impl SwimDetail {
    /// Chooses a step, and one of median length; both are counted after the warm-up.
    pub(crate) fn new(gpus: usize, chosen: Option<u64>, usual: Option<u64>, warm_up: Option<u64>) -> Self {
        let step = |step: u64| StepCalls::new(step.saturating_add(warm_up.unwrap_or(0)), gpus);
        let usual = usual.filter(|step| chosen != Some(*step)).map(step);
        Self { chosen: chosen.map(step), usual, warm_up }
    }

    fn steps(&mut self) -> impl Iterator<Item = &mut StepCalls> {
        self.chosen.iter_mut().chain(&mut self.usual)
    }

    pub(crate) fn event(&mut self, event: StepEvent) {
        if let StepEvent::Begin(number, at) = event {
            self.steps().filter(|step| step.number == number).for_each(|step| step.begin(at));
        }
    }

    /// Takes in a call of a step, counted with the warm-up.
    pub(crate) fn call(&mut self, judged: &JudgedCall, number: Option<u64>) {
        self.steps().filter(|step| number == Some(step.number)).for_each(|step| step.call(judged));
    }

    /// Takes in the length of a step on a GPU, nanoseconds. The step is counted with the warm-up.
    pub(crate) fn end(&mut self, number: u64, length: i64) {
        self.steps().filter(|step| step.number == number).for_each(|step| step.end(length));
    }

    /// Makes the answer, with the GPUs that are outliers.
    pub(crate) fn answer(self, job: &Job, dimensions: &Dimensions, stragglers: Option<&Stragglers>) -> Part<Swim> {
        let behind = |step: &StepCalls| self.warm_up.map(|warm_up| step.number.saturating_sub(warm_up));
        let Some(chosen) = self.chosen.as_ref().filter(|step| step.is_there()) else {
            return Part::Absent(match self.chosen.as_ref().and_then(behind) {
                Some(step) => format!("there is no step {step}"),
                None => "there are no operations".into(),
            });
        };
        let usual = self.usual.as_ref().filter(|step| step.is_there());
        let paths = [Some(chosen), usual].map(|step| step.map(StepCalls::path).unwrap_or_default());
        let gpus = shown::shown(job, stragglers, &[&paths[0], &paths[1]]);
        let swim = |step: &StepCalls, path: Vec<Stretch>| {
            let (most, left_out) = step.room(&gpus, MAX_CALLS_SHOWN);
            let lanes = gpus.iter().flat_map(|&gpu| lanes(step, gpu, most, job, dimensions)).collect();
            Swim { step: behind(step), length_us: step.length_us(), lanes, left_out, path, usual: None }
        };
        let [path, path_of_usual] = paths;
        let usual = usual.map(|step| Box::new(swim(step, path_of_usual)));
        Part::Known(Swim { usual, ..swim(chosen, path) })
    }
}

/// Returns the lanes of a GPU, one for each of its communicators.
fn lanes(step: &StepCalls, gpu: usize, most: usize, job: &Job, dimensions: &Dimensions) -> Vec<SwimLane> {
    let mut by_communicator: BTreeMap<usize, Vec<SwimBar>> = BTreeMap::new();
    for (communicator, bar) in step.bars(gpu, most) {
        by_communicator.entry(communicator).or_default().push(bar);
    }
    let lane = |(communicator, mut bars): (usize, Vec<SwimBar>)| {
        bars.sort_by(|one, other| one.start_us.total_cmp(&other.start_us));
        SwimLane {
            gpu,
            comm: job.communicators.get(communicator).map(|of| format!("{:016x}", of.comm)).unwrap_or_default(),
            dimension: dimensions.at(communicator).name,
            bars,
        }
    };
    by_communicator.into_iter().map(lane).collect()
}
