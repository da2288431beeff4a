//! Communicators, calls and operations of a process.

use fastrand::Rng;
use serde_json::{Value, json};

use super::Process;
use super::habits::{Habits, Late};
use super::play::{Step, Task, play};

/// Element types with a size.
pub(super) const TYPES: [&str; 12] = [
    "ncclInt8",
    "ncclUint8",
    "ncclInt32",
    "ncclUint32",
    "ncclInt64",
    "ncclUint64",
    "ncclFloat16",
    "ncclFloat32",
    "ncclFloat64",
    "ncclBfloat16",
    "ncclFloat8e4m3",
    "ncclFloat8e5m2",
];
const COLLECTIVES: [&str; 5] = ["AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce"];
const PID: u32 = 4000;

/// A rank of a communicator.
#[derive(Clone, Copy)]
pub(super) struct Rank {
    pub(super) ctx: u32,
    comm: u64,
    pub(super) rank: u32,
    pub(super) nranks: u32,
    user: u32,
    pub(super) proxy: u32,
}

/// Creates the callbacks of a process.
pub(super) struct Maker<'a> {
    pub(super) habits: &'a Habits,
    pub(super) rng: &'a mut Rng,
    pub(super) pid: u32,
    contexts: u32,
    handles: u64,
    ignored_handles: usize,
    pub(super) lost_handles: Vec<u64>,
    unknown_events: usize,
}

/// Creates the callbacks of process `number`.
pub(super) fn make(number: u32, habits: &Habits, rng: &mut Rng) -> Process {
    let pid = PID + number;
    let mut maker = Maker {
        habits,
        rng,
        pid,
        contexts: 0,
        handles: 0,
        ignored_handles: 0,
        lost_handles: Vec::new(),
        unknown_events: 0,
    };
    let tasks = maker.tasks(number);
    let Maker { ignored_handles, lost_handles, unknown_events, .. } = maker;
    let meta = json!({"cb": "meta", "format": 1, "api": habits.api, "mask": 4095, "pid": pid, "real0": 0, "mono0": 0, "dropped": 0});
    let lines = std::iter::once(meta).chain(play(tasks, habits.first, rng)).collect();
    Process { lines, ignored_handles, lost_handles, unknown_events }
}

impl Maker<'_> {
    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    pub(super) fn rarely(&mut self, in_a_thousand: u32) -> bool {
        self.rng.u32(0..1000) < in_a_thousand
    }

    pub(super) fn handle(&mut self) -> u64 {
        self.handles += 1;
        self.handles
    }

    pub(super) fn step(&mut self, tid: u32, call: Value) -> Step {
        Step::new(tid, self.rng.u64(50..5_000), call)
    }

    pub(super) fn start(&mut self, tid: u32, rank: &Rank, h: u64, kind: &str, parent: u64, more: Value) -> Step {
        let mut call =
            json!({"cb": "start", "ctx": rank.ctx, "h": h, "type": kind, "parent": parent, "rank": rank.rank});
        for (field, value) in more.as_object().into_iter().flatten() {
            call[field] = value.clone();
        }
        self.step(tid, call)
    }

    pub(super) fn stop(&mut self, tid: u32, h: u64) -> Step {
        self.step(tid, json!({"cb": "stop", "h": h}))
    }

    pub(super) fn state(&mut self, tid: u32, h: u64, state: u32, arg: Option<u64>) -> Step {
        let mut call = json!({"cb": "state", "h": h, "state": state});
        if let Some(arg) = arg {
            call["arg"] = json!(arg);
        }
        self.step(tid, call)
    }

    /// Now and then adds a state or a stop of an event that has stopped.
    pub(super) fn repeat(&mut self, tid: u32, h: u64, state: u32, steps: &mut Vec<Step>) {
        while self.rarely(self.habits.repeated) {
            self.ignored_handles += 1;
            let again = if self.rng.bool() { self.stop(tid, h) } else { self.state(tid, h, state, Some(12_345)) };
            steps.push(again);
        }
    }

    fn tasks(&mut self, number: u32) -> Vec<Task> {
        let mut tasks = Vec::new();
        // the first communicator outlives the others: after the end of the last one, NCCL has no plugin to call
        let keeper = self.rank(number, 0);
        let end = self.end(&keeper, Vec::new());
        let mut first = self.life(&keeper);
        let mut others = Vec::new();
        for place in 1..self.habits.communicators {
            let rank = self.rank(number, place);
            others.push(self.whole_life(&rank, 2));
        }
        first[0].then.extend(others);
        tasks.push(Task::new(keeper.ctx, first));
        if !self.chance(self.habits.endless) {
            // context 0 belongs to no communicator; this task waits until no other task is left
            tasks.push(Task { wait: usize::MAX, ..Task::new(0, vec![end]) });
        }
        tasks
    }

    /// Creates a rank. Communicators have twice as many ranks as there are processes; the first communicator has two in
    /// this process.
    fn rank(&mut self, process: u32, place: u32) -> Rank {
        self.contexts += 1;
        let several = self.habits.processes;
        let nranks = several * 2;
        // places 0 and 1 are two ranks of the same communicator in this process
        let (comm, rank) =
            if place < 2 { (0xc0, process + several * place) } else { (0xc0 + u64::from(place), process) };
        let users = self.habits.users;
        Rank { ctx: self.contexts, comm, rank, nranks, user: 1 + place % users, proxy: 1 + users + self.rng.u32(0..3) }
    }

    /// Creates the callbacks from init to finalize, and perhaps of a communicator created afterwards.
    fn whole_life(&mut self, rank: &Rank, more: u32) -> Task {
        let mut steps = self.life(rank);
        if !self.chance(self.habits.endless) {
            let mut then = Vec::new();
            if more > 0 && self.chance(self.habits.again) {
                self.contexts += 1;
                let comm = if self.rng.bool() { rank.comm } else { rank.comm + 0x1000 * u64::from(more) };
                then.push(self.whole_life(&Rank { ctx: self.contexts, comm, ..*rank }, more - 1));
            }
            let end = self.end(rank, then);
            steps[0].then.push(Task { last: true, ..Task::new(rank.ctx, vec![end]) });
        }
        Task::new(rank.ctx, steps)
    }

    fn end(&mut self, rank: &Rank, then: Vec<Task>) -> Step {
        let mut end = self.step(rank.user, json!({"cb": "finalize", "ctx": rank.ctx}));
        end.then = then;
        end
    }

    /// Creates init and all calls.
    fn life(&mut self, rank: &Rank) -> Vec<Step> {
        let Rank { ctx, comm, rank: number, nranks, user, .. } = *rank;
        let comm = format!("{comm:x}");
        let init =
            json!({"cb": "init", "ctx": ctx, "comm": comm, "name": "", "nnodes": 2, "nranks": nranks, "rank": number});
        let mut steps = vec![self.step(user, init)];
        for _ in 0..self.rng.usize(0..=self.habits.calls) {
            let graph = self.habits.api > 4 && self.chance(self.habits.graphs);
            if self.chance(self.habits.noise) {
                self.noise(rank, &mut steps);
            }
            let p2p = self.chance(self.habits.p2p);
            self.group(rank, p2p, graph, &mut steps);
        }
        steps
    }

    /// Creates some calls in a group, and then their operations.
    fn group(&mut self, rank: &Rank, p2p: bool, graph: bool, steps: &mut Vec<Step>) {
        let tid = rank.user;
        let calls = self.rng.usize(1..4);
        let api = self.habits.api > 4;
        let group = self.handle();
        if api {
            steps.push(self.start(tid, rank, group, "GroupApi", 0, json!({"depth": 1, "graph": u32::from(graph)})));
            steps.push(self.state(tid, group, 23, None));
        }
        let mut operations = Vec::new();
        for _ in 0..calls {
            let func = if p2p {
                *self.rng.choice(&["Send", "Recv"]).unwrap()
            } else {
                *self.rng.choice(&COLLECTIVES).unwrap()
            };
            let func = if self.chance(self.habits.nameless) { self.odd_name() } else { json!(func) };
            let dtype = if self.chance(self.habits.nameless) {
                self.odd_name()
            } else {
                json!(self.rng.choice(&TYPES).unwrap())
            };
            let count = match self.rng.u32(0..20) {
                0 => 0,
                1 => self.rng.u64(1 << 40..1 << 45),
                _ => self.rng.u64(0..1 << 24),
            };
            let what = json!({"func": func, "count": count, "dtype": dtype, "root": 0, "stream": "0", "graph": u32::from(graph)});
            let call = if api { self.handle() } else { 0 };
            if api {
                steps.push(self.start(tid, rank, call, if p2p { "P2pApi" } else { "CollApi" }, group, what.clone()));
                steps.push(self.stop(tid, call));
                self.repeat(tid, call, 9, steps);
            }
            if !(api && self.chance(self.habits.invisible)) {
                operations.push((call, what));
            }
        }
        if api {
            steps.push(self.state(tid, group, 24, None));
        }
        // replays come from another thread, after the calls
        let replays = if graph { self.rng.u32(1..4) } else { 1 };
        for _ in 0..replays {
            let launcher = if graph { 1 + (tid % 6) } else { tid };
            self.kernels(rank, launcher, p2p, graph, &operations, steps);
        }
        if api {
            steps.push(self.stop(tid, group));
        }
    }

    pub(super) fn operation(
        &mut self,
        rank: &Rank,
        tid: u32,
        p2p: bool,
        call: u64,
        what: &Value,
        steps: &mut Vec<Step>,
    ) {
        let h = self.handle();
        let nch = *self.rng.choice(&[0, 1, 1, 2, 2, 3, 4, 5, 8, 16, 32]).unwrap();
        let oneself = p2p && self.chance(self.habits.to_oneself);
        let peer = if oneself { rank.rank } else { (rank.rank + 1 + self.rng.u32(0..rank.nranks - 1)) % rank.nranks };
        let mut more = what.clone();
        more["nch"] = json!(nch);
        if p2p {
            more["peer"] = json!(peer);
        } else {
            let algorithm = self.algorithm();
            let sequence = [("seq", json!(h)), ("nwarps", json!(16)), ("algo", algorithm), ("proto", json!("LL"))];
            sequence.into_iter().for_each(|(field, value)| more[field] = value);
        }
        steps.push(self.start(tid, rank, h, if p2p { "P2p" } else { "Coll" }, call, more));
        let mut stop = self.stop(tid, h);
        stop.then = self.children(rank, h, nch, if p2p { Some(peer) } else { None });
        // an event that never stops has children, too
        let lost = self.rarely(self.habits.missing);
        if lost {
            stop.call = json!({"cb": "state", "h": h, "state": 0});
        }
        steps.push(stop);
        if !lost {
            self.repeat(tid, h, 22, steps);
        }
    }

    fn odd_name(&mut self) -> Value {
        self.rng
            .choice(&[Value::Null, json!(""), json!("Unknown"), json!("ncclFloat4"), json!("Scan")])
            .unwrap()
            .clone()
    }

    /// Adds events that nobody uses.
    fn noise(&mut self, rank: &Rank, steps: &mut Vec<Step>) {
        let kind = self.rng.usize(1..5);
        let (name, more) = match kind {
            1 if self.habits.api > 4 => ("KernelLaunch", json!({"stream": "0"})),
            2 => ("NetPlugin", json!({})),
            _ => ("ProxyCtrl", json!({})),
        };
        let h = self.handle();
        let tid = if rank.proxy > 0 && kind > 1 { rank.proxy } else { rank.user };
        let mut start = self.start(rank.user, rank, h, name, 0, more);
        if kind == 4 {
            self.unknown_events += 1;
            start.call["type"] = json!(1_u64 << self.rng.u32(16..31));
        }
        let mut last = vec![self.state(tid, h, 13, Some(0)), self.stop(tid, h)];
        if self.chance(30) {
            // not counted as ignored: the plugin gave no handle for it
            last.push(self.stop(tid, h));
        }
        start.then.push(Task::new(rank.ctx, last));
        steps.push(start);
    }

    /// Makes a child late with the run's chance.
    pub(super) fn delay(&mut self, task: &mut Task) {
        if !self.chance(self.habits.late_ones) {
            return;
        }
        match self.habits.late {
            Late::Never => {}
            Late::Silence(nanoseconds) => task.steps[0].gap += nanoseconds,
            Late::Callbacks(callbacks) => task.wait = callbacks,
            Late::End(callbacks) => {
                task.wait = callbacks;
                task.late = true;
            }
        }
    }
}
