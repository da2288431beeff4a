//! What each dimension of parallelism has of the steps.

use super::calls::DimensionCalls;
use super::gpu_queue::EndedGpuStep;
use crate::analysis::dimension::Dimensions;
use crate::analysis::steps::{MergeStep, PerStep, quantile};
use crate::answer::{DimensionShare, Spread};

/// A dimension in a step, summed over GPUs.
#[derive(Debug, Clone, Copy, Default)]
struct StepShare {
    time: i64,
    wait: i64,
    /// Of GPUs with known kernels: the time, and that beside a computation.
    profiled: i64,
    beside: i64,
    bytes: u64,
    operations: u64,
    /// How long the link would take for the bytes on the bus, nanoseconds.
    at_full_rate: f64,
    is_compared: bool,
    /// Whether the link's rate or the bytes on the bus of an operation are unknown.
    is_unrated: bool,
}

/// All dimensions in a step.
#[derive(Debug, Clone, Default)]
struct Shares {
    dimensions: Vec<StepShare>,
    /// Sum of the GPUs' lengths, nanoseconds.
    length: i64,
    gpus: u64,
}

impl MergeStep for Shares {
    fn merge(&mut self, next: Self) {
        self.length += next.length;
        self.gpus += next.gpus;
        for (dimension, of) in next.dimensions.into_iter().enumerate() {
            let share = self.of(dimension);
            share.time += of.time;
            share.wait += of.wait;
            share.profiled += of.profiled;
            share.beside += of.beside;
            share.bytes = share.bytes.saturating_add(of.bytes);
            share.operations += of.operations;
            share.at_full_rate += of.at_full_rate;
            share.is_compared |= of.is_compared;
            share.is_unrated |= of.is_unrated;
        }
    }
}

impl Shares {
    fn of(&mut self, dimension: usize) -> &mut StepShare {
        if dimension >= self.dimensions.len() {
            self.dimensions.resize(dimension + 1, StepShare::default());
        }
        &mut self.dimensions[dimension]
    }
}

/// A call as a dimension counts it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountedCall {
    pub(super) bytes: u64,
    pub(super) is_timed: bool,
    pub(super) is_compared: bool,
    /// How long the link would take for its bytes on the bus, nanoseconds, where that is known.
    pub(super) at_full_rate: Option<f64>,
}

/// The dimensions' shares of the steps behind the warm-up.
#[derive(Debug, Default)]
pub(super) struct DimensionShares(PerStep<Shares>);

impl DimensionShares {
    pub(super) fn call(&mut self, step: u64, dimension: usize, call: CountedCall) {
        let share = self.0.of(step).of(dimension);
        share.operations += 1;
        share.bytes = share.bytes.saturating_add(call.bytes);
        share.is_compared |= call.is_compared;
        share.is_unrated |= call.at_full_rate.is_none();
        // without a time there is nothing to divide by
        share.at_full_rate += call.at_full_rate.filter(|_| call.is_timed).unwrap_or(0.0);
    }

    pub(super) fn end(&mut self, step: u64, ended: &EndedGpuStep, has_kernels: bool) {
        let shares = self.0.of(step);
        shares.length += ended.length;
        shares.gpus += 1;
        for (dimension, spent) in ended.dimensions.iter().enumerate() {
            if spent.time > 0 {
                let share = shares.of(dimension);
                (share.time, share.wait) = (share.time + spent.time, share.wait + spent.wait);
                if has_kernels {
                    share.profiled += spent.time;
                    share.beside += spent.beside;
                }
            }
        }
    }

    /// Returns the shares of the dimensions that have operations in the first `steps` steps.
    pub(super) fn answer(
        &self,
        dimensions: &Dimensions,
        steps: u64,
        has_links: bool,
        calls: &DimensionCalls,
    ) -> Vec<DimensionShare> {
        let records = self.0.first(steps);
        let gpus = records.iter().map(|shares| shares.gpus).sum::<u64>().max(1) as f64;
        let share = |(number, dimension): (usize, &crate::answer::Dimension)| {
            let mut sum = Shares::default();
            let (mut active, mut of_step) = (vec![], vec![]);
            for shares in records {
                let Some(of) = shares.dimensions.get(number).copied() else {
                    of_step.push(0.0);
                    continue;
                };
                sum.merge(Shares { dimensions: vec![of], ..Shares::default() });
                if of.time > of.wait {
                    active.push(of.at_full_rate / (of.time - of.wait) as f64);
                }
                of_step.push(if shares.length > 0 { of.at_full_rate / shares.length as f64 } else { 0.0 });
            }
            let sum = *sum.of(0);
            let is_rated = has_links && !sum.is_unrated && sum.time > sum.wait;
            (sum.operations > 0).then(|| DimensionShare {
                dimension: dimension.name.clone(),
                origin: dimension.origin,
                time_us: sum.time as f64 / 1e3 / gpus,
                wait_us: sum.is_compared.then(|| sum.wait as f64 / 1e3 / gpus),
                bytes: sum.bytes as f64 / gpus,
                operations: sum.operations as f64 / gpus,
                while_active: utilisation(&active).filter(|_| is_rated),
                of_step: utilisation(&of_step).filter(|_| is_rated),
                overlap: (sum.profiled > 0).then(|| sum.beside as f64 / sum.profiled as f64),
                calls: calls.answer(number),
            })
        };
        dimensions.distinct().iter().enumerate().filter_map(share).collect()
    }
}

fn utilisation(by_step: &[f64]) -> Option<Spread> {
    let mean = by_step.iter().sum::<f64>() / by_step.len() as f64;
    (!by_step.is_empty()).then(|| Spread { mean, p95: quantile(by_step, 0.95) })
}
