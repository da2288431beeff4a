//! The collector's side of launches: it asks whether their events have happened, and when.
//!
//! CUDA gives the time between two events, not the time of an event. So each event is placed behind the one before. The
//! first event is placed at the system's real time of its record. The result is a clock of its own, the clock of CUDA's
//! events: it is the GPU's clock with another epoch than the stamps (on H200s, no drift between the two within a
//! microsecond).
//!
//! The first event of a launch happens as soon as the stream is free, which may be before the host has launched the
//! kernel. No kernel begins before its launch. So the kernel's begin is the later of the first event and the launch's
//! end. The end is brought to the events' clock by the smallest recent difference (time of an event - time of its
//! record), since the event with the smallest difference waited for nothing. Compared with CUPTI's kernels, the begin
//! is 3 us early to 4.5 us late for 95 % (docs/gpu-test.md).
//!
//! Two kinds of launches leave the begin uncertain. A kernel that is over when its launch returns began at any time
//! between the two events. A kernel that NCCL does not report was launched at any time in the call that ended its
//! group. They get a time only if the uncertainty is short, absolutely or in proportion to the kernel.

mod news;

pub use news::{OfKernel, take_news};

use super::pool::Launches;
use super::{KernelId, KernelTime, Launch, Recorded, Source, Starts, Untimed};
use crate::clock::CLOCK;
use crate::event::handle::Handle;
use crate::launch::cuda::{Event, Look};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

/// Nanoseconds after which the smallest difference is looked for anew. The smallest of the interval before is used as
/// well.
const RECENT: f64 = 1e9;
/// Least nanoseconds between two events with a kernel between them. Less means that the kernel was launched elsewhere.
const LEAST: u64 = 5_000;

/// A kernel was most likely over when its launch returned, if it ends less than `BLINK` nanoseconds after the launch's
/// end and the first event happened more than `LONG_BEFORE` nanoseconds before that. This happens with
/// CUDA_LAUNCH_BLOCKING, and on a thread that lost its processor.
const BLINK: u64 = 8_000;
const LONG_BEFORE: u64 = 30_000;

/// A time is given if the begin is known to this many nanoseconds, or to this part (one in `KNOWN_PART`) of the time.
const KNOWN: u64 = 60_000;
const KNOWN_PART: u64 = 10;

/// When NCCL launches the kernel within the call that ends a group, all but the last part (one in `LAST_PART`) of the
/// call is over. With this value, events around ncclBroadcast, alone and in groups of two, differ least from CUPTI's
/// kernels (NCCL 2.32.3 on H200s; calls of 15 to 60 us).
const LAST_PART: u64 = 4;

/// An event that waited for the previous kernel happens less than this many nanoseconds after that kernel's last event:
/// 2.4 to 3.3 us on H200s.
const BEHIND: u64 = 4_000;

/// The event of a context behind which the next events are placed.
#[derive(Debug)]
struct Reference {
    /// The event's launch, which nobody else may use meanwhile.
    launch: Box<Launch>,
    event: Event,
    /// Time of the event, nanoseconds of the events' clock.
    time: u64,
}

/// Time at which an event was about to be recorded, ticks, and the time of the event, nanoseconds of the events' clock.
#[derive(Debug, Clone, Copy)]
struct Pair {
    ticks: u64,
    time: u64,
}

impl Pair {
    /// Returns the events' clock at `ticks`, in nanoseconds, if the event waited for nothing.
    fn at(self, ticks: u64, scale: f64) -> u64 {
        let after = ticks.wrapping_sub(self.ticks) as i64;
        self.time.saturating_add_signed((after as f64 * scale) as i64)
    }
}

/// Offset between the host's clock and the events' clock: the least recent delay of events after their records.
#[derive(Debug, Default)]
struct Least {
    since: u64,
    current: Option<Pair>,
    previous: Option<Pair>,
    /// Time of the last kernel's last event, nanoseconds of the events' clock.
    last: Option<u64>,
}

impl Least {
    fn observe(&mut self, pair: Pair, scale: f64) {
        let age = pair.ticks.saturating_sub(self.since) as f64 * scale;
        match self.current {
            Some(best) if age < RECENT => {
                if pair.time < best.at(pair.ticks, scale) {
                    self.current = Some(pair);
                }
            }
            best => {
                self.previous = best.filter(|_| age < 2.0 * RECENT);
                (self.since, self.current) = (pair.ticks, Some(pair));
            }
        }
    }

    fn at(&self, ticks: u64, scale: f64) -> Option<u64> {
        self.current.into_iter().chain(self.previous).map(|pair| pair.at(ticks, scale)).min()
    }
}

/// Result of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// The kernel.
    pub kernel: KernelId,
    /// Number of the launch in a recording; 0 for none.
    pub number: u64,
    /// Time of the kernel.
    pub time: Result<KernelTime, Untimed>,
    /// Whether the kernel is over. If not, nobody asks any more.
    pub is_over: bool,
}

impl Outcome {
    /// Makes the outcome of a kernel that gets no time, for that reason.
    fn untimed(kernel: KernelId, cause: Untimed) -> Self {
        Self { kernel, number: 0, time: Err(cause), is_over: false }
    }
}

/// Launches whose times are to come.
#[derive(Debug, Default)]
pub struct Times {
    /// By pool and stream, in the order of the launches: the events of a stream happen one after the other.
    under_way: FxHashMap<(usize, usize), VecDeque<Box<Launch>>>,
    references: FxHashMap<usize, Reference>,
    /// Launches of a recording, in the order in which the recorder learnt their times.
    recorded: VecDeque<Box<Launch>>,
    /// The system's real time at a time in ticks: the epoch of the events' clocks.
    epoch: Option<Pair>,
    /// For each communicator, which belongs to one GPU.
    hosts: FxHashMap<u64, Least>,
    /// Kernels that their streams have come to since these were last taken; `None` if nobody wants to know.
    reached: Option<Vec<KernelId>>,
}

impl Times {
    /// Asks about the event before a launch, too, from now on, as long as the event after it has not happened.
    pub fn follow_begins(&mut self) {
        self.reached = Some(Vec::new());
    }

    /// Takes the kernels that their streams have come to since the last call, and that are not over.
    pub fn take_reached(&mut self) -> Vec<KernelId> {
        self.reached.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns whether any times are to come.
    pub fn are_awaited(&self) -> bool {
        self.under_way.values().any(|queue| !queue.is_empty()) || !self.recorded.is_empty()
    }

    /// Adds a launch whose times are to come.
    pub fn await_launch(&mut self, launch: Box<Launch>) {
        match launch.source {
            Source::Events { pool, .. } => self.under_way.entry((pool, launch.stream)).or_default().push_back(launch),
            Source::Recording(_) => self.recorded.push_back(launch),
        }
    }

    /// Calls `each` with the outcome of each launch whose times are known by now. In a replay these are times that the
    /// recorder learnt until `known`, ticks. A tick is worth `scale` nanoseconds.
    pub fn look(&mut self, launches: &Launches, known: u64, scale: f64, mut each: impl FnMut(Outcome)) {
        self.look_at_recorded(known, scale, &mut each);
        if self.under_way.is_empty() {
            return;
        }
        let Some(driver) = launches.driver() else { return };
        let look = driver.look();
        if let Some(look) = &look {
            // once for each context, however many streams it has
            let pools: BTreeSet<usize> = self.under_way.keys().map(|&(pool, _)| pool).collect();
            pools.into_iter().for_each(|pool| launches.find_again(pool, look));
        }
        if let Some(calls) = look.as_ref().and_then(Look::relaxed) {
            let Self { under_way, references, hosts, reached, .. } = self;
            let epoch = *self.epoch.get_or_insert_with(|| Pair { ticks: CLOCK.now(), time: real_time() });
            for (&(pool, _), queue) in under_way.iter_mut() {
                while let Some(launch) = queue.front_mut() {
                    let Source::Events { first, last, .. } = launch.source else { break };
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
                    let of_now = |reference: &&Reference| !launches.are_of_before(&reference.launch);
                    let stopped = match references.get(&pool).filter(of_now) {
                        Some(of) => calls.elapsed(of.event, last).map(|after| of.time.saturating_add_signed(after)),
                        None => Some(epoch.at(launch.before, scale).saturating_add(lasted.max(0).cast_unsigned())),
                    };
                    let Some(stopped) = stopped else { break };
                    let Some(launch) = queue.pop_front() else { break };
                    let events = (stopped.saturating_sub(lasted.max(0).cast_unsigned()), stopped);
                    if let Some(kernel) = launch.kernel {
                        let time =
                            begin(hosts.entry(kernel.context.raw()).or_default(), &launch, events, learnt, scale);
                        each(Outcome { kernel, number: launch.number, time, is_over: true });
                    }
                    let reference = Reference { launch, event: last, time: stopped };
                    if let Some(before) = references.insert(pool, reference) {
                        launches.give_back(before.launch);
                    }
                }
            }
            under_way.retain(|_, queue| !queue.is_empty());
        }
        if driver.is_over() {
            let cause = if driver.has_failed() { Untimed::CudaFailed } else { Untimed::NotBelieved };
            self.give_up(cause, &mut each);
        }
    }

    fn look_at_recorded(&mut self, now: u64, scale: f64, each: &mut impl FnMut(Outcome)) {
        let learnt = |launch: &Launch| match launch.source {
            Source::Recording(times) => times.learnt,
            Source::Events { .. } => 0,
        };
        self.recorded.make_contiguous().sort_by_key(|launch| learnt(launch));
        while self.recorded.front().is_some_and(|launch| learnt(launch) <= now) {
            let Some(launch) = self.recorded.pop_front() else { break };
            if let (Source::Recording(times), Some(kernel)) = (launch.source, launch.kernel) {
                let host = self.hosts.entry(kernel.context.raw()).or_default();
                let Recorded { first, last: stop, learnt, .. } = times;
                let worked_out = begin(host, &launch, (first, stop), learnt, scale);
                // the recorder knew the host's times better; no kernel begins outside of its events
                let time = match times.begin {
                    Some(start) if (first..=stop).contains(&start) => {
                        let is_vague = start == first && worked_out.is_ok_and(|time| time.is_vague);
                        Ok(KernelTime { start, stop, first, before: launch.before, learnt, is_vague })
                    }
                    Some(_) => Err(Untimed::NotBelieved),
                    None => worked_out,
                };
                each(Outcome { kernel, number: 0, time, is_over: true });
            }
        }
    }

    /// Stops asking about the events of a pool. Returns the pool's launches, whose kernels get no time.
    pub fn close(&mut self, pool: u32, mut each: impl FnMut(Outcome)) -> Vec<Box<Launch>> {
        let pool = pool as usize;
        let mut left: Vec<Box<Launch>> =
            self.references.remove(&pool).map(|reference| reference.launch).into_iter().collect();
        let of_pool: Vec<(usize, usize)> = self.under_way.keys().copied().filter(|(of, _)| *of == pool).collect();
        for launch in of_pool.into_iter().filter_map(|key| self.under_way.remove(&key)).flatten() {
            if let Some(kernel) = launch.kernel {
                each(Outcome::untimed(kernel, Untimed::NotBelieved));
            }
            left.push(launch);
        }
        left
    }

    /// Ends all waiting: the remaining kernels get no time.
    fn give_up(&mut self, cause: Untimed, each: &mut impl FnMut(Outcome)) {
        let left = self.under_way.drain().flat_map(|(_, queue)| queue).chain(self.recorded.drain(..));
        for kernel in left.filter_map(|launch| launch.kernel) {
            each(Outcome::untimed(kernel, cause));
        }
    }

    /// Forgets a communicator that has ended.
    pub fn forget(&mut self, context: Handle) {
        self.hosts.remove(&context.raw());
    }
}

/// Ends a launch whose kernel gets no time.
fn lose(launch: Option<Box<Launch>>, launches: &Launches, each: &mut impl FnMut(Outcome)) {
    let Some(launch) = launch else { return };
    if let Some(kernel) = launch.kernel {
        each(Outcome::untimed(kernel, Untimed::NotBelieved));
    }
    launches.give_back(launch);
}

/// Returns the time of the kernel between two events.
fn begin(
    host: &mut Least,
    launch: &Launch,
    (first, last): (u64, u64),
    learnt: u64,
    scale: f64,
) -> Result<KernelTime, Untimed> {
    let &Launch { before, after, .. } = launch;
    // right behind another kernel the event has most likely waited for that kernel, and says nothing about the host's
    // clock
    let has_waited = host.last.replace(last).is_some_and(|ended| first.abs_diff(ended) < BEHIND);
    let starts = match launch.starts {
        Starts::AtOnce => before,
        Starts::Within => after - after.saturating_sub(before) / LAST_PART,
        Starts::AtReturn => after,
    };
    let (mut launched, mut returned) = (first, first);
    if !has_waited {
        host.observe(Pair { ticks: before, time: first }, scale);
        let on_their_clock = |ticks: u64| host.at(ticks, scale).map_or(first, |time| first.max(time));
        (launched, returned) = (on_their_clock(starts), on_their_clock(after));
    }
    let is_over = launched >= last || (last - launched < BLINK && launched - first > LONG_BEFORE);
    let (start, unknown) = match launch.starts {
        // most launches take a few microseconds, and then the thread waited
        _ if is_over => (first, last.saturating_sub(first)),
        Starts::Within => (launched, (launched - first).max(returned - launched)),
        Starts::AtOnce | Starts::AtReturn => (launched, 0),
    };
    let is_known = unknown <= KNOWN.max(last.saturating_sub(start) / KNOWN_PART);
    // events that are closer together mean that the kernel was launched elsewhere
    if last.saturating_sub(first) < LEAST || !is_known {
        return Err(Untimed::NotBelieved);
    }
    Ok(KernelTime { start, stop: last, first, before, learnt, is_vague: is_over })
}

/// Returns the system's real time, nanoseconds.
fn real_time() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1 << 60, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests;
