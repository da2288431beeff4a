//! What each dimension of parallelism has of the steps, and the rates of its calls.

use super::gpu_queue::EndedGpuStep;
use crate::analysis::dimension::Dimensions;
use crate::analysis::factor::{factors, moved};
use crate::analysis::fold::{Merge, merge_fields};
use crate::analysis::robust::quantile_reached;
use crate::analysis::sketch::TimeSketch;
use crate::analysis::steps::PerStep;
use crate::answer::{CallRates, DimensionShare, Spread};
use crate::job::{Communicator, Job, Links, reduces_in_network};
use crate::stream::{Call, JudgedCall};
use std::collections::BTreeMap;

/// Most of a link's rate that calls reach in the mean. A machine's link with more than that is not the one that they
/// use.
const MAX_LINK_SHARE: f64 = 1.1;

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

merge_fields!(
    StepShare: time, wait, profiled, beside, bytes, operations, at_full_rate, is_compared, is_unrated;
    Shares: dimensions, length, gpus;
);

impl Shares {
    fn share(&mut self, dimension: usize) -> &mut StepShare {
        if dimension >= self.dimensions.len() {
            self.dimensions.resize(dimension + 1, StepShare::default());
        }
        &mut self.dimensions[dimension]
    }
}

/// The dimensions' shares of the steps after the warm-up.
#[derive(Debug, Default)]
pub(super) struct DimensionShares {
    by_step: PerStep<Shares>,
    calls: DimensionCalls,
}

impl DimensionShares {
    /// Takes in a call of a step that counts.
    pub(super) fn call(&mut self, job: &Job, links: &Links, judged: &JudgedCall, step: u64, dimension: usize) {
        let (part, call) = (&judged.part, judged.call());
        let communicator = job.communicators.get(call.communicator);
        let rated = communicator.and_then(|of| links.rate(of.comm, call.kind).zip(bus_bytes(call, of.nranks)));
        // how long the link would take for the bytes on the bus; GB/s are bytes per nanosecond
        let at_full_rate = rated.map(|(rate, bytes)| bytes / rate);
        let share = self.by_step.value(step).share(dimension);
        share.operations += 1;
        share.bytes = share.bytes.saturating_add(call.bytes);
        share.is_compared |= part.wait.is_some();
        share.is_unrated |= at_full_rate.is_none();
        // without a time there is nothing to divide by
        share.at_full_rate += at_full_rate.filter(|_| part.span.is_some()).unwrap_or(0.0);
        communicator.into_iter().for_each(|of| self.calls.call(judged, dimension, of, links));
    }

    pub(super) fn end(&mut self, step: u64, ended: &EndedGpuStep, has_kernels: bool) {
        let shares = self.by_step.value(step);
        shares.length += ended.length;
        shares.gpus += 1;
        for (dimension, spent) in ended.dimensions.iter().enumerate() {
            if spent.time > 0 {
                let share = shares.share(dimension);
                (share.time, share.wait) = (share.time + spent.time, share.wait + spent.wait);
                if has_kernels {
                    share.profiled += spent.time;
                    share.beside += spent.beside;
                }
            }
        }
    }

    /// Returns the shares of the dimensions that have operations in the first `steps` steps.
    pub(super) fn answer(&self, dimensions: &Dimensions, steps: u64, has_links: bool) -> Vec<DimensionShare> {
        let records = self.by_step.first(steps);
        let gpus = records.iter().map(|shares| shares.gpus).sum::<u64>().max(1) as f64;
        let share = |(number, dimension): (usize, &crate::answer::Dimension)| {
            let mut sum = StepShare::default();
            let (mut active, mut of_step) = (vec![], vec![]);
            for shares in records {
                let Some(of) = shares.dimensions.get(number).copied() else {
                    of_step.push(0.0);
                    continue;
                };
                sum.merge(of);
                if of.time > of.wait {
                    active.push(of.at_full_rate / (of.time - of.wait) as f64);
                }
                of_step.push(if shares.length > 0 { of.at_full_rate / shares.length as f64 } else { 0.0 });
            }
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
                calls: self.calls.answer(number),
            })
        };
        dimensions.distinct.iter().enumerate().filter_map(share).collect()
    }
}

/// Returns the bytes on the bus. A broadcast and a reduce have nccl-tests' factor 1: they have no bandwidth of their
/// own, because some ranks leave early, but their bytes use the link.
fn bus_bytes(call: &Call, nranks: i32) -> Option<f64> {
    let early = || matches!(call.function.text().as_str(), "Broadcast" | "Reduce").then_some(1.0);
    factors(call.kind, call.function, nranks).1.or_else(early).map(|factor| factor * moved(call) as f64)
}

fn utilisation(by_step: &[f64]) -> Option<Spread> {
    let mean = by_step.iter().sum::<f64>() / by_step.len() as f64;
    (!by_step.is_empty()).then(|| Spread { mean, p95: quantile_reached(by_step, 0.95) })
}

/// The rates of all dimensions' calls, by number of the dimension.
#[derive(Debug, Default)]
struct DimensionCalls(BTreeMap<usize, Rates>);

/// The rates of a dimension's calls.
#[derive(Debug, Clone, Default)]
struct Rates {
    algbw: Figures,
    busbw: Figures,
    of_link: Figures,
    /// Whether the link's rate is unknown for some calls.
    is_unrated: bool,
    /// Whether the machine, and not the user, gives the link's rate for some calls.
    is_of_machine: bool,
}

/// Figures of calls, counted in billionths.
#[derive(Debug, Clone, Default)]
struct Figures {
    sketch: TimeSketch,
    sum: f64,
}

impl DimensionCalls {
    /// Takes in a call of a step that counts.
    fn call(&mut self, judged: &JudgedCall, dimension: usize, of: &Communicator, links: &Links) {
        let call = judged.call();
        let transfer = judged.latest.map(|[start, stop]| stop.saturating_sub(start)).filter(|&ns| ns > 0);
        let (Some(transfer), false) = (transfer, call.is_fused) else { return };
        let (size, bus) = factors(call.kind, call.function, of.nranks);
        // bytes over nanoseconds are GB/s
        let rate = |factor: f64| moved(call) as f64 * factor / transfer as f64;
        let Some(busbw) = bus.map(rate).filter(|&busbw| busbw > 0.0) else { return };
        let rates = self.0.entry(dimension).or_default();
        rates.busbw.add(busbw);
        size.map(rate).into_iter().for_each(|algbw| rates.algbw.add(algbw));
        let is_given = links.is_given(of.comm);
        let link = links.rate(of.comm, call.kind).filter(|&rate| rate > 0.0);
        match link.filter(|_| is_given || !reduces_in_network(&call.algorithm.text())) {
            Some(link) => rates.of_link.add(busbw / link),
            None => rates.is_unrated = true,
        }
        rates.is_of_machine |= !is_given;
    }

    /// Returns the rates of a dimension's calls.
    fn answer(&self, dimension: usize) -> CallRates {
        let Some(rates) = self.0.get(&dimension) else { return CallRates::default() };
        let of_link = rates
            .of_link
            .spread()
            .filter(|of| !rates.is_unrated && (!rates.is_of_machine || of.mean <= MAX_LINK_SHARE));
        CallRates { count: rates.busbw.sketch.count, algbw: rates.algbw.spread(), busbw: rates.busbw.spread(), of_link }
    }
}

impl Figures {
    fn add(&mut self, figure: f64) {
        self.sketch.add((figure * 1e9) as u64);
        self.sum += figure;
    }

    fn spread(&self) -> Option<Spread> {
        let p95 = self.sketch.percentile(0.95)? / 1e9;
        Some(Spread { mean: self.sum / self.sketch.count as f64, p95 })
    }
}
