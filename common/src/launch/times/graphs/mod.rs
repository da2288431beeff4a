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

mod captured;

use super::bounds::Bounds;
use crate::clock::CLOCK;
use crate::event::handle::Handle;
use crate::launch::cuda::{CudaEvent, Relaxed};
use crate::launch::{KernelId, KernelTime, Launch, LaunchSource};
use captured::{Captured, EventsClock};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

pub use captured::Replay;

/// The communicator's context, and the handle of a call that the launch runs.
type CapturedCall = (u64, u64);

/// All captured launches.
#[derive(Debug, Default)]
pub(super) struct Graphs {
    /// Whether launches in graphs may get events.
    are_wanted: bool,
    captured: FxHashMap<CapturedCall, Captured>,
    bounds: FxHashMap<EventsClock, Bounds>,
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
