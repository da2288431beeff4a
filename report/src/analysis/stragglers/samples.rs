//! The calls at a place of a program, as they show how own time relates to the call before.

use super::kept::hash;
use super::programs::Program;
use super::robust::{median, spread};
use super::run::CallRun;

/// Nanoseconds behind the call before on its stream, within which a call was ready before it could begin.
const AT_ONCE: f64 = 12_000.0;
/// Nanoseconds by which begins of operations that CUDA events time may be early.
const EARLY: f64 = 100_000.0;
/// Nanoseconds between enqueue and begin in which a GPU computes, at least, and their steadiness: deviation over median.
const COMPUTES: (f64, f64) = (50_000.0, 0.5);
/// Samples of a rank, at most and at least, and of all ranks about.
const MOST: usize = 128;
const LEAST: usize = 8;
const ALL: usize = 1 << 13;

/// A call, in nanoseconds since the begin of the call before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallSample {
    /// Its begin.
    pub(super) begin: f64,
    /// The end of the call before.
    pub(super) length: f64,
    /// Begin of its enqueue.
    enqueued: f64,
}

impl CallSample {
    /// Returns the own time before it, if `beside` of that runs beside the call before.
    pub(super) fn own(&self, beside: f64) -> f64 {
        self.begin - (self.length - beside).max(0.0)
    }

    /// Returns the part of its own time that is the GPU's, where the host has waited for the call before.
    fn of_gpu(&self) -> f64 {
        self.begin - self.enqueued.max(self.length)
    }

    /// Returns whether it was ready before it could begin.
    pub(super) fn is_at_once(&self) -> bool {
        self.begin - self.length <= AT_ONCE
    }
}

/// The samples of a place, by rank.
#[derive(Debug)]
pub(super) struct Samples {
    pub(super) ranks: Vec<Vec<CallSample>>,
    /// Whether calls begin before the call before has ended: the computation cannot have waited for it.
    pub(super) overlap: bool,
    /// Whether every rank's host enqueues the call when the call before has ended: the host has waited for it.
    pub(super) host_waits: bool,
    /// Whether hosts enqueue the call before the call before has begun.
    pub(super) host_is_ahead: bool,
}

/// Takes samples of a place of a program.
pub(super) fn samples(program: &Program, runs: &[CallRun], place: usize) -> Samples {
    let ranks = program.gpus.len();
    let most = (ALL / ranks.max(1)).clamp(LEAST, MOST);
    let of_rank = |gpu: usize| {
        let steps = spread_out(program.steps.len(), most);
        let sample = |step: usize| {
            let call = *program.calls(step, gpu)?.get(place)? as usize;
            let run = &runs[program.steps[step].0];
            let [begin, length] = run.since(call).filter(|_| run.is_known(call))?.map(|time| time as f64);
            Some(CallSample { begin, length, enqueued: begin - f64::from(run.calls[call].lead) })
        };
        steps.filter_map(sample).collect()
    };
    let ranks: Vec<Vec<CallSample>> = (0..ranks).map(of_rank).collect();
    let all: usize = ranks.iter().map(Vec::len).sum();
    let count = |is: fn(&CallSample) -> bool| ranks.iter().flatten().filter(|sample| is(sample)).count();
    let overlap = 50 * count(|sample| sample.begin + EARLY < sample.length) > all;
    let host_waits = all > 0 && 50 * count(|sample| sample.enqueued < sample.length) <= all && is_steady(&ranks);
    let host_is_ahead = 2 * count(|sample| sample.enqueued < 0.0) > all;
    Samples { ranks, overlap, host_waits, host_is_ahead }
}

/// Returns whether calls begin a steady time behind their enqueue, on most ranks: that of a computation which the host has
/// enqueued before. A host that is late by itself enqueues right before the begin, or at any time.
fn is_steady(ranks: &[Vec<CallSample>]) -> bool {
    let is_steady = |samples: &&Vec<CallSample>| {
        let [middle, deviation] = spread(&samples.iter().map(|it| it.begin - it.enqueued).collect::<Vec<f64>>());
        middle >= COMPUTES.0 && deviation <= COMPUTES.1 * middle
    };
    2 * ranks.iter().filter(is_steady).count() > ranks.len()
}

/// Returns steps all over a run: one by chance out of each of so many parts, so that no step that comes regularly is left
/// out, or is always taken.
fn spread_out(count: usize, parts: usize) -> impl Iterator<Item = usize> {
    let parts = count.min(parts);
    (0..parts).map(move |part| {
        let (from, to) = (part * count / parts, (part + 1) * count / parts);
        from + (hash(part as u64) as usize) % (to - from)
    })
}

impl Samples {
    /// Returns whether the calls of half of the ranks or more show no own time, but not those of every rank.
    pub(super) fn hide(&self) -> bool {
        !self.shows() && !self.ranks.iter().flatten().all(CallSample::is_at_once)
    }

    /// Returns whether the calls of most ranks show an own time: a call that was ready before it could begin does not.
    pub(super) fn shows(&self) -> bool {
        let is_free =
            |samples: &&Vec<CallSample>| 2 * samples.iter().filter(|it| it.is_at_once()).count() <= samples.len();
        2 * self.ranks.iter().filter(is_free).count() > self.ranks.len()
    }

    /// Returns each rank's median own time; or the GPU's part of it where the host has waited.
    pub(super) fn own_times(&self, beside: f64, of_gpu: bool) -> Vec<Option<f64>> {
        medians(&self.ranks, |it| if of_gpu && self.host_waits { it.of_gpu() } else { it.own(beside) })
    }
}

/// Returns the median of each rank's samples.
pub(super) fn medians(ranks: &[Vec<CallSample>], of: impl Fn(&CallSample) -> f64) -> Vec<Option<f64>> {
    let of_rank = |samples: &Vec<CallSample>| {
        let mut values: Vec<f64> = samples.iter().map(&of).collect();
        (!values.is_empty()).then(|| median(&mut values))
    };
    ranks.iter().map(of_rank).collect()
}
