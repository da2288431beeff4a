//! Sums of a GPU's times over steps.

use super::gpu_queue::EndedGpuStep;
use crate::answer::GpuBudget;

/// Sums of a GPU's times over some steps.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GpuSums {
    pub(super) times: GpuBudget,
    /// Communication without computation by number of the dimension, nanoseconds.
    pub(super) exposed: Vec<u64>,
}

impl Clone for GpuSums {
    fn clone(&self) -> Self {
        Self { times: self.times, exposed: self.exposed.clone() }
    }

    // keeps its memory: it is called for each step
    fn clone_from(&mut self, other: &Self) {
        self.times = other.times;
        self.exposed.clone_from(&other.exposed);
    }
}

impl GpuSums {
    /// Returns the times of a step.
    pub(super) fn of(ended: &EndedGpuStep) -> Self {
        let exposed = ended.dimensions.iter().map(|spent| spent.exposed.unsigned_abs()).collect();
        Self { times: ended.budget, exposed }
    }

    /// Adds a step.
    pub(super) fn add(&mut self, ended: &EndedGpuStep) {
        self.times.add(&ended.budget);
        self.exposed.resize(self.exposed.len().max(ended.dimensions.len()), 0);
        for (sum, spent) in self.exposed.iter_mut().zip(&ended.dimensions) {
            *sum += spent.exposed.unsigned_abs();
        }
    }

    /// Takes away a step that is in the sums.
    pub(super) fn take(&mut self, other: &Self) {
        self.times.take(&other.times);
        self.exposed.iter_mut().zip(&other.exposed).for_each(|(sum, of_step)| *sum -= of_step);
    }
}

impl GpuBudget {
    fn take(&mut self, other: &Self) {
        self.total_ns -= other.total_ns;
        self.waiting_ns -= other.waiting_ns;
        self.transferring_ns -= other.transferring_ns;
        self.overlapped_ns -= other.overlapped_ns;
        self.computing_ns -= other.computing_ns;
        self.idle_ns -= other.idle_ns;
        self.not_compared_ns -= other.not_compared_ns;
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.total_ns += other.total_ns;
        self.waiting_ns += other.waiting_ns;
        self.transferring_ns += other.transferring_ns;
        self.overlapped_ns += other.overlapped_ns;
        self.computing_ns += other.computing_ns;
        self.idle_ns += other.idle_ns;
        self.not_compared_ns += other.not_compared_ns;
    }
}
