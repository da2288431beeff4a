//! Who is late: waits, delay costs and the operations that cost most.
//!
//! The others' waits for the rank that came last are its **delay cost**. The cost is **propagated** if the rank's call
//! before, on any communicator, had waited for at least as long as the rank is late now; else the delay is its **own**.
//! So a delay is charged once, to the rank where it began. The call before is the one of the GPU that ended last before
//! this one began. A wait is known within its error, which counts in favour of "propagated"; a wait that is unknown
//! explains nothing. Calls of one kernel have one time: the kernel waits once, and delays others once.
//!
//! Where there are steps, `stragglers` follows each delay through all calls of a step: a GPU's own share of its cost is
//! that of `stragglers`, in place of the one by the call before.

mod map;
mod recent;
#[cfg(test)]
mod tests;
mod worst;

use super::sketch::TimeSketch;
use crate::answer::{Late, Part, RankLate, RankLaunches};
use crate::job::Job;
use crate::stream::{Call, JudgedCall, Listener, Occurrence};
use common::operation::Later;
use map::Map;
use recent::{CallBefore, Delay, Recent, Recently};
use worst::{Worst, WorstEntry};

/// Calls of one GPU by the later of launch and GPU, and the delay costs of those calls, nanoseconds.
#[derive(Debug, Clone, Default)]
struct Launches {
    calls: [u64; 2],
    cost: [u64; 2],
    /// From the launch to the begin of calls that waited for the GPU.
    queued: TimeSketch,
}

impl Launches {
    /// Adds a call; not a second one of the same kernel.
    fn add(&mut self, call: &Call, later: Option<Later>) {
        let Some(later) = later else { return };
        self.calls[later as usize] += 1;
        if let Some(queued) = call.queued().filter(|_| later == Later::Gpu) {
            self.queued.add(queued);
        }
    }

    /// Adds what others waited for a call.
    fn charge(&mut self, later: Option<Later>, cost: u64) {
        if let Some(later) = later {
            let sum = &mut self.cost[later as usize];
            *sum = sum.saturating_add(cost);
        }
    }

    /// Returns the figures; `None` if no call's launch is known.
    fn row(&self) -> Option<RankLaunches> {
        let [host, gpu] = self.calls;
        let [host_cost_us, gpu_cost_us] = self.cost.map(|cost| cost as f64 / 1e3);
        (host + gpu > 0).then(|| RankLaunches {
            host_later: host,
            gpu_later: gpu,
            queued_us: self.queued.sum as f64 / 1e3,
            queued_median_us: self.queued.percentile(0.5).map(|median| median / 1e3),
            host_cost_us,
            gpu_cost_us,
        })
    }
}

/// Sums of one GPU, nanoseconds.
#[derive(Debug, Clone, Default)]
struct GpuWaits {
    calls: u64,
    wait: u64,
    error: u64,
    last: u64,
    cost: u64,
    propagated: u64,
    launches: Launches,
}

impl GpuWaits {
    fn row(&self) -> RankLate {
        let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1e3;
        RankLate {
            calls: self.calls,
            wait_us: microseconds(self.wait),
            wait_error_us: microseconds(self.error),
            last: self.last,
            cost_us: microseconds(self.cost),
            own_us: Some(microseconds(self.cost - self.propagated)),
            propagated_us: Some(microseconds(self.propagated)),
            launches: self.launches.row(),
        }
    }
}

/// Sums and the worst operations: of the whole recording, or of the steps after the warm-up.
#[derive(Debug)]
struct WaitTally {
    sums: Vec<GpuWaits>,
    worst: Worst,
}

impl WaitTally {
    fn new(gpus: usize, top: usize) -> Self {
        Self { sums: vec![GpuWaits::default(); gpus], worst: Worst::new(top) }
    }

    fn wait(&mut self, gpu: usize, wait: i64, error: i64) {
        if let Some(sums) = self.sums.get_mut(gpu) {
            sums.calls += 1;
            sums.wait = sums.wait.saturating_add(wait.unsigned_abs());
            sums.error = sums.error.saturating_add(error.unsigned_abs());
        }
    }

    /// Adds a call with its part of waits for one of several ranks.
    fn add(&mut self, call: &Call, later: Option<Later>, part: u64) {
        if let Some(sums) = self.sums.get_mut(call.gpu) {
            sums.launches.add(call, later);
            sums.launches.charge(later, part);
            sums.cost = sums.cost.saturating_add(part);
        }
    }

    fn charge(&mut self, delay: &Delay, before: Option<CallBefore>) {
        let is_propagated = before.is_some_and(|before| before.explains(delay.margin));
        if let Some(sums) = self.sums.get_mut(delay.gpu) {
            sums.last += 1;
            sums.cost = sums.cost.saturating_add(delay.cost);
            sums.launches.charge(delay.later, delay.cost);
            if is_propagated {
                sums.propagated = sums.propagated.saturating_add(delay.cost);
            }
        }
        self.worst.add(WorstEntry { delay: *delay, before, is_propagated });
    }
}

/// Listens for waits and delays.
#[derive(Debug)]
pub struct WaitListener {
    /// Of the whole recording, and of the steps after the warm-up: the first operations of a job may wait for seconds.
    tallies: [WaitTally; 2],
    recent: Vec<Recent>,
    map: Map,
    compared: u64,
    resolved: u64,
    /// Begin of the job's first operation, nanoseconds of the common clock.
    first: Option<i64>,
}

impl WaitListener {
    /// Begins to listen. The answer will have this many of the worst operations.
    pub fn new(job: &Job, top: usize) -> Self {
        let gpus = job.gpus.len();
        Self {
            tallies: [(); 2].map(|()| WaitTally::new(gpus, top)),
            recent: vec![Recent::default(); gpus],
            map: Map::new(gpus),
            compared: 0,
            resolved: 0,
            first: None,
        }
    }

    /// Returns the part of the answer, absent if no operation's ranks could be compared. `steps` is the number of steps
    /// after the warm-up; without steps, the answer is of the whole recording. `own_shares` are the shares of the GPUs'
    /// costs that began with them, where they are known; `None` if calls were left out, so that no call before is
    /// known.
    pub fn finish(mut self, job: &Job, steps: Option<u64>, own_shares: Option<&[Option<f64>]>) -> Part<Late> {
        for gpu in 0..self.recent.len() {
            while let Some((delay, before)) = self.recent.get_mut(gpu).and_then(Recent::rest) {
                self.charge(&delay, before);
            }
        }
        let Some(first) = self.first.filter(|_| self.compared > 0) else {
            return Part::Absent(
                "Waits are unknown: no operation has a GPU time on all of its ranks with clocks that were compared."
                    .into(),
            );
        };
        let steps = steps.unwrap_or(0);
        let tally = &self.tallies[usize::from(steps > 0)];
        let row = |gpu: usize, sums: &GpuWaits| {
            let row = sums.row();
            let Some(own_shares) = own_shares else { return RankLate { own_us: None, propagated_us: None, ..row } };
            let Some(share) = own_shares.get(gpu).copied().flatten() else { return row };
            let own_us = share * row.cost_us;
            RankLate { own_us: Some(own_us), propagated_us: Some(row.cost_us - own_us), ..row }
        };
        Part::Known(Late {
            steps,
            ranks: (0..tally.sums.len()).map(|gpu| row(gpu, &tally.sums[gpu])).collect(),
            compared: self.compared,
            resolved: self.resolved,
            worst: tally.worst.rows(job, first, own_shares.is_some()),
            map: self.map.finish(first),
            ..Late::default()
        })
    }

    /// Returns the tallies that a call counts in.
    fn tallies(&mut self, is_of_step: bool) -> &mut [WaitTally] {
        self.tallies.split_at_mut(1 + usize::from(is_of_step)).0
    }

    fn charge(&mut self, delay: &Delay, before: Option<CallBefore>) {
        self.tallies(delay.is_of_step).iter_mut().for_each(|tally| tally.charge(delay, before));
    }

    /// Takes the next call of a GPU. `is_of_step` is whether it lies in a step after the warm-up.
    pub fn add(&mut self, judged: &JudgedCall, is_of_step: bool) {
        let Some([start, stop]) = judged.part.span else { return };
        self.first = Some(self.first.map_or(start, |first| first.min(start)));
        let call = judged.call();
        let gpu = call.gpu;
        let is_again = |recent: &Recent| call.is_fused && recent.has(call.communicator, [start, stop]);
        if self.recent.get(gpu).is_some_and(is_again) {
            return;
        }
        let wait = judged.part.wait.map(|wait| wait.max(0));
        if let Some(wait) = wait.filter(|_| gpu < self.recent.len()) {
            let error = judged.part.likely;
            self.tallies(is_of_step).iter_mut().for_each(|tally| tally.wait(gpu, wait, error));
            self.map.add(gpu, [start, stop], wait);
        }
        let (later, shared) = (call.later(), judged.shared.unsigned_abs());
        self.tallies(is_of_step).iter_mut().for_each(|tally| tally.add(call, later, shared));
        let Some(recent) = self.recent.get_mut(gpu) else { return };
        let before = CallBefore {
            function: call.function,
            communicator: call.communicator,
            wait: wait.unwrap_or(0),
            likely: judged.part.likely,
        };
        if let Some((delay, before)) =
            recent.add(Recently { start, stop, before, delay: Delay::judged(judged, is_of_step) })
        {
            self.charge(&delay, before);
        }
    }
}

impl Listener for WaitListener {
    fn occurrence(&mut self, _job: &Job, occurrence: &Occurrence) {
        if let Some(compared) = occurrence.compared {
            self.compared += 1;
            self.resolved += u64::from(compared.last.is_some());
        }
    }

    /// Takes a call where there are no steps. The whole report calls [`WaitListener::add`], which is given the step.
    fn call(&mut self, _job: &Job, judged: &JudgedCall) {
        self.add(judged, false);
    }
}
