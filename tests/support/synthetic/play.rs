//! Puts the callbacks of many threads into one order: each thing that happens is a task, and a seed decides whose turn
//! it is.

use std::collections::{HashMap, VecDeque};

use fastrand::Rng;
use serde_json::{Value, json};

use super::launches::LEARNER;

/// A callback that has no time yet.
pub(super) struct Step {
    pub(super) tid: u32,
    /// The line without `t` and `tid`.
    pub(super) call: Value,
    /// Nanoseconds that pass before it.
    pub(super) gap: u64,
    /// Comes right after the step before it, so that the gap is all the time between them.
    pub(super) at_once: bool,
    /// What begins with it.
    pub(super) then: Vec<Task>,
}

impl Step {
    pub(super) fn new(tid: u32, gap: u64, call: Value) -> Self {
        Self { tid, call, gap, at_once: false, then: Vec::new() }
    }
}

/// Callbacks that come in this order.
pub(super) struct Task {
    pub(super) steps: VecDeque<Step>,
    /// Context that it belongs to.
    pub(super) ctx: u32,
    /// Callbacks of others that come first.
    pub(super) wait: usize,
    /// Begins when all other tasks of the context have ended, but for those that are late.
    pub(super) last: bool,
    /// No [`last`](Self::last) task of the context waits for it.
    pub(super) late: bool,
}

impl Task {
    pub(super) fn new(ctx: u32, steps: Vec<Step>) -> Self {
        Self { steps: steps.into(), ctx, wait: 0, last: false, late: false }
    }
}

/// Nanoseconds by which the clocks of two threads may differ.
const SKEW: u64 = 40_000;

/// The GPUs' clocks at the first time; they have an epoch of their own.
const GPU_EPOCH: u64 = 1_795_151_200_000_000_000;
/// Nanoseconds between the clocks of two GPUs.
const GPU_OFFSET: u64 = 3_700_000;

/// Gives a kernel channel's stamp, which says how long ago it was, its time on the GPU's clock.
fn stamp(line: &mut Value, gpu_now: u64) {
    let field = if line["type"] == "KernelCh" { "ptimer" } else { "arg" };
    if (field == "ptimer" || line["state"] == 22)
        && let Some(ago) = line[field].as_u64()
    {
        line[field] = json!(gpu_now - ago);
    }
}

/// The events' clock at the first time, and nanoseconds by which it is ahead of the one of the communicator before.
const EVENTS_EPOCH: u64 = 1_795_151_300_000_000_000;

/// Gives a kernel's time, which says how long after its launch's begin it began and how long it took, its times on the
/// events' clock. Gives when it had ended.
fn time_kernel(line: &mut Value, launched: &HashMap<u64, u64>, ctx: u32) -> u64 {
    let number = |field: &str| line[field].as_u64().unwrap();
    let first = launched[&number("h")] + number("first");
    let last = first + number("last");
    let epoch = EVENTS_EPOCH + GPU_OFFSET * u64::from(ctx);
    (line["first"], line["last"]) = (json!(epoch + first), json!(epoch + last));
    last
}

/// All tasks in one order, with times.
pub(super) fn play(mut tasks: Vec<Task>, first: u64, rng: &mut Rng) -> Vec<Value> {
    let mut skews: Vec<u64> = (0..64).map(|_| rng.u64(0..SKEW)).collect();
    // what is learnt was before that
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
            if line["type"] == "KernelLaunch" {
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

/// Place of the task whose turn it is.
fn turn(tasks: &mut [Task], rng: &mut Rng) -> usize {
    let may = |task: &Task| {
        let holds_up = |other: &Task| other.ctx == task.ctx && !other.last && !other.late;
        !(task.last && tasks.iter().any(holds_up))
    };
    let able: Vec<usize> = (0..tasks.len()).filter(|&place| may(&tasks[place])).collect();
    let ready: Vec<usize> = able.iter().copied().filter(|&place| tasks[place].wait == 0).collect();
    match rng.choice(&ready) {
        Some(&place) => place,
        // all wait: the one that waits least has waited long enough
        None => able.into_iter().min_by_key(|&place| (tasks[place].wait, place)).unwrap_or(0),
    }
}
