//! Puts the callbacks of many threads into one order. A sequence of callbacks is a task; the seed decides whose turn it
//! is.

use std::collections::{HashMap, VecDeque};

use fastrand::Rng;
use serde_json::{Value, json};

use super::launches::LEARNER;

/// A callback without a time.
pub(super) struct Step {
    pub(super) tid: u32,
    /// Its line without `t` and `tid`.
    pub(super) call: Value,
    /// Nanoseconds that pass before the callback.
    pub(super) gap: u64,
    /// Whether it follows the step before it directly, so that the gap is all the time between them.
    pub(super) at_once: bool,
    /// Tasks that begin with this callback.
    pub(super) then: Vec<Task>,
}

impl Step {
    pub(super) fn new(tid: u32, gap: u64, call: Value) -> Self {
        Self { tid, call, gap, at_once: false, then: Vec::new() }
    }

    /// Returns the handle, if it is the start of an operation.
    pub(super) fn operation(&self) -> Option<u64> {
        let is_operation = ["Coll", "P2p"].iter().any(|kind| self.call["type"] == *kind);
        self.call["h"].as_u64().filter(|_| is_operation)
    }
}

/// Callbacks in a fixed order.
pub(super) struct Task {
    pub(super) steps: VecDeque<Step>,
    /// The context of the callbacks.
    pub(super) ctx: u32,
    /// Number of callbacks of other tasks that come first.
    pub(super) wait: usize,
    /// Begins when all other tasks of the context have ended, except for late ones.
    pub(super) last: bool,
    /// The context's [`last`](Self::last) tasks do not wait for it.
    pub(super) late: bool,
}

impl Task {
    pub(super) fn new(ctx: u32, steps: Vec<Step>) -> Self {
        Self { steps: steps.into(), ctx, wait: 0, last: false, late: false }
    }
}

/// Greatest difference between the clocks of two threads, nanoseconds.
const SKEW: u64 = 40_000;

/// The GPUs' clocks at time 0; they have an epoch of their own.
const GPU_EPOCH: u64 = 1_795_151_200_000_000_000;
/// Difference between the clocks of two GPUs, nanoseconds.
const GPU_OFFSET: u64 = 3_700_000;

/// Replaces the age in a kernel channel's stamp by a time of the GPU's clock.
fn stamp(line: &mut Value, gpu_now: u64) {
    let field = if line["type"] == "KernelCh" { "ptimer" } else { "arg" };
    if (field == "ptimer" || line["state"] == 22)
        && let Some(ago) = line[field].as_u64()
    {
        line[field] = json!(gpu_now - ago);
    }
}

/// The events' clock at time 0. It differs by [`GPU_OFFSET`] from the clock of the communicator before.
const EVENTS_EPOCH: u64 = 1_795_151_300_000_000_000;

/// Replaces the times of a kernel's events by times of the events' clock. Before, `first` is relative to the begin of
/// the launch, and `last` to `first`. Returns when the kernel ended.
fn time_kernel(line: &mut Value, launched: &HashMap<u64, u64>, ctx: u32) -> u64 {
    let number = |field: &str| line[field].as_u64().unwrap();
    let first = launched[&number("h")] + number("first");
    let last = first + number("last");
    let epoch = EVENTS_EPOCH + GPU_OFFSET * u64::from(ctx);
    (line["first"], line["last"]) = (json!(epoch + first), json!(epoch + last));
    last
}

/// Puts all tasks into one order, with times.
pub(super) fn play(mut tasks: Vec<Task>, first: u64, rng: &mut Rng) -> Vec<Value> {
    let mut skews: Vec<u64> = (0..64).map(|_| rng.u64(0..SKEW)).collect();
    // kernel times are learnt after their kernels' end on any thread's clock
    skews[LEARNER as usize] = 0;
    let mut now = first + SKEW;
    let mut launched: HashMap<u64, u64> = HashMap::new();
    let mut lines = Vec::new();
    while !tasks.is_empty() {
        let place = turn(&mut tasks, rng);
        let burst = rng.usize(1..6);
        for made in 0.. {
            let at_once = tasks[place].steps.front().is_some_and(|step| step.at_once);
            if made >= burst && !at_once {
                break;
            }
            let Some(step) = tasks[place].steps.pop_front() else { break };
            now += step.gap;
            let mut line = step.call;
            if ["KernelLaunch", "Coll", "P2p"].iter().any(|kind| line["type"] == *kind) {
                launched.insert(line["h"].as_u64().unwrap(), now);
            } else if line["cb"] == "kernel" {
                now = now.max(time_kernel(&mut line, &launched, tasks[place].ctx));
            }
            stamp(&mut line, GPU_EPOCH + now + GPU_OFFSET * u64::from(tasks[place].ctx));
            line["t"] = json!(now - skews[step.tid as usize % skews.len()]);
            line["tid"] = json!(step.tid);
            lines.push(line);
            tasks.extend(step.then);
            tasks.iter_mut().for_each(|task| task.wait = task.wait.saturating_sub(1));
        }
        if tasks[place].steps.is_empty() {
            tasks.swap_remove(place);
        }
    }
    lines
}

/// Returns the index of the task whose turn it is.
fn turn(tasks: &mut [Task], rng: &mut Rng) -> usize {
    let may = |task: &Task| {
        let holds_up = |other: &Task| other.ctx == task.ctx && !other.last && !other.late;
        !(task.last && tasks.iter().any(holds_up))
    };
    let able: Vec<usize> = (0..tasks.len()).filter(|&place| may(&tasks[place])).collect();
    let ready: Vec<usize> = able.iter().copied().filter(|&place| tasks[place].wait == 0).collect();
    match rng.choice(&ready) {
        Some(&place) => place,
        // all wait: the shortest wait is over
        None => able.into_iter().min_by_key(|&place| (tasks[place].wait, place)).unwrap_or(0),
    }
}
