//! What a step gains if a slow part of the network is like the others.
//!
//! The transfer of messages over a slow pair becomes shorter by the factor of that pair. A collective goes at the pace
//! of the slowest pair that its communicator uses, so its transfer becomes shorter by the largest factor of these pairs
//! over that of the pairs that stay slow. A collective's latency stays as it is: the communicator's shortest transfer,
//! where that is below 100 us. An all-to-all is not shorter than for its ranks that no slow pair touches.

use super::owns::Owns;
use super::run::CallRun;
use super::scene::Scene;
use super::timed::Joins;
use super::whatif::MAX_MODEL_ERROR;
use rustc_hash::{FxHashMap, FxHashSet};

/// A pair of GPUs that is slow in a communicator.
#[derive(Debug, Clone, Copy)]
pub struct SlowRow {
    /// Number of the part of the network that explains it.
    pub part: usize,
    /// Place of the communicator in the job.
    pub communicator: u32,
    /// Sender and receiver, places of their GPUs.
    pub gpus: [u32; 2],
    /// How many times longer its transfers take than those of its like.
    pub factor: f64,
    /// Whether NCCL's collectives go over it: it has transfers of NCCL's network.
    pub carries_collectives: bool,
}

/// The steps, to be played again with parts of the network like the others. Which parts are slow is known last: ranks
/// that are outliers make pairs seem slow.
#[derive(Debug)]
pub struct NetworkGains {
    pub(super) runs: Vec<CallRun>,
    pub(super) owns: Vec<Owns>,
    /// Steps that are left out of the mean length, sorted.
    pub(super) left_out: Vec<u32>,
    /// Mean length of a step as measured, nanoseconds.
    pub(super) measured: f64,
}

impl NetworkGains {
    /// Returns what a step gains with each of `parts` parts of the network like the others, microseconds; `None` where
    /// the steps cannot be played. `slow` are the slow pairs of the parts.
    pub fn gains(&self, slow: &[SlowRow], parts: usize) -> Vec<Option<f64>> {
        if parts == 0 {
            return vec![];
        }
        let scene = Scene { runs: &self.runs, owns: &self.owns, left_out: &self.left_out };
        let own = |stretch: usize, call: usize| self.owns[stretch].clocks(call);
        let reenacted = scene.reenacted().filter(|it| (it / self.measured - 1.0).abs() <= MAX_MODEL_ERROR);
        let gain = |part: usize| {
            let repaired = Repaired::new(&self.runs, slow, part);
            let transfer = |run: &CallRun, call, other, time| repaired.transfer(run, call, other, time);
            Some((reenacted? - scene.play(&own, &transfer)?) / 1e3)
        };
        (0..parts).map(gain).collect()
    }
}

/// Factors by which transfers become shorter if one part is like the others.
#[derive(Debug)]
pub(super) struct Repaired {
    /// By communicator.
    collectives: FxHashMap<u32, f64>,
    /// By communicator and GPUs, the smaller place first.
    messages: FxHashMap<(u32, [u32; 2]), f64>,
    /// How long all-to-alls take after their latest begin for ranks that no slow pair touches, in the mean, by
    /// occurrence, nanoseconds.
    untouched: FxHashMap<u32, i64>,
    /// Latency of the collectives by communicator, nanoseconds.
    latencies: FxHashMap<u32, i64>,
}

/// Nanoseconds up to which a communicator's shortest transfer is its latency.
const MAX_LATENCY_NS: i64 = 100_000;

impl Repaired {
    pub(super) fn new(runs: &[CallRun], rows: &[SlowRow], part: usize) -> Self {
        let mut all: FxHashMap<u32, [f64; 2]> = FxHashMap::default();
        let mut messages: FxHashMap<(u32, [u32; 2]), f64> = FxHashMap::default();
        for row in rows {
            if row.carries_collectives {
                // of all pairs, and of those that stay slow
                let [most, rest] = all.entry(row.communicator).or_insert([1.0; 2]);
                *most = most.max(row.factor);
                *rest = if row.part == part { *rest } else { rest.max(row.factor) };
            }
            if row.part == part {
                let [a, b] = row.gpus;
                let of = messages.entry((row.communicator, [a.min(b), a.max(b)])).or_insert(1.0);
                *of = of.max(row.factor);
            }
        }
        let collectives: FxHashMap<u32, f64> =
            all.into_iter().map(|(place, [most, rest])| (place, most / rest)).collect();
        let mut latencies: FxHashMap<u32, i64> = FxHashMap::default();
        for run in runs {
            for (call, timed) in
                run.calls.iter().enumerate().filter(|(_, it)| collectives.contains_key(&it.communicator))
            {
                let known = latencies.entry(timed.communicator).or_insert(i64::MAX);
                *known = (*known).min(run.transfer[call]);
            }
        }
        latencies.retain(|_, latency| *latency < MAX_LATENCY_NS);
        let untouched = untouched(runs, rows, &collectives);
        Self { collectives, messages, untouched, latencies }
    }

    /// Returns the transfer of a call, or that between a call and one that it meets.
    pub(super) fn transfer(&self, run: &CallRun, call: usize, other: Option<usize>, transfer: i64) -> i64 {
        let communicator = run.calls[call].communicator;
        let factor = match other {
            Some(other) => {
                let [a, b] = [run.gpus[call], run.gpus[other]];
                self.messages.get(&(communicator, [a.min(b), a.max(b)]))
            }
            None => self.collectives.get(&communicator),
        };
        let least = match other {
            None => self.untouched.get(&run.calls[call].occurrence).copied().unwrap_or(0),
            Some(_) => 0,
        };
        let latency = self.latencies.get(&communicator).copied().filter(|_| other.is_none()).unwrap_or(0).min(transfer);
        factor.map_or(transfer, |factor| (latency + ((transfer - latency) as f64 / factor) as i64).max(least))
    }
}

/// Returns how long all-to-alls with slow pairs take after their latest begin for the other ranks, in the mean, by
/// occurrence, nanoseconds.
fn untouched(runs: &[CallRun], rows: &[SlowRow], slow: &FxHashMap<u32, f64>) -> FxHashMap<u32, i64> {
    let touched: FxHashSet<(u32, u32)> =
        rows.iter().flat_map(|row| row.gpus.map(|gpu| (row.communicator, gpu))).collect();
    let mut times = FxHashMap::default();
    for run in runs {
        for party in &run.parties {
            let of = &run.calls[party[0] as usize];
            if of.joins != Joins::AllToAll || !of.is_compared || !slow.contains_key(&of.communicator) {
                continue;
            }
            let calls = || party.iter().map(|&call| call as usize);
            let latest = calls().map(|call| run.calls[call].common()[0]).max().unwrap_or(0);
            let others = calls().filter(|&call| !touched.contains(&(of.communicator, run.gpus[call])));
            let (sum, count) = others
                .fold((0, 0), |(sum, count), call| (sum + (run.calls[call].common()[1] - latest).max(0), count + 1));
            if count > 0 {
                times.insert(of.occurrence, sum / count);
            }
        }
    }
    times
}
