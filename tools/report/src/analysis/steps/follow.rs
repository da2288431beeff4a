//! Steps in the stream: each GPU's calls go along its pattern or its regions.

use super::pattern::Walk;
use super::plan::{StepPlan, StepUnit};
use super::token::{CallToken, Detail, OwnCommunicators, of_call};
use crate::job::Job;
use crate::stream::JudgedCall;

/// Something that happens to a GPU's step, at a time of the common clock in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepEvent {
    /// A step begins, and the one before ends. Steps count from 0, warm-up included.
    Begin(u64, i64),
    /// The step ends, and none begins.
    Leave(i64),
    /// All calls of a step were there. It ends here unless another one begins.
    Complete(u64, i64),
}

/// Where a call is in its GPU's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InStep {
    /// The step that has begun last, warm-up included.
    pub(crate) step: u64,
    /// Place among the calls of the step; `None` for a call that interrupts it, or lies after it.
    pub(crate) place: Option<u32>,
    /// The call as a number: equal for equal calls of ranks that do the same.
    pub(crate) token: CallToken,
}

/// A GPU on its way.
#[derive(Debug, Clone, Copy, Default)]
struct GpuState {
    /// Calls so far.
    calls: u64,
    walk: Walk,
    /// Steps that have begun.
    begun: u64,
    /// Calls of the present step so far, where the steps are regions.
    in_step: u32,
    /// Whether a step is under way.
    is_inside: bool,
    /// Begin of the present step.
    begin: i64,
    /// Latest end of its calls.
    stop: i64,
}

/// The calls of all GPUs on their way along the steps.
#[derive(Debug)]
pub(crate) struct Follower {
    pub(crate) plan: StepPlan,
    own: OwnCommunicators,
    gpus: Vec<GpuState>,
    /// Calls after the warm-up, and those that belong to complete steps.
    behind: u64,
    covered: u64,
}

impl Follower {
    pub(crate) fn new(job: &Job, plan: StepPlan) -> Self {
        Self {
            plan,
            own: OwnCommunicators::new(job),
            gpus: vec![GpuState::default(); job.gpus.len()],
            behind: 0,
            covered: 0,
        }
    }

    /// Returns the share of the calls after the warm-up that belong to steps.
    pub(crate) fn covered(&self) -> f64 {
        if self.behind > 0 { self.covered as f64 / self.behind as f64 } else { 0.0 }
    }

    /// Returns the number of the step that a GPU has begun last.
    pub(crate) fn last(&self, gpu: usize) -> Option<u64> {
        self.gpus.get(gpu)?.begun.checked_sub(1)
    }

    /// Takes in the next call of a GPU, and adds what happens with it to `events`. Returns its place in the step that
    /// has begun last, if that is not over.
    pub(crate) fn call(&mut self, job: &Job, judged: &JudgedCall, events: &mut Vec<StepEvent>) -> Option<InStep> {
        let call = judged.call();
        let [start, stop] = judged.part.span.unwrap_or([call.enqueued; 2]);
        let state = self.gpus.get_mut(call.gpu)?;
        state.calls += 1;
        let (mut place, mut token) = (None, None);
        match &self.plan.what {
            StepUnit::Whole => {
                if !state.is_inside {
                    state.enter(start, events);
                }
                state.stop = state.stop.max(stop);
                (self.behind, self.covered) = (self.behind + 1, self.covered + 1);
            }
            StepUnit::Regions(by_process) => {
                let process = job.gpus.get(call.gpu)?.process;
                let regions = by_process.get(process)?;
                let is_inside = state.go_to(regions, call.enqueued, start, events);
                let is_behind = state.begun > self.plan.warm_up;
                self.behind += u64::from(is_behind);
                if is_inside {
                    state.stop = state.stop.max(stop);
                    self.covered += u64::from(is_behind);
                } else if state.is_inside {
                    state.is_inside = false;
                    events.push(StepEvent::Leave(start.max(state.begin)));
                }
            }
            StepUnit::Patterns(detail, by_gpu) => {
                let of_gpu = by_gpu.get(call.gpu)?.as_ref()?;
                if state.calls <= of_gpu.from {
                    return None;
                }
                let own = of_call(&self.own, job, call)[*detail as usize];
                let met = state.walk.meet(&of_gpu.pattern, own);
                (place, token) = (met.fits.then_some(met.place), Some(own));
                if met.is_first {
                    state.enter(start, events);
                }
                if met.fits {
                    state.stop = state.stop.max(stop);
                }
                let is_behind = state.begun > self.plan.warm_up;
                self.behind += u64::from(is_behind);
                if met.is_last {
                    self.covered += if is_behind { of_gpu.pattern.len() as u64 } else { 0 };
                    events.push(StepEvent::Complete(state.begun - 1, state.stop));
                }
            }
        }
        if !state.is_inside {
            return None;
        }
        if !matches!(self.plan.what, StepUnit::Patterns(..)) {
            place = Some(state.in_step);
            state.in_step += 1;
        }
        let token = token.unwrap_or_else(|| of_call(&self.own, job, call)[Detail::WithoutCounts as usize]);
        Some(InStep { step: state.begun - 1, place, token })
    }

    /// Ends a GPU's way.
    pub(crate) fn finish(&mut self, job: &Job, gpu: usize, events: &mut Vec<StepEvent>) {
        let Some(state) = self.gpus.get_mut(gpu) else { return };
        let regions = match &self.plan.what {
            StepUnit::Whole => &[][..],
            StepUnit::Regions(by_process) => {
                job.gpus.get(gpu).and_then(|gpu| by_process.get(gpu.process)).map_or(&[][..], |of| &of[..])
            }
            // its last complete step is known
            StepUnit::Patterns(..) => return,
        };
        state.skip(regions, regions.len() as u64, events);
        if state.is_inside {
            events.push(StepEvent::Complete(state.begun - 1, state.stop));
        }
    }
}

impl GpuState {
    /// Begins the next step. Its begin is not before the last one's.
    fn enter(&mut self, begin: i64, events: &mut Vec<StepEvent>) {
        self.begin = if self.begun > 0 { begin.max(self.begin) } else { begin };
        self.stop = self.begin;
        self.in_step = 0;
        self.is_inside = true;
        events.push(StepEvent::Begin(self.begun, self.begin));
        self.begun += 1;
    }

    /// Goes through regions without calls up to the one before `number`.
    fn skip(&mut self, regions: &[[i64; 2]], number: u64, events: &mut Vec<StepEvent>) {
        while self.begun < number {
            let Some(&[begin, end]) = regions.get(self.begun as usize) else { return };
            self.enter(begin, events);
            self.stop = self.stop.max(end);
        }
    }

    /// Goes to the region in which a call was enqueued; returns whether there is one. Its begin is the call's, if it is
    /// the region's first call.
    fn go_to(&mut self, regions: &[[i64; 2]], enqueued: i64, start: i64, events: &mut Vec<StepEvent>) -> bool {
        let mut begun = self.begun as usize;
        while regions.get(begun).is_some_and(|region| region[0] <= enqueued) {
            begun += 1;
        }
        let is_inside = begun.checked_sub(1).and_then(|last| regions.get(last)).is_some_and(|it| enqueued < it[1]);
        let begun = begun as u64;
        if is_inside && begun > self.begun {
            self.skip(regions, begun - 1, events);
            self.enter(start, events);
        } else {
            self.skip(regions, begun, events);
        }
        is_inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::steps::Survey;
    use crate::analysis::tests::calls::{collective, job};
    use crate::job::StepRegions;

    /// Regions without calls begin when the host enters them, others with their first call on the GPU.
    #[test]
    fn regions_without_calls_are_steps_too() {
        let job = job(&[(1, &[0])]);
        let by_process = vec![vec![[100, 200], [200, 300], [300, 400], [500, 600], [700, 800]]];
        let regions = StepRegions { name: "step".into(), is_file: true, by_process };
        let plan = StepPlan::decide(&job, Survey::new(&job), Some(&regions), &|_, time| time as i64);
        let mut follower = Follower::new(&job, plan);
        let mut events = vec![];
        let steps = [50, 110, 190, 310, 450, 520].map(|enqueued| {
            let call = collective(&job, 1, 0, "AllReduce", 1).at(enqueued, enqueued + 5, enqueued + 30).judged();
            follower.call(&job, &call, &mut events).map(|it| it.step)
        });
        follower.finish(&job, 0, &mut events);
        assert_eq!(steps, [None, Some(0), Some(0), Some(2), None, Some(3)]);
        use StepEvent::{Begin, Complete, Leave};
        let expected = [Begin(0, 115), Begin(1, 200), Begin(2, 315), Leave(455), Begin(3, 525), Begin(4, 700)];
        assert_eq!(events[..6], expected);
        assert_eq!(events[6..], [Complete(4, 800)]);
        assert_eq!(follower.covered(), 4.0 / 5.0);
    }
}
