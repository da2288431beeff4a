//! Launches in CUDA graphs: which replay the times of their events belong to.
//!
//! The two events of a captured launch are nodes of its graph. Each replay records them anew, so they have the times of
//! the latest replay alone, and the collector reads them in its rounds. It knows the replays by NCCL's reports:
//!
//! ```text
//! NCCL's report of replay n ─► first event, kernel, last event ─► NCCL's report of replay n + 1
//! ```
//!
//! This order is certain: the kernel waits for the report, which is a node of the graph as well, and replays of a graph
//! never overlap. So the times that were read belong to the latest replay whose report lies before the events. Host and
//! GPU have different clocks. Anchors ([`crate::launch::anchors`]) and launches outside of graphs show their relation
//! ([`Bounds`]); where it leaves open whether a report came before the events or behind them, the times are not used. A
//! replay whose times were not read before the next one is not timed: its cause is the graph.
//!
//! A reading is looked at only once all reports from before it were read from the recording memory.

use super::begins;
use super::bounds::{Bounds, RESOLUTION};
use crate::clock::CLOCK;
use crate::event::handle::Handle;
use crate::launch::cuda::{CudaEvent, Relaxed};
use crate::launch::{KernelId, KernelTime, Launch, LaunchSource};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

/// Nanoseconds that the event may be old that times are measured from. CUDA's numbers have 24 bits: at this distance
/// they are half a microsecond apart.
const OLDEST: i64 = 8_000_000_000;
/// Nanoseconds by which the same event's times may differ, measured from different events.
const SAME: u64 = 2 * RESOLUTION;
/// Nanoseconds for which events are read after the last replay, since the next one may have begun unheard.
const WHILE: f64 = 1e9;
/// Most replays of a launch that wait for their times.
const MOST_WAITING: usize = 4096;

/// A pool's number and generation: events of one have one clock.
type EventsClock = (usize, u32);

/// The communicator's context, and the handle of a call that the launch runs.
type CapturedCall = (u64, u64);

/// A replay of a captured launch, as NCCL has reported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replay {
    /// Handle of the captured call.
    pub call: u64,
    /// Order of the kernel's first operation.
    pub first: u64,
    /// Time of the report, ticks.
    pub reported: u64,
    /// Handle of the reported operation, which names the replay in a recording; 0 for none.
    pub number: u64,
}

/// Times that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GraphReading {
    /// Time before the reading, ticks.
    from: u64,
    /// Time after the reading, ticks.
    until: u64,
    /// Time before the last reading that had other times, ticks: the events happened later.
    since: u64,
    /// Times of both events, if they are new and of one replay.
    times: Option<(u64, u64)>,
    /// There was no event to measure times from: replays that were reported before this time, ticks, get none; 0 for
    /// no replay.
    hopeless_before: u64,
}

/// A captured launch.
#[derive(Debug)]
struct Captured {
    launch: Box<Launch>,
    clock: EventsClock,
    events: [CudaEvent; 2],
    /// Time of the last event, as it was read last.
    last: Option<u64>,
    /// Time before the last reading, ticks.
    read: u64,
    readings: VecDeque<GraphReading>,
    /// Replays without a time so far, in their order.
    replays: VecDeque<Replay>,
    /// Time of the last report, ticks.
    reported: u64,
}

/// All captured launches.
#[derive(Debug, Default)]
pub(super) struct Graphs {
    /// Whether launches in graphs may get events.
    are_wanted: bool,
    captured: FxHashMap<CapturedCall, Captured>,
    bounds: FxHashMap<EventsClock, Bounds>,
}

impl Captured {
    /// Reads the events, and measures their times from an event with a known time, which was looked for since `begun`.
    fn read(&mut self, calls: &Relaxed<'_>, reference: Option<(CudaEvent, u64)>, begun: u64) {
        let from = CLOCK.now();
        let mut reading = GraphReading { from, until: 0, since: self.read, times: None, hopeless_before: begun };
        if let Some((reference, time)) = reference {
            let [first, last] = self.events;
            let after = |event| calls.elapsed_in_graph(reference, event);
            let at = |after| time.saturating_add_signed(after);
            reading.hopeless_before = 0;
            match after(last) {
                Some(after) if after.abs() > OLDEST => reading.hopeless_before = begun,
                Some(now) if self.last.is_none_or(|before| at(now).abs_diff(before) > SAME) => {
                    // the first event on both sides of the last one: a replay in between would have changed it
                    if let (Some(begin), Some(end)) = (after(first), after(last))
                        && begin <= end
                        && after(first) == Some(begin)
                    {
                        reading.times = Some((at(begin), at(end)));
                        self.last = Some(at(end));
                        self.read = from;
                    }
                }
                // as before, or not happened
                _ => self.read = from,
            }
        }
        reading.until = CLOCK.now();
        self.readings.push_back(reading);
    }

    /// Finds the replay that times belong to. `known` replays were reported before the reading. Returns its place, and
    /// the number of replays that get no other time.
    fn owner(
        &self,
        reading: &GraphReading,
        (first, last): (u64, u64),
        known: usize,
        bounds: &Bounds,
        scale: f64,
    ) -> (Option<usize>, usize) {
        for place in (0..known).rev() {
            let reported = self.replays[place].reported;
            let [earliest, latest] = [bounds.earliest(reported, scale), bounds.latest(reported, scale)];
            let may_be_before = earliest.is_none_or(|earliest| first >= earliest);
            let is_before = reading.since > reported || latest.is_some_and(|latest| last > latest);
            match (is_before, may_be_before) {
                (true, true) => return (Some(place), place + 1),
                // an earlier replay's
                (false, false) => {}
                // nobody knows whose
                _ => return (None, place + 1),
            }
        }
        (None, 0)
    }

    /// Takes in a reading. Calls `each` for each replay that now has a time or will have none.
    fn take(
        &mut self,
        reading: GraphReading,
        bounds: &mut Bounds,
        scale: f64,
        each: &mut impl FnMut(Replay, Option<KernelTime>),
    ) {
        let known = self.replays.partition_point(|replay| replay.reported < reading.until);
        let (owner, mut over) = match reading.times {
            Some(times) => {
                bounds.happened_after(reading.since, times.1, scale);
                bounds.happened_before(reading.until, times.1, scale);
                self.owner(&reading, times, known, bounds, scale)
            }
            None => (None, 0),
        };
        let mut time = None;
        if let (Some(place), Some((first, stop))) = (owner, reading.times) {
            let before = self.replays[place].reported;
            bounds.happened_after(before, first, scale);
            time = begins::of_replay((first, stop), before, reading.until);
        }
        // those that a later one had followed when the events were read
        let followed = self.replays.partition_point(|replay| replay.reported < reading.from).saturating_sub(1);
        over = over.max(followed);
        over = over.max(self.replays.partition_point(|replay| replay.reported < reading.hopeless_before));
        over = over.max(self.replays.len().saturating_sub(MOST_WAITING));
        for (place, replay) in self.replays.drain(..over).enumerate() {
            each(replay, time.filter(|_| owner == Some(place)));
        }
    }
}

impl Graphs {
    /// Launches in graphs may get events: the clocks are compared from now on.
    pub(super) fn want(&mut self) {
        self.are_wanted = true;
    }

    /// Returns whether any captured launch has events.
    pub(super) fn is_empty(&self) -> bool {
        self.captured.is_empty()
    }

    /// Returns whether times of replays are to come.
    pub(super) fn are_awaited(&self) -> bool {
        self.captured.values().any(|captured| !captured.replays.is_empty())
    }

    /// Returns whether there are readings that no report has been held against.
    pub(super) fn has_readings(&self) -> bool {
        self.captured.values().any(|captured| !captured.readings.is_empty())
    }

    /// Adds a captured launch.
    pub(super) fn add(&mut self, launch: Box<Launch>) {
        let (LaunchSource::Events { pool, generation, first, last }, Some(KernelId { context, .. })) =
            (launch.source, launch.kernel)
        else {
            return;
        };
        let captured = Captured {
            clock: (pool, generation),
            events: [first, last],
            last: None,
            read: launch.after,
            readings: VecDeque::new(),
            replays: VecDeque::new(),
            reported: 0,
            launch,
        };
        self.captured.insert((context.raw(), captured.launch.number), captured);
    }

    /// Adds a replay. Returns false if its launch has no events.
    pub(super) fn replayed(&mut self, context: Handle, replay: Replay) -> bool {
        let Some(captured) = self.captured.get_mut(&(context.raw(), replay.call)) else { return false };
        captured.reported = captured.reported.max(replay.reported);
        // reports are read by window and thread, mostly in their order
        let place = captured.replays.partition_point(|before| before.reported <= replay.reported);
        captured.replays.insert(place, replay);
        true
    }

    /// Takes in an event of a launch outside of graphs: its times on its clock, and when it was recorded and learnt.
    pub(super) fn saw(
        &mut self,
        clock: EventsClock,
        (before, first): (u64, u64),
        (learnt, last): (u64, u64),
        scale: f64,
    ) {
        if self.are_wanted {
            let bounds = self.bounds.entry(clock).or_default();
            bounds.happened_after(before, first, scale);
            bounds.happened_before(learnt, last, scale);
        }
    }

    /// Returns the pools whose events are to be read now. `is_there` tells of a pool's generation whether it has not ended.
    pub(super) fn pools(&self, scale: f64, is_there: impl Fn(usize, u32) -> bool) -> BTreeSet<usize> {
        let now = CLOCK.now();
        let of_now = self.captured.values().filter(|captured| is_there(captured.clock.0, captured.clock.1));
        of_now.filter(|captured| captured.is_watched(now, scale)).map(|captured| captured.clock.0).collect()
    }

    /// Reads the events of the launches that are replayed. `is_there` looks whether the context of a pool still exists,
    /// and a launch of it with it; `reference` returns an event of a pool with its time.
    ///
    /// Each launch's context is looked at right before its events: no driver tells of a reset, and these events are
    /// read for as long as replays come. The look for such an event has `begun` at that time, ticks.
    pub(super) fn read(
        &mut self,
        calls: &Relaxed<'_>,
        (begun, scale): (u64, f64),
        is_there: impl Fn(usize, &Launch) -> bool,
        reference: impl Fn(usize) -> Option<(CudaEvent, u64)>,
    ) {
        let now = CLOCK.now();
        for captured in self.captured.values_mut().filter(|captured| captured.is_watched(now, scale)) {
            if is_there(captured.clock.0, &captured.launch) {
                captured.read(calls, reference(captured.clock.0), begun);
            } else {
                captured.give_up();
            }
        }
    }

    /// Notes that nothing can be read any more, of a communicator or (`None`) at all.
    pub(super) fn give_up(&mut self, context: Option<Handle>) {
        let of = |key: &CapturedCall| context.is_none_or(|context| context.raw() == key.0);
        self.captured.iter_mut().filter(|(key, _)| of(key)).for_each(|(_, captured)| captured.give_up());
    }

    /// Holds the readings of a communicator's launches against the replays, all of which were taken in that were
    /// reported before `horizon`. Calls `each` for each replay that now has a time or will have none, with the
    /// launch's clock.
    pub(super) fn settle(
        &mut self,
        context: Handle,
        horizon: u64,
        scale: f64,
        mut each: impl FnMut(EventsClock, Replay, Option<KernelTime>),
    ) {
        for (key, captured) in &mut self.captured {
            if key.0 != context.raw() {
                continue;
            }
            let bounds = self.bounds.entry(captured.clock).or_default();
            while captured.readings.front().is_some_and(|reading| reading.until <= horizon)
                && let Some(reading) = captured.readings.pop_front()
            {
                let clock = captured.clock;
                captured.take(reading, bounds, scale, &mut |replay, time| each(clock, replay, time));
            }
        }
    }

    /// Forgets a launch.
    pub(super) fn forget(&mut self, context: Handle, call: u64) -> Vec<Replay> {
        self.captured.remove(&(context.raw(), call)).map(|captured| captured.replays.into()).unwrap_or_default()
    }

    /// Forgets the launches of a communicator that has ended.
    pub(super) fn forget_all(&mut self, context: Handle) {
        self.captured.retain(|key, _| key.0 != context.raw());
    }

    /// Forgets the launches of a pool, about whose events nobody may ask any more. Returns the replays that wait.
    pub(super) fn close(&mut self, pool: usize) -> Vec<(Handle, Replay)> {
        self.bounds.retain(|clock, _| clock.0 != pool);
        let closed = self.captured.extract_if(|_, captured| captured.clock.0 == pool);
        let replays = |captured: Captured| {
            let context = captured.launch.kernel.map(|kernel| kernel.context);
            captured.replays.into_iter().filter_map(move |replay| Some((context?, replay)))
        };
        closed.flat_map(|(_, captured)| replays(captured)).collect()
    }
}

impl Captured {
    /// Returns whether its events are to be read: replays wait, or came until a moment ago.
    fn is_watched(&self, now: u64, scale: f64) -> bool {
        !self.replays.is_empty() || self.reported != 0 && (now.saturating_sub(self.reported) as f64) * scale < WHILE
    }

    /// Its events cannot be read any more.
    fn give_up(&mut self) {
        if !self.replays.is_empty() {
            let now = CLOCK.now();
            let reading = GraphReading { from: now, until: now, since: 0, times: None, hopeless_before: now };
            self.readings.push_back(reading);
        }
    }
}

#[cfg(test)]
mod tests;
