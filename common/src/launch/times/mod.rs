//! The collector's side of launches: it asks whether their events have happened, and when.
//!
//! CUDA gives the time between two events, not the time of an event. So each event is placed by an event whose time is
//! known (`references`). The first event is placed at the system's real time of its record. The result is a clock of its
//! own, the clock of CUDA's events: it is the GPU's clock with another epoch than the stamps (on H200s, no drift between
//! the two within a microsecond).
//!
//! Launches in CUDA graphs have their replays' times: see `graphs`.

mod begins;
mod bounds;
mod graphs;
mod host_clock;
mod news;
mod references;

pub(crate) use begins::{BEHIND_EVENT, SHORTEST};
pub use graphs::Replay;
pub use news::{OfKernel, take_news};

use super::anchors::Anchors;
use super::launches::Launches;
use super::own_stream::OwnStream;
use super::{KernelId, KernelTime, Launch, LaunchSource, Recorded, Starts, Untimed};
use crate::clock::CLOCK;
use crate::event::handle::Handle;
use begins::{begin, likely_launch};
use graphs::Graphs;
use host_clock::{HostClock, HostMoment};
use references::{ReferenceEvent, ReferenceEvents};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

/// Result of a launch.
#[derive(Debug, Clone, Copy)]
pub struct LaunchOutcome {
    /// The kernel.
    pub kernel: KernelId,
    /// Number of the launch in a recording; 0 for none.
    pub number: u64,
    /// Time of the kernel.
    pub time: Result<KernelTime, Untimed>,
    /// Whether the kernel is over. If not, nobody asks any more.
    pub is_over: bool,
}

impl LaunchOutcome {
    /// Makes the outcome of a kernel that gets no time, for that reason.
    fn untimed(kernel: KernelId, cause: Untimed) -> Self {
        Self { kernel, number: 0, time: Err(cause), is_over: false }
    }
}

/// Launches whose times are to come.
#[derive(Debug, Default)]
pub struct LaunchTimes {
    /// By pool and stream, in the order of the launches: the events of a stream happen one after the other.
    under_way: FxHashMap<(usize, usize), VecDeque<Box<Launch>>>,
    references: ReferenceEvents,
    /// Launches of a recording, in the order in which the recorder learnt their times.
    recorded: VecDeque<Box<Launch>>,
    /// The system's real time at a time in ticks: the epoch of the events' clocks.
    epoch: Option<HostMoment>,
    /// For each communicator, which belongs to one GPU.
    hosts: FxHashMap<u64, HostClock>,
    /// Launches in CUDA graphs.
    graphs: Graphs,
    /// Kernels that their streams have come to since these were last taken; `None` if nobody wants to know.
    reached: Option<Vec<KernelId>>,
    anchors: Anchors,
}

impl LaunchTimes {
    /// Asks about the event before a launch, too, from now on, as long as the event after it has not happened.
    pub fn follow_begins(&mut self) {
        self.reached = Some(Vec::new());
    }

    /// Launches in CUDA graphs may have events.
    pub fn follow_graphs(&mut self) {
        self.graphs.want();
    }

    /// Takes the kernels that their streams have come to since the last call, and that are not over.
    pub fn take_reached(&mut self) -> Vec<KernelId> {
        self.reached.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns whether any times are to come.
    pub fn are_awaited(&self) -> bool {
        self.under_way.values().any(|queue| !queue.is_empty()) || !self.recorded.is_empty() || self.graphs.are_awaited()
    }

    /// Adds a launch whose times are to come.
    pub fn await_launch(&mut self, launch: Box<Launch>) {
        match launch.source {
            LaunchSource::Events { .. } if launch.starts == Starts::InGraph => self.graphs.add(launch),
            LaunchSource::Events { pool, .. } => {
                self.under_way.entry((pool, launch.stream)).or_default().push_back(launch)
            }
            LaunchSource::Recording(_) => self.recorded.push_back(launch),
        }
    }

    /// Calls `each` with the outcome of each launch whose times are known by now. In a replay these are times that the
    /// recorder learnt until `known`, ticks. A tick is worth `scale` nanoseconds.
    pub fn look(&mut self, launches: &Launches, known: u64, scale: f64, mut each: impl FnMut(LaunchOutcome)) {
        self.look_at_recorded(known, scale, &mut each);
        if self.under_way.is_empty() && self.graphs.is_empty() {
            return;
        }
        let Some(driver) = launches.driver() else { return };
        let (begun, look) = (CLOCK.now(), driver.look());
        // once for each context, however many streams it has. A context that has only launches of before may be gone: no
        // call is made about it
        let of_graphs = self.graphs.pools(scale, |pool, generation| !launches.is_of_before(pool, generation));
        let is_there = |queue: &VecDeque<Box<Launch>>| queue.iter().any(|launch| !launches.are_of_before(launch));
        let under_way = self.under_way.iter().filter(|(_, queue)| is_there(queue)).map(|(&(pool, _), _)| pool);
        let pools: BTreeSet<usize> = under_way.chain(of_graphs.iter().copied()).collect();
        if let Some(look) = &look {
            pools.iter().for_each(|&pool| launches.find_again(pool, look));
        }
        if let Some((look, calls)) = look.as_ref().and_then(|look| Some((look, look.relaxed()?))) {
            let Self { under_way, references, hosts, reached, anchors, graphs, .. } = self;
            let epoch = *self.epoch.get_or_insert_with(|| HostMoment { ticks: CLOCK.now(), time: real_time() });
            for pool in pools {
                anchors.look(pool, launches, &calls, scale);
                if !of_graphs.contains(&pool) {
                    continue;
                }
                // a context makes no anchor while one is to be taken in, and that one may be old
                for is_last in [false, true] {
                    let of = references.latest(pool, launches);
                    let kept = anchors.keep(pool, |event, from, until| match of {
                        Some(of) => calls.elapsed(of.event, event).map(|after| of.time.saturating_add_signed(after)),
                        None => Some(epoch.at(from.midpoint(until), scale)),
                    });
                    if let Some((anchor, event, generation)) = kept {
                        graphs.saw((pool, generation), (anchor.from, anchor.time), (anchor.until, anchor.time), scale);
                        references.anchored(pool, ReferenceEvent { generation, event, time: anchor.time }, launches);
                    }
                    if !is_last {
                        anchors.look(pool, launches, &calls, scale);
                    }
                }
            }
            for (&(pool, _), queue) in under_way.iter_mut() {
                while let Some(launch) = queue.front_mut() {
                    let LaunchSource::Events { generation, first, last, .. } = launch.source else { break };
                    if launches.are_of_before(launch) {
                        lose(queue.pop_front(), launches, &mut each);
                        continue;
                    }
                    let Some(lasted) = calls.elapsed(first, last) else {
                        // an event that has happened is no time behind itself; later launches of the stream wait
                        if let Some(reached) = reached.as_mut().filter(|_| !launch.is_reached)
                            && calls.elapsed(first, first).is_some()
                        {
                            launch.is_reached = true;
                            reached.extend(launch.kernel);
                        }
                        break;
                    };
                    let learnt = CLOCK.now();
                    let stopped = match references.last(pool, launches) {
                        Some(of) => calls.elapsed(of.event, last).map(|after| of.time.saturating_add_signed(after)),
                        None => Some(epoch.at(launch.before, scale).saturating_add(lasted.max(0).cast_unsigned())),
                    };
                    let Some(stopped) = stopped else { break };
                    let Some(launch) = queue.pop_front() else { break };
                    let events = (stopped.saturating_sub(lasted.max(0).cast_unsigned()), stopped);
                    graphs.saw((pool, generation), (launch.before, events.0), (learnt, stopped), scale);
                    if let Some(kernel) = launch.kernel {
                        let of = |event| calls.elapsed(last, event).map(|after| stopped.saturating_add_signed(after));
                        anchors.learn(pool, of);
                        let anchor = anchors.serve((pool, generation), kernel.context);
                        let host = hosts.entry(kernel.context.raw()).or_default();
                        let time = begin(host, &launch, events, (learnt, anchor), scale);
                        each(LaunchOutcome { kernel, number: launch.number, time, is_over: true });
                    }
                    references.ended(pool, ReferenceEvent { generation, event: last, time: stopped }, launch, launches);
                }
            }
            under_way.retain(|_, queue| !queue.is_empty());
            graphs.read(
                &calls,
                (begun, scale),
                |pool, launch| {
                    if !launches.are_of_before(launch) {
                        launches.find_again(pool, look);
                    }
                    !launches.are_of_before(launch)
                },
                |pool| references.latest(pool, launches).map(|of| (of.event, of.time)),
            );
        }
        if driver.is_over() {
            let cause = if driver.has_failed() { Untimed::CudaFailed } else { Untimed::NotBelieved };
            self.give_up(cause, &mut each);
        }
    }

    fn look_at_recorded(&mut self, now: u64, scale: f64, each: &mut impl FnMut(LaunchOutcome)) {
        let learnt = |launch: &Launch| match launch.source {
            LaunchSource::Recording(times) => times.learnt,
            LaunchSource::Events { .. } => 0,
        };
        self.recorded.make_contiguous().sort_by_key(|launch| learnt(launch));
        while self.recorded.front().is_some_and(|launch| learnt(launch) <= now) {
            let Some(launch) = self.recorded.pop_front() else { break };
            if let (LaunchSource::Recording(times), Some(kernel)) = (launch.source, launch.kernel) {
                let host = self.hosts.entry(kernel.context.raw()).or_default();
                let Recorded { first, last: stop, learnt, anchor, .. } = times;
                let worked_out = begin(host, &launch, (first, stop), (learnt, anchor), scale);
                // the recorder knew the host's times better; no kernel begins outside of its events
                let time = match times.begin {
                    Some(start) if (first..=stop).contains(&start) => {
                        let (before, launched) = (launch.before, likely_launch(&launch));
                        Ok(KernelTime { start, stop, first, before, launched, learnt, anchor })
                    }
                    Some(_) => Err(Untimed::NotBelieved),
                    None => worked_out,
                };
                each(LaunchOutcome { kernel, number: 0, time, is_over: true });
            }
        }
    }

    /// Adds a replay of a captured launch. Returns false if no events time that launch.
    pub fn replayed(&mut self, context: Handle, replay: Replay) -> bool {
        self.graphs.replayed(context, replay)
    }

    /// Returns whether times were read that no replay has yet.
    pub fn have_readings(&self) -> bool {
        self.graphs.has_readings()
    }

    /// Gives times to the replays of a communicator, all of which are known that were reported before `horizon`. Calls
    /// `each` for each replay that has one now, or will have none. Nobody knows whose the times are unless the
    /// communicator `is_whole`: no report was lost.
    pub fn settle_replays(
        &mut self,
        (context, is_whole): (Handle, bool),
        horizon: u64,
        scale: f64,
        mut each: impl FnMut(Replay, Option<KernelTime>),
    ) {
        let Self { graphs, anchors, hosts, .. } = self;
        if !is_whole {
            graphs.give_up(Some(context));
        }
        graphs.settle(context, horizon, scale, |clock, replay, time| {
            let anchored = |time: KernelTime| {
                let anchor = anchors.serve(clock, context);
                if let Some(anchor) = anchor {
                    hosts.entry(context.raw()).or_default().anchored(anchor, scale);
                }
                KernelTime { anchor, ..time }
            };
            each(replay, time.map(anchored));
        });
    }

    /// Stops asking about the events of a pool's graphs. Returns the replays that get no time.
    pub fn close_graphs(&mut self, pool: u32) -> Vec<(Handle, Replay)> {
        self.graphs.close(pool as usize)
    }

    /// Stops asking about the events of a captured launch. Returns the replays that get no time.
    pub fn forget_captured(&mut self, context: Handle, call: u64) -> Vec<Replay> {
        self.graphs.forget(context, call)
    }

    /// Stops asking about the events of a pool. Returns the pool's launches, whose kernels get no time, and its own
    /// stream.
    pub fn close(
        &mut self,
        pool: u32,
        launches: &Launches,
        mut each: impl FnMut(LaunchOutcome),
    ) -> (Vec<Box<Launch>>, Option<OwnStream>) {
        let pool = pool as usize;
        let mut left: Vec<Box<Launch>> = self.references.close(pool).into_iter().collect();
        let of_pool: Vec<(usize, usize)> = self.under_way.keys().copied().filter(|(of, _)| *of == pool).collect();
        for launch in of_pool.into_iter().filter_map(|key| self.under_way.remove(&key)).flatten() {
            if let Some(kernel) = launch.kernel {
                each(LaunchOutcome::untimed(kernel, Untimed::NotBelieved));
            }
            left.push(launch);
        }
        (left, self.anchors.close(pool, launches))
    }

    /// Ends all waiting: the remaining kernels get no time.
    fn give_up(&mut self, cause: Untimed, each: &mut impl FnMut(LaunchOutcome)) {
        let left = self.under_way.drain().flat_map(|(_, queue)| queue).chain(self.recorded.drain(..));
        for kernel in left.filter_map(|launch| launch.kernel) {
            each(LaunchOutcome::untimed(kernel, cause));
        }
        self.graphs.give_up(None);
    }

    /// Forgets a communicator that has ended.
    pub fn forget(&mut self, context: Handle) {
        self.hosts.remove(&context.raw());
        self.graphs.forget_all(context);
    }
}

/// Ends a launch whose kernel gets no time.
fn lose(launch: Option<Box<Launch>>, launches: &Launches, each: &mut impl FnMut(LaunchOutcome)) {
    let Some(launch) = launch else { return };
    if let Some(kernel) = launch.kernel {
        each(LaunchOutcome::untimed(kernel, Untimed::NotBelieved));
    }
    launches.give_back(launch);
}

/// Returns the system's real time, nanoseconds.
fn real_time() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1 << 60, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests;
