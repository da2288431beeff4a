//! Kernels of the computation beside NCCL's.

use crate::job::{Job, Kernels};
use std::sync::Arc;

/// A GPU's kernels on the common clock, on the way along time. Intervals are sorted and do not touch.
#[derive(Debug, Clone, Default)]
pub(super) struct Computation {
    intervals: Arc<[[i64; 2]]>,
    at: usize,
}

impl Computation {
    /// Returns the kernels of each GPU. A process with several GPUs does not say which of them a kernel ran on, so its
    /// kernels count for none.
    pub(super) fn by_gpu(job: &Job, kernels: Option<Kernels>, common: &dyn Fn(usize, u64) -> i64) -> Vec<Self> {
        let mut by_process: Vec<Arc<[[i64; 2]]>> = vec![];
        for (process, own) in kernels.unwrap_or_default().by_process.into_iter().enumerate() {
            by_process.push(own.into_iter().map(|times| times.map(|time| common(process, time))).collect());
        }
        let mut gpus = vec![0u32; job.processes.len()];
        for gpu in &job.gpus {
            if let Some(count) = gpus.get_mut(gpu.process) {
                *count += 1;
            }
        }
        let of = |process: usize| {
            let intervals = by_process.get(process).filter(|_| gpus.get(process) == Some(&1));
            Self { intervals: intervals.cloned().unwrap_or_default(), at: 0 }
        };
        job.gpus.iter().map(|gpu| of(gpu.process)).collect()
    }

    /// Takes intervals of a GPU.
    #[cfg(test)]
    pub(super) fn of_intervals(intervals: Arc<[[i64; 2]]>) -> Self {
        Self { intervals, at: 0 }
    }

    pub(super) fn is_known(&self) -> bool {
        !self.intervals.is_empty()
    }

    /// Returns how long there was a kernel between two times. Later calls are of later times.
    pub(super) fn between(&mut self, from: i64, to: i64) -> i64 {
        let mut sum = 0;
        while let Some(&[begin, end]) = self.intervals.get(self.at).filter(|interval| interval[0] < to) {
            sum += (end.min(to) - begin.max(from)).max(0);
            if end > to {
                break;
            }
            self.at += 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_between_two_times() {
        let mut computation = Computation { intervals: [[10, 20], [30, 40], [50, 60]].into(), at: 0 };
        let stretches = [(0, 5), (5, 15), (15, 18), (18, 35), (35, 55), (55, 100)];
        assert_eq!(stretches.map(|(from, to)| computation.between(from, to)), [0, 5, 3, 7, 10, 5]);
    }
}
