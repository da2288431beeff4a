//! Sums of a GPU's times over steps, and their breakdown by computing, dimension of parallelism and neither.

use super::gpu_queue::EndedGpuStep;
use crate::analysis::fold::{Merge, merge_fields};
use crate::answer::{Breakdown, Dimension, GpuBreakdown, GpuBudget};

/// The names of dimensions in their order. The user's words follow, in the order of communicators.
const DIMENSION_ORDER: [&str; 5] = ["DP", "TP", "PP", "EP", "CP"];

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
    pub(super) fn from_step(ended: &EndedGpuStep) -> Self {
        let exposed = ended.dimensions.iter().map(|spent| spent.exposed.unsigned_abs()).collect();
        Self { times: ended.budget, exposed }
    }

    pub(super) fn add(&mut self, ended: &EndedGpuStep) {
        self.times.merge(ended.budget);
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
}

merge_fields!(
    GpuBudget: total_ns, waiting_ns, transferring_ns, overlapped_ns, computing_ns, idle_ns, not_compared_ns;
);

/// Makes the breakdown of all GPUs. Dimensions of one name are one, wherever they are known from; one without exposed
/// communication on any GPU is left out.
pub(super) fn breakdown(sums: &[GpuSums], distinct: &[Dimension], has_kernels: &dyn Fn(usize) -> bool) -> Breakdown {
    let is_exposed = |number: usize| sums.iter().any(|of_gpu| of_gpu.exposed.get(number).is_some_and(|&ns| ns > 0));
    let mut names: Vec<&str> = vec![];
    for (number, dimension) in distinct.iter().enumerate() {
        if is_exposed(number) && !names.contains(&dimension.name.as_str()) {
            names.push(&dimension.name);
        }
    }
    names.sort_by_key(|name| match DIMENSION_ORDER.iter().position(|known| known == name) {
        Some(place) => place,
        None if *name == "unknown" => DIMENSION_ORDER.len() + 1,
        None => DIMENSION_ORDER.len(),
    });
    let of_gpu = |(gpu, of_gpu): (usize, &GpuSums)| {
        let mut exposed_ns = vec![0; names.len()];
        for (dimension, ns) in distinct.iter().zip(&of_gpu.exposed) {
            if let Some(place) = names.iter().position(|name| *name == dimension.name) {
                exposed_ns[place] += ns;
            }
        }
        GpuBreakdown { has_kernels: has_kernels(gpu), exposed_ns }
    };
    let gpus = sums.iter().enumerate().map(of_gpu).collect();
    Breakdown { dimensions: names.into_iter().map(str::to_owned).collect(), gpus }
}
