//! Where the time of a step goes: waiting, transferring, computing, nothing. The parts are disjoint, in whole
//! nanoseconds, and add up to the steps' length.

mod computation;
mod gpu_queue;
mod longest;
mod shares;
mod sums;
mod sweep;
#[cfg(test)]
mod tests;

pub(crate) use gpu_queue::EndedGpuStep;

use crate::analysis::dimension::Dimensions;
use crate::analysis::fold::Merge;
use crate::analysis::steps::StepEvent;
use crate::answer::{Budget, GpuBudget, Part};
use crate::job::{Job, Kernels, Links};
use crate::stream::JudgedCall;
use computation::Computation;
use gpu_queue::GpuQueue;
use longest::Longest;
use shares::DimensionShares;
use sums::GpuSums;

/// Sums of a GPU's steps.
#[derive(Debug, Clone, Default)]
struct Total {
    now: GpuSums,
    /// Without the last step.
    before: GpuSums,
    steps: u64,
}

/// The budgets of all GPUs on their way.
#[derive(Debug)]
pub(crate) struct Budgets {
    queues: Vec<GpuQueue>,
    totals: Vec<Total>,
    shares: DimensionShares,
    longest: Longest,
    links: Links,
    /// Calls in steps after the warm-up, and those with a GPU time.
    calls: u64,
    timed: u64,
    /// Durations of the calls that the GPU has timed and that have no begin, nanoseconds.
    unplaced_ns: u64,
    ended: Vec<EndedGpuStep>,
    /// Steps of GPUs with known kernels, and those in which a kernel ran.
    with_kernels: u64,
    computed: u64,
}

impl Budgets {
    pub(crate) fn new(
        job: &Job,
        dimensions: &Dimensions,
        links: &Links,
        kernels: Option<Kernels>,
        common: &dyn Fn(usize, u64) -> i64,
    ) -> Self {
        let computations = Computation::by_gpu(job, kernels, common);
        let queue = |computation| GpuQueue::new(dimensions.distinct.len(), computation);
        Self {
            queues: computations.into_iter().map(queue).collect(),
            totals: vec![Total::default(); job.gpus.len()],
            shares: DimensionShares::default(),
            longest: Longest::default(),
            links: links.clone(),
            calls: 0,
            timed: 0,
            unplaced_ns: 0,
            ended: vec![],
            with_kernels: 0,
            computed: 0,
        }
    }

    /// Takes in what happens to a GPU's step.
    pub(crate) fn event(&mut self, gpu: usize, event: StepEvent) {
        if let Some(queue) = self.queues.get_mut(gpu) {
            queue.event(event, &mut self.ended);
        }
    }

    /// Takes in a call that belongs to a step that counts, or to none.
    pub(crate) fn call(&mut self, job: &Job, judged: &JudgedCall, step: Option<u64>, dimension: usize) {
        let (part, call) = (&judged.part, judged.call());
        if let Some(step) = step {
            self.calls += 1;
            self.timed += u64::from(part.span.is_some());
            if part.span.is_none() && call.source.is_gpu() && !call.is_fused {
                self.unplaced_ns = self.unplaced_ns.saturating_add(call.duration);
            }
            self.shares.call(job, &self.links, judged, step, dimension);
        }
        if let (Some(span), Some(queue)) = (part.span, self.queues.get_mut(call.gpu)) {
            queue.call(span, part.wait, dimension, &mut self.ended);
        }
    }

    /// Ends a GPU's way.
    pub(crate) fn finish(&mut self, gpu: usize) {
        if let Some(queue) = self.queues.get_mut(gpu) {
            queue.finish(&mut self.ended);
        }
    }

    /// Returns the steps of the GPU that have ended since the last call or event, and forgets them.
    pub(crate) fn ended(&mut self) -> Vec<EndedGpuStep> {
        std::mem::take(&mut self.ended)
    }

    /// Counts a step that a GPU has ended.
    pub(crate) fn end(&mut self, gpu: usize, step: u64, ended: &EndedGpuStep) {
        let has_kernels = self.queues.get(gpu).is_some_and(|queue| queue.computation.is_known());
        self.shares.end(step, ended, has_kernels);
        self.longest.add(gpu, step, ended);
        if has_kernels {
            self.with_kernels += 1;
            self.computed += u64::from(ended.budget.computing_ns + ended.budget.overlapped_ns > 0);
        }
        if let Some(total) = self.totals.get_mut(gpu) {
            total.before.clone_from(&total.now);
            total.now.add(ended);
            total.steps += 1;
        }
    }

    /// Makes the answer: of the first `steps` steps without those of `paused`, or of the whole recording.
    pub(crate) fn answer(
        &self,
        dimensions: &Dimensions,
        of_steps: bool,
        steps: u64,
        paused: &[u64],
    ) -> (Part<Budget>, Vec<String>) {
        let late: u64 = self.queues.iter().map(|queue| queue.late).sum();
        let timed = self.timed.saturating_sub(late);
        if timed == 0 || steps == 0 {
            return (Part::Absent("no operation that counts has a begin and an end on the GPU".into()), vec![]);
        }
        // a recording may end within a step of some GPUs
        let of_gpu = |total: &Total| if total.steps > steps { &total.before } else { &total.now }.clone();
        let mut sums: Vec<GpuSums> = self.totals.iter().map(of_gpu).collect();
        let has_steps = self.totals.iter().filter(|total| total.steps > 0).count();
        let known: Vec<_> = paused
            .iter()
            .filter(|&&step| of_steps && step < steps)
            .filter_map(|&step| self.longest.step(step, has_steps))
            .collect();
        // the sums need steps without a pause to be left
        let known = if (known.len() as u64) < steps { known } else { vec![] };
        for (gpu, of_step) in known.iter().copied().flatten() {
            sums[*gpu].take(of_step);
        }
        let has_kernels = |gpu: usize| self.queues.get(gpu).is_some_and(|queue| queue.computation.is_known());
        let breakdown = sums::breakdown(&sums, &dimensions.distinct, &has_kernels);
        let gpus: Vec<GpuBudget> = sums.into_iter().map(|of_gpu| of_gpu.times).collect();
        let left_out = known.len() as u64;
        let mut whole = GpuBudget::default();
        gpus.iter().for_each(|gpu| whole.merge(*gpu));
        let known = || self.queues.iter().zip(&gpus).filter(|(queue, _)| queue.computation.is_known());
        let in_nccl: u64 = known().map(|(_, gpu)| gpu.waiting_ns + gpu.transferring_ns + gpu.overlapped_ns).sum();
        let overlapped: u64 = known().map(|(_, gpu)| gpu.overlapped_ns).sum();
        let (with, all) = (known().count(), self.queues.len());
        let has_links = self.links.are_known();
        let budget = Budget {
            of_steps,
            steps: steps - left_out,
            with_kernels: with > 0,
            overlap: (in_nccl > 0).then(|| overlapped as f64 / in_nccl as f64),
            computed: (self.with_kernels > 0).then(|| self.computed as f64 / self.with_kernels as f64),
            dimensions: self.shares.answer(dimensions, steps, has_links),
            breakdown,
            timed: timed as f64 / self.calls.max(1) as f64,
            unplaced_us: self.unplaced_ns as f64
                / 1e3
                / self.totals.iter().map(|total| total.steps).sum::<u64>().max(1) as f64,
            whole,
            gpus,
        };
        let mut notes = vec![];
        if left_out > 0 {
            notes.push(format!(
                "{} left out of the budget, because ranks paused in {} (--part events).",
                counted_steps(left_out),
                if left_out == 1 { "it" } else { "them" }
            ));
        }
        if with > 0 && with < all {
            notes.push(format!("Kernels of the computation are known of {with} of {all} GPUs; the overlap is theirs."));
        }
        if late > 0 {
            notes.push(format!(
                "{late} operations ran more than 128 operations before their place in the host's order; \
                                their times are not in the budget."
            ));
        }
        (Part::Known(budget), notes)
    }
}

fn counted_steps(steps: u64) -> String {
    if steps == 1 { "1 step is".into() } else { format!("{steps} steps are") }
}
