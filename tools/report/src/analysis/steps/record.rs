//! What is kept of each step, and the answer that is made of it.

use super::figures::{outliers, shifts};
use super::follow::Follower;
use super::per_step::PerStep;
use crate::analysis::fold::Merge;
use crate::analysis::robust::{median_of, quantile_reached};
use crate::analysis::series::ThinnedSeries;
use crate::answer::{Part, SlowStep, Steps};
use common::name::NcclName;

/// Longest list of lengths in the answer.
const MAX_LENGTHS: usize = 1000;

/// A step of all GPUs.
#[derive(Debug, Clone, Default)]
struct Record {
    /// GPUs that have ended the step.
    gpus: u64,
    /// Sum of their lengths, nanoseconds.
    length: i64,
    /// Sum of their waits; they are known if a call was compared.
    wait: i64,
    is_compared: bool,
    /// The GPU that others waited longest for, their waits, and the function in which most of them were.
    worst: Option<(usize, i64, NcclName)>,
}

impl Merge for Record {
    fn merge(&mut self, next: Self) {
        self.gpus += next.gpus;
        self.length += next.length;
        self.wait += next.wait;
        self.is_compared |= next.is_compared;
        self.worst = self.worst.into_iter().chain(next.worst).max_by_key(|(_, cost, _)| *cost);
    }
}

/// What others waited for a GPU in its present step.
#[derive(Debug, Clone, Default)]
struct Cost {
    step: Option<u64>,
    sum: i64,
    by_function: Vec<(NcclName, i64)>,
}

/// The steps after the warm-up.
#[derive(Debug)]
pub(crate) struct Records {
    by_step: PerStep<Record>,
    costs: Vec<Cost>,
    /// Steps that each GPU has ended.
    ended: Vec<u64>,
    has_calls: Vec<bool>,
}

impl Records {
    pub(crate) fn new(gpus: usize) -> Self {
        let (by_step, costs) = (PerStep::default(), vec![Cost::default(); gpus]);
        Self { by_step, costs, ended: vec![0; gpus], has_calls: vec![false; gpus] }
    }

    /// Takes in what others waited for a call of a GPU, in a step after the warm-up or outside.
    pub(crate) fn call(&mut self, gpu: usize, step: Option<u64>, function: NcclName, cost: i64, is_compared: bool) {
        let (Some(of_gpu), Some(has_calls)) = (self.costs.get_mut(gpu), self.has_calls.get_mut(gpu)) else { return };
        *has_calls = true;
        if of_gpu.step != step {
            let before = std::mem::replace(of_gpu, Cost { step, ..Cost::default() });
            self.take(gpu, before);
        }
        let Some(step) = step else { return };
        if is_compared {
            self.by_step.value(step).is_compared = true;
        }
        let Some(of_gpu) = self.costs.get_mut(gpu).filter(|_| cost > 0) else { return };
        of_gpu.sum += cost;
        match of_gpu.by_function.iter_mut().find(|(known, _)| *known == function) {
            Some((_, sum)) => *sum += cost,
            None => of_gpu.by_function.push((function, cost)),
        }
    }

    fn take(&mut self, gpu: usize, cost: Cost) {
        let most = cost.by_function.iter().max_by_key(|(_, sum)| *sum);
        let Some((step, &(function, _))) = cost.step.zip(most) else { return };
        let worst = &mut self.by_step.value(step).worst;
        if worst.is_none_or(|(_, known, _)| cost.sum > known) {
            *worst = Some((gpu, cost.sum, function));
        }
    }

    /// Takes in the end of a GPU's step: length and wait in nanoseconds.
    pub(crate) fn end(&mut self, gpu: usize, step: u64, length: i64, wait: i64) {
        let record = self.by_step.value(step);
        record.gpus += 1;
        record.length += length;
        record.wait += wait;
        if let Some(ended) = self.ended.get_mut(gpu) {
            *ended = (*ended).max(step + 1);
        }
    }

    /// Returns the number of steps that all GPUs with calls have ended, and whether no GPU has ended more than one
    /// step more.
    pub(crate) fn agreed(&self) -> (u64, bool) {
        let ended = || self.ended.iter().zip(&self.has_calls).filter(|(_, has)| **has).map(|(ended, _)| *ended);
        let (least, most) = (ended().min().unwrap_or(0), ended().max().unwrap_or(0));
        (least, most - least <= 1)
    }

    /// Returns lengths and waits of some of the first `count` steps, means over GPUs, microseconds. There are no waits
    /// unless those of all steps are known.
    pub(crate) fn series(&self, count: u64) -> [Vec<f32>; 2] {
        let (mut lengths, mut waits) = (ThinnedSeries::default(), ThinnedSeries::default());
        let records = self.by_step.first(count);
        for (step, record) in (0..).zip(records) {
            let mean = |sum: i64| (sum as f64 / 1e3 / record.gpus.max(1) as f64) as f32;
            lengths.add(step, mean(record.length));
            waits.add(step, mean(record.wait));
        }
        let is_compared = records.iter().all(|record| record.is_compared);
        [lengths.values(), if is_compared { waits.values() } else { vec![] }]
    }

    /// Makes the answer with the `top` slowest steps, and remarks. Mean and median are those of the steps without those
    /// of `paused`, which is sorted.
    pub(crate) fn answer(&mut self, follower: &Follower, top: usize, paused: &[u64]) -> (Part<Steps>, Vec<String>) {
        for gpu in 0..self.costs.len() {
            let cost = std::mem::take(&mut self.costs[gpu]);
            self.take(gpu, cost);
        }
        let source = match &follower.plan.source {
            Ok(source) => source.clone(),
            Err(reason) => return (Part::Absent(reason.clone()), vec![]),
        };
        let (count, is_agreed) = self.agreed();
        if !is_agreed || count == 0 {
            let reason = "no steps were found: what repeats at the beginning does not go on for equally many steps on \
                          all ranks; give a region or a file of times";
            return (Part::Absent(reason.into()), vec![]);
        }
        let (records, together) = (self.by_step.first(count), self.by_step.together);
        let mean = |sum: i64, gpus: u64| sum as f64 / 1e3 / gpus.max(1) as f64;
        let lengths: Vec<f64> = records.iter().map(|record| mean(record.length, record.gpus)).collect();
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by(|&one, &other| lengths[other].total_cmp(&lengths[one]));
        let slow = |&at: &usize| SlowStep {
            step: at as u64 * together,
            length_us: lengths[at],
            wait_us: records[at].is_compared.then(|| mean(records[at].wait, records[at].gpus)),
            waited_for: records[at].worst.map(|(gpu, _, function)| (gpu, function.text())),
            cost_us: records[at].worst.map(|(_, cost, _)| cost as f64 / 1e3),
        };
        let number = |at: usize| at as u64 * together;
        let mut shifts = shifts(&lengths);
        shifts.iter_mut().for_each(|shift| shift.step *= together);
        let bin = lengths.len().div_ceil(MAX_LENGTHS).max(1);
        let is_paused = |at: &usize| together == 1 && paused.binary_search(&(*at as u64)).is_ok();
        let usual: Vec<f64> = (0..lengths.len()).filter(|at| !is_paused(at)).map(|at| lengths[at]).collect();
        let usual = if usual.is_empty() { &lengths } else { &usual };
        let first = follower.plan.patterns().and_then(|mut patterns| patterns.next());
        let steps = Steps {
            source,
            covered: follower.covered(),
            // that of the first GPU, where GPUs differ
            period: first.map(|of| of.pattern.len() as u64),
            micro: first.and_then(|of| of.micro),
            warm_up: follower.plan.warm_up,
            count,
            mean_us: usual.iter().sum::<f64>() / usual.len().max(1) as f64,
            median_us: median_of(usual.iter().copied()),
            p99_us: quantile_reached(&lengths, 0.99),
            slowest: order.iter().take(top).map(slow).collect(),
            outliers: outliers(&lengths).into_iter().map(number).collect(),
            shifts,
            lengths_us: lengths.chunks(bin).map(|bin| quantile_reached(bin, 1.0)).collect(),
        };
        let notes = match together {
            1 => vec![],
            _ => vec![format!("Lengths of steps are means of {together} steps each, because there are {count} steps.")],
        };
        (Part::Known(steps), notes)
    }
}
