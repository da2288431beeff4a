//! Kernel channels, proxy operations and their steps.

use std::collections::VecDeque;

use serde_json::json;

use super::habits::Sizes;
use super::play::{Step, Task};
use super::process::{Maker, Rank};

impl Maker<'_> {
    /// Creates all children of an operation.
    pub(super) fn children(&mut self, rank: &Rank, operation: u64, nch: u32, peer: Option<u32>) -> Vec<Task> {
        let mut tasks = Vec::new();
        let oneself = peer == Some(rank.rank);
        // before v7, NCCL has no kernel channels for an operation that stays on one GPU; the library counts on that if
        // there are events
        let to_oneself = if self.habits.api < 7 && self.habits.events > 0 { 0 } else { 30 };
        if self.chance(if oneself { to_oneself } else { self.habits.kernels }) {
            let odd = self.chance(self.habits.odd_kernels);
            let count = if odd { self.rng.u32(0..nch + 4) } else { nch.max(1) };
            for channel in 0..count {
                tasks.push(self.kernel(rank, operation, channel));
            }
        }
        if !oneself && self.chance(self.habits.proxies) {
            for _ in 0..self.rng.u32(1..4) {
                let other = peer.unwrap_or((rank.rank + 1) % rank.nranks);
                tasks.push(self.proxy(rank, operation, other));
            }
        }
        tasks
    }

    fn kernel(&mut self, rank: &Rank, operation: u64, channel: u32) -> Task {
        let (h, tid) = (self.handle(), rank.proxy);
        // channel ids go beyond the number of channels; `play` turns the stamp's age into a time
        let ago = self.rng.u64(0..20_000);
        let begin = self.start(tid, rank, h, "KernelCh", operation, json!({"ch": channel + 16, "ptimer": ago}));
        let mut steps = vec![begin];
        // a child without a stop has no stamp of its stop, either
        let lost = self.rarely(self.habits.missing);
        if !lost && !self.rarely(self.habits.missing) {
            steps.push(self.state(tid, h, 22, Some(0)));
        }
        if !lost {
            steps.push(self.stop(tid, h));
            self.repeat(tid, h, 22, &mut steps);
        }
        let mut task = Task::new(rank.ctx, steps);
        self.delay(&mut task);
        task
    }

    /// Creates a send or receive and its steps, several of which are in progress at a time.
    fn proxy(&mut self, rank: &Rank, operation: u64, peer: u32) -> Task {
        let (h, tid) = (self.handle(), rank.proxy);
        let foreign = self.chance(self.habits.foreign);
        let send = self.rng.bool();
        let nsteps = self.rng.usize(0..12);
        let pid = if foreign { self.pid + 77 } else { self.pid };
        let more = json!({
            "pid": pid, "ch": self.rng.u32(0..64), "peer": peer, "nsteps": nsteps, "chunk": 131_072, "send": u32::from(send),
        });
        // an operation of another process has its parent there
        let parent = if foreign || self.chance(5) { 0 } else { operation };
        let mut steps = vec![self.start(tid, rank, h, "ProxyOp", parent, more)];
        if self.rng.bool() {
            steps.push(self.state(tid, h, 19, None));
        }
        let mut waiting: Vec<VecDeque<Step>> =
            (0..nsteps).map(|number| self.transfer(rank, h, number, send, foreign)).collect();
        waiting.reverse();
        let mut under_way: Vec<VecDeque<Step>> = Vec::new();
        while !(waiting.is_empty() && under_way.is_empty()) {
            if under_way.len() < 4 {
                under_way.extend(waiting.pop());
            }
            let place = self.rng.usize(0..under_way.len());
            loop {
                steps.extend(under_way[place].pop_front());
                if !under_way[place].front().is_some_and(|step| step.at_once) {
                    break;
                }
            }
            if under_way[place].is_empty() {
                under_way.remove(place);
            }
        }
        if !self.rarely(self.habits.missing) {
            steps.push(self.stop(tid, h));
            if !foreign {
                self.repeat(tid, h, 19, &mut steps);
            }
        }
        let mut task = Task::new(rank.ctx, steps);
        self.delay(&mut task);
        task
    }

    fn transfer(&mut self, rank: &Rank, proxy: u64, number: usize, send: bool, foreign: bool) -> VecDeque<Step> {
        let tid = rank.proxy;
        let size = self.size();
        let more = json!({"step": number});
        let mut steps = Vec::new();
        while !send && self.chance(self.habits.restarts) {
            // nothing to receive yet: the step is started again, and the older handle is lost
            let lost = self.handle();
            self.lost_handles.push(lost);
            steps.push(self.start(tid, rank, lost, "ProxyStep", proxy, more.clone()));
        }
        let h = self.handle();
        steps.push(self.start(tid, rank, h, "ProxyStep", proxy, more));
        let states = if send { [8, 20, 9] } else { [10, 11, 12] };
        for state in states {
            if state == 9 && self.rarely(self.habits.missing) {
                continue;
            }
            // repeated while the network is busy; the last one counts
            let times = if state != 12 && self.chance(10) { 3 } else { 1 };
            for _ in 0..times {
                let arg = if state == 9 || state == 11 { size } else { self.rng.u64(0..1000) };
                steps.push(self.state(tid, h, state, Some(arg)));
            }
        }
        if !self.rarely(self.habits.missing) {
            let mut stop = self.stop(tid, h);
            if let (Sizes::Line, true) = (self.habits.sizes, send) {
                stop.gap = 4_000 + size / 8;
                stop.at_once = true;
            }
            steps.push(stop);
            if !foreign {
                self.repeat(tid, h, 9, &mut steps);
            }
        }
        steps.into()
    }

    fn size(&mut self) -> u64 {
        match self.habits.sizes {
            Sizes::None => 0,
            Sizes::One => 131_072,
            Sizes::Two => [0, 131_072][self.rng.usize(0..2)],
            Sizes::Many | Sizes::Line => self.rng.u64(0..70) * 8_192,
        }
    }
}
