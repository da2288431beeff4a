//! Kernels: their launches, their operations, and their times from events.

use serde_json::{Value, json};

use super::play::{Step, Task};
use super::process::{Maker, Rank};

/// Algorithms whose stamps are the kernel's time.
const RIGHT: [&str; 2] = ["RING", "PAT"];
/// All other algorithms, and one that no version has.
const OTHERS: [&str; 5] = ["TREE", "COLLNET_DIRECT", "NVLS", "NVLS_TREE", "SPIRAL"];
/// The thread that learns the kernels' times.
pub(super) const LEARNER: u32 = 63;

impl Maker<'_> {
    /// Creates the kernels of some operations, each given as call and description. NCCL reports a kernel on one thread
    /// without a break.
    pub(super) fn kernels(
        &mut self,
        rank: &Rank,
        tid: u32,
        p2p: bool,
        graph: bool,
        operations: &[(u64, Value)],
        steps: &mut Vec<Step>,
    ) {
        let mut rest = operations;
        while let Some(((call, what), others)) = rest.split_first() {
            rest = others;
            let first = steps.len();
            // replays of a graph have no launch
            let launch = if graph || self.habits.api < 5 { None } else { Some(self.launch(rank, tid, steps)) };
            let group = self.handle();
            if self.habits.groups {
                steps.push(self.start(tid, rank, group, "Group", 0, json!({})));
            }
            self.operation(rank, tid, p2p, *call, what, steps);
            while self.habits.groups && !rest.is_empty() && self.chance(self.habits.together) {
                let ((call, what), others) = rest.split_first().unwrap();
                rest = others;
                self.operation(rank, tid, p2p, *call, what, steps);
            }
            if self.habits.groups {
                steps.push(self.stop(tid, group));
            }
            steps[first + 1..].iter_mut().for_each(|step| step.at_once = true);
            // the time of a replay is that of one of its operations
            let named = if graph { steps[first..].iter().find_map(Step::operation) } else { launch };
            if let Some(launch) = named.filter(|_| self.chance(self.habits.events)) {
                let task = self.time(rank, launch);
                steps.last_mut().unwrap().then.push(task);
            }
        }
    }

    /// Creates the begin and the end of a launch.
    fn launch(&mut self, rank: &Rank, tid: u32, steps: &mut Vec<Step>) -> u64 {
        let h = self.handle();
        steps.push(self.start(tid, rank, h, "KernelLaunch", 0, json!({"stream": "0"})));
        steps.push(self.stop(tid, h));
        h
    }

    /// Creates the event times of a launch, or of a graph's replay. The first event happens soon after its record or has
    /// to wait; the last event happens when the kernel ends.
    fn time(&mut self, rank: &Rank, launch: u64) -> Task {
        let waited = if self.rarely(200) { self.rng.u64(0..50_000) } else { self.rng.u64(0..1_000) };
        // now and then the two events are too close for a kernel between them
        let lasted = if self.rarely(30) { self.rng.u64(0..2_500) } else { self.rng.u64(3_500..200_000) };
        let kernel = json!({"cb": "kernel", "h": launch, "first": 500 + waited, "last": lasted});
        let step = self.step(LEARNER, kernel);
        Task::new(rank.ctx, vec![step])
    }

    pub(super) fn algorithm(&mut self) -> Value {
        let others = self.chance(self.habits.other_algorithms);
        if others && self.rng.bool() {
            return Value::Null;
        }
        json!(self.rng.choice(if others { &OTHERS[..] } else { &RIGHT[..] }).unwrap())
    }
}
