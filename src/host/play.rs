//! Plays a capture: each recorded thread on a thread of its own, the calls in the recorded order, the clock showing their times.

use super::functions::Functions;
use super::kernels::Kernels;
use super::nccl::Nccl;
use super::scorep::MetricPlugin;
use super::{HostError, clock, measurement};
use crate::capture::{Call, Capture, Event, What};
use crate::library::Links;
use crate::trace::{Member, Moment, ProcessTrace, ThreadTrace};
use common::metric::SERIES;
use common::series::{Of, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Calls between two waits for the collector, so that no machine is too slow for the recording memory.
const CALLS_AT_A_TIME: usize = 4096;

/// The region around everything: Score-P's own for the program, which it leaves after the plugins have heard of the end.
const PROGRAM: &str = "scorep-nccl replay";
/// The region where a group ends and what is in it is launched.
const GROUP_END: &str = "ncclGroupEnd";

/// What to do besides calling.
pub(crate) struct Plan<'a> {
    /// The library under its names.
    pub(crate) links: &'a Links,
    /// Record what Score-P would have put in its trace.
    pub(crate) trace: bool,
    /// Write when ranks began their collectives to this file.
    pub(crate) arrivals: Option<&'a Path>,
    /// The interface version to speak, where it is given.
    pub(crate) interface: Option<u32>,
    /// Told the number of calls made so far, now and then.
    pub(crate) progress: &'a (dyn Fn(usize) + Sync),
}

/// Threads of a process that can be played. NCCL's and an application's together are some dozens.
pub(super) const MOST_THREADS: usize = 4096;

/// Everything the threads share; whoever has the turn has it.
struct Stage {
    nccl: Nccl,
    next: usize,
    /// Kernels whose line has been passed.
    passed: usize,
    failed: Option<HostError>,
}

struct Player<'a> {
    capture: &'a Capture,
    plan: &'a Plan<'a>,
    counters: &'a MetricPlugin,
    library: Functions,
    stage: Mutex<Stage>,
    /// Each recorded thread waits for its own.
    turns: BTreeMap<u32, Condvar>,
}

/// Plays the whole capture and gives what Score-P would have recorded, but for the events without a trace wanted.
///
/// # Errors
/// When the library cannot be loaded, or answers what a host would not go on with.
pub(crate) fn play(capture: &Capture, name: &str, plan: &Plan<'_>) -> Result<ProcessTrace, HostError> {
    let base = capture.meta.mono0;
    let learnt = capture.kernels.iter().map(|kernel| kernel.t);
    let times = || capture.lines.iter().map(|call| call.t).chain(learnt.clone()).map(|t| base.saturating_add(t));
    let (begin, end) = (times().min().unwrap_or(base), times().max().unwrap_or(base));
    clock::set(begin);
    let counter_tokens: Vec<String> = common::metric::counters().iter().map(|counter| counter.name.clone()).collect();
    let counters = MetricPlugin::load(&plan.links.counters, "nccl_plugin", &counter_tokens)?;
    let tokens = if plan.trace { series_tokens(capture, plan.interface) } else { Vec::new() };
    let series = MetricPlugin::load(&plan.links.series, "nccl_series_plugin", &tokens)?;
    let main_ids = counters.add_counters()?;
    let series_ids = series.add_counters()?;
    let library = Functions::find(plan.links)?;
    library.stand_in_for_score_p(begin);
    series.begin();
    counters.begin();

    library.tell_process(capture);
    library.tell_missing(capture);
    let kernels = Kernels::of(capture, library.kernel_events);
    let nccl = Nccl::new(&plan.links.nccl, capture.meta.clone(), kernels, plan.interface);
    let player = Player {
        capture,
        plan,
        counters: &counters,
        library,
        stage: Mutex::new(Stage { nccl, next: 0, passed: 0, failed: None }),
        turns: capture.lines.iter().map(|call| (call.tid, Condvar::new())).collect(),
    };
    if player.turns.len() > MOST_THREADS {
        return Err(HostError::Threads(player.turns.len()));
    }
    let mut visits = player.run(main_ids, begin);
    if let Some(error) = player.lock().failed.take() {
        return Err(error);
    }
    clock::set(end);
    series.end();
    counters.end();
    if let Some(path) = plan.arrivals {
        player.library.write_arrivals(path);
    }
    if let Some(main) = visits.first_mut() {
        main.visit(end, false, PROGRAM);
    }
    let threads = visits.into_iter().filter(|visits| visits.ids.is_some()).map(Visits::into_trace).collect();
    let trace = ProcessTrace {
        name: name.into(),
        node: String::new(),
        members: members(capture),
        ticks_per_second: clock::TICKS_PER_SECOND,
        begin,
        end,
        counters: counters.metrics().to_vec(),
        threads,
        lanes: measurement::take(),
        series: series.all_values(&series_ids),
    };
    series.finalize();
    counters.finalize();
    Ok(trace)
}

/// The ranks of the process.
fn members(capture: &Capture) -> Vec<Member> {
    let member = |call: &Call| match call.what {
        What::Init { comm, nnodes, nranks, rank, .. } => Some(Member { comm, rank, nranks, nnodes }),
        _ => None,
    };
    capture.lines.iter().filter_map(member).collect()
}

/// The series to ask for: of each communicator, rate and latency also to each rank that something is sent to.
fn series_tokens(capture: &Capture, interface: Option<u32>) -> Vec<String> {
    // up to interface v3, nobody tells how many ranks there are, so a communicator of one counts, too
    let is_told = interface.unwrap_or(capture.meta.api) > 3;
    let made = capture.lines.iter().filter_map(|call| match call.what {
        What::Init { ctx, nranks, .. } if nranks > 1 || !is_told => Some(ctx),
        _ => None,
    });
    let peers: BTreeSet<(u32, i32)> = capture.lines.iter().filter_map(peer_of_send).collect();
    let tokens_of = |(number, made): (u32, u32)| {
        let own = Of::Communicator(number);
        let of_peers = peers.iter().filter(move |(ctx, _)| *ctx == made).map(move |&(_, peer)| Of::Peer(number, peer));
        std::iter::once(own).chain(of_peers).flat_map(|of| SERIES.iter().map(move |series| Token { series, of }))
    };
    let tokens = (0..).zip(made).flat_map(tokens_of);
    tokens.filter(|token| token.series.by_peer || !matches!(token.of, Of::Peer(..))).map(|token| token.to_string()).collect()
}

fn peer_of_send(call: &Call) -> Option<(u32, i32)> {
    match &call.what {
        What::Start { ctx, event: Event::ProxyOp { peer, send: true, .. }, .. } => Some((*ctx, *peer)),
        _ => None,
    }
}

impl Player<'_> {
    /// Plays on as many threads as were recorded; the first one to call is the main thread, and its visits come first.
    fn run(&self, main_ids: Vec<i32>, begin: u64) -> Vec<Visits<'_>> {
        let main = self.capture.lines.first().map_or(1, |call| call.tid);
        std::thread::scope(|scope| {
            let mut others = Vec::new();
            for &tid in self.turns.keys().filter(|&&tid| tid != main) {
                match std::thread::Builder::new().spawn_scoped(scope, move || self.play_thread(tid)) {
                    Ok(thread) => others.push(thread),
                    Err(error) => {
                        self.lock().failed = Some(HostError::Thread(error));
                        break;
                    }
                }
            }
            let mut own = Visits::new(self, main, Some(main_ids));
            own.visit(begin, true, PROGRAM);
            self.take_turns(main, &mut own);
            own.leave_all();
            let others = others.into_iter().filter_map(|thread| thread.join().ok());
            std::iter::once(own).chain(others).collect()
        })
    }

    fn play_thread(&self, tid: u32) -> Visits<'_> {
        let mut visits = Visits::new(self, tid, None);
        self.take_turns(tid, &mut visits);
        visits.leave_all();
        visits
    }

    /// Makes the calls of one thread, each when its turn comes.
    fn take_turns(&self, tid: u32, visits: &mut Visits<'_>) {
        let lines = &self.capture.lines;
        let Some(turn) = self.turns.get(&tid) else { return };
        let mut stage = self.lock();
        loop {
            let waits = |stage: &mut Stage| stage.failed.is_none() && lines.get(stage.next).is_some_and(|call| call.tid != tid);
            stage = turn.wait_while(stage, waits).unwrap_or_else(PoisonError::into_inner);
            if stage.failed.is_some() || stage.next >= lines.len() {
                break;
            }
            while let Some(call) = lines.get(stage.next).filter(|call| call.tid == tid) {
                self.pass_kernels(&mut stage, call.line);
                let time = self.capture.meta.mono0.saturating_add(call.t);
                clock::set(time);
                visits.before(&call.what, time);
                if let Err(error) = stage.nccl.call(call) {
                    stage.failed = Some(error);
                    break;
                }
                visits.after(&call.what, time);
                stage.next += 1;
                if stage.next.is_multiple_of(CALLS_AT_A_TIME) {
                    self.library.flush();
                    (self.plan.progress)(stage.next);
                }
            }
            if let Some(next) = lines.get(stage.next).and_then(|call| self.turns.get(&call.tid)) {
                next.notify_one();
            }
        }
        self.turns.values().for_each(Condvar::notify_all);
    }

    /// The clock moves on past the lines before this one that make no call.
    fn pass_kernels(&self, stage: &mut Stage, line: u32) {
        while let Some(kernel) = self.capture.kernels.get(stage.passed).filter(|kernel| kernel.line < line) {
            clock::set(self.capture.meta.mono0.saturating_add(kernel.t));
            stage.passed += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an instrumented program would show of one thread: the calls of NCCL's API as regions, with the counters Score-P reads.
struct Visits<'a> {
    player: &'a Player<'a>,
    tid: u32,
    /// The thread's counters; a thread has them from its first region on.
    ids: Option<Vec<i32>>,
    open: Vec<(u64, String)>,
    /// What is launched behind the end of a group is an outer group's.
    has_ended_group: bool,
    moments: Vec<Moment>,
}

impl<'a> Visits<'a> {
    fn new(player: &'a Player<'a>, tid: u32, ids: Option<Vec<i32>>) -> Self {
        Self { player, tid, ids, open: Vec::new(), has_ended_group: false, moments: Vec::new() }
    }

    /// Regions that are entered before the plugin hears of the call.
    fn before(&mut self, what: &What, time: u64) {
        match what {
            What::Start { h, event, .. } => {
                let region = match event {
                    Event::GroupApi { .. } => "ncclGroupStart".into(),
                    Event::CollApi { func, .. } | Event::P2pApi { func, .. } => {
                        format!("nccl{}", func.as_deref().unwrap_or(common::name::UNKNOWN))
                    }
                    Event::KernelLaunch { .. } | Event::Group if self.open.is_empty() && self.has_ended_group => GROUP_END.into(),
                    _ => return,
                };
                self.visit(time, true, &region);
                self.open.push((*h, region));
            }
            What::State { h, state: 24, .. } => {
                self.visit(time, true, GROUP_END);
                self.open.push((*h, GROUP_END.into()));
            }
            _ => {}
        }
    }

    /// Regions that are left after it.
    fn after(&mut self, what: &What, time: u64) {
        let (What::Stop { h } | What::State { h, state: 23, .. }) = what else { return };
        if let Some((_, region)) = self.open.pop_if(|(open, _)| open == h) {
            self.visit(time, false, &region);
            self.has_ended_group |= region == GROUP_END;
        }
    }

    /// An enter or a leave: Score-P reads all counters of the thread right before.
    fn visit(&mut self, time: u64, enter: bool, region: &str) {
        if !self.player.plan.trace {
            return;
        }
        let counters = self.player.counters;
        let ids = self.ids.get_or_insert_with(|| counters.add_counters().unwrap_or_default());
        // the program took its time for what a replay does at once, so the collector had its time, too
        self.player.library.flush();
        let time = self.moments.last().map_or(time, |last| last.time.max(time));
        let values = counters.read(ids);
        self.moments.push(Moment { time, enter, region: region.into(), values });
    }

    /// Leaves the regions that a cut-off capture never leaves.
    fn leave_all(&mut self) {
        let last = self.moments.last().map_or(0, |moment| moment.time);
        while let Some((_, region)) = self.open.pop() {
            self.visit(last, false, &region);
        }
    }

    fn into_trace(self) -> ThreadTrace {
        ThreadTrace { name: format!("thread {}", self.tid), moments: self.moments }
    }
}
