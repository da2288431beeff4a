//! The budgets of the longest steps, one by one, so that steps with a pause can be left out of the sums afterwards.

use super::gpu_queue::EndedGpuStep;
use super::sums::GpuSums;
use std::collections::BTreeMap;

/// Most steps whose budgets are kept.
const MAX_STEPS_KEPT: usize = if cfg!(test) { 4 } else { 64 };

/// A step's budgets by GPU.
#[derive(Debug, Default)]
struct StepBudgets {
    longest: u64,
    gpus: Vec<(usize, GpuSums)>,
}

/// The longest steps so far.
#[derive(Debug, Default)]
pub(super) struct Longest {
    steps: BTreeMap<u64, StepBudgets>,
    /// Length from which on a step is kept, nanoseconds.
    least: u64,
}

impl Longest {
    /// Adds the budget of a GPU's step.
    pub(super) fn add(&mut self, gpu: usize, step: u64, ended: &EndedGpuStep) {
        let budget = &ended.budget;
        if budget.total_ns < self.least {
            return;
        }
        let of = self.steps.entry(step).or_default();
        of.longest = of.longest.max(budget.total_ns);
        of.gpus.push((gpu, GpuSums::from_step(ended)));
        if self.steps.len() > 2 * MAX_STEPS_KEPT {
            let mut lengths: Vec<u64> = self.steps.values().map(|step| step.longest).collect();
            lengths.sort_unstable_by(|one, other| other.cmp(one));
            self.least = lengths.get(MAX_STEPS_KEPT).copied().unwrap_or(0);
            let least = self.least;
            self.steps.retain(|_, step| step.longest > least);
        }
    }

    /// Returns the budgets of a step of this many GPUs; `None` if some of them were not kept.
    pub(super) fn step(&self, step: u64, gpus: usize) -> Option<&[(usize, GpuSums)]> {
        self.steps.get(&step).map(|step| &step.gpus[..]).filter(|known| known.len() == gpus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::GpuBudget;

    #[test]
    fn the_longest_steps_stay_whole() {
        let mut longest = Longest::default();
        let ended = |total_ns| {
            let budget = GpuBudget { total_ns, ..GpuBudget::default() };
            EndedGpuStep { budget, ..EndedGpuStep::default() }
        };
        for step in 0..1000 {
            let length = if step % 400 == 300 { 5_000 } else { 1_000 + step % 7 };
            (0..2).for_each(|gpu| longest.add(gpu, step, &ended(length)));
        }
        assert_eq!(longest.step(300, 2).map(<[_]>::len), Some(2));
        assert_eq!(longest.step(700, 2).map(<[_]>::len), Some(2));
        assert!(longest.step(0, 2).is_none() && longest.steps.len() <= 2 * MAX_STEPS_KEPT);
    }
}
