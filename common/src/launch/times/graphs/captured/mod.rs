//! A captured launch: the times that are read of its events, and which of its replays they belong to.

use crate::clock::CLOCK;
use crate::launch::cuda::{CudaEvent, Relaxed};
use crate::launch::times::begins;
use crate::launch::times::bounds::{Bounds, RESOLUTION};
use crate::launch::{KernelTime, Launch};
use std::collections::VecDeque;

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
pub(super) type EventsClock = (usize, u32);

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
pub(super) struct GraphReading {
    /// Time before the reading, ticks.
    from: u64,
    /// Time after the reading, ticks.
    pub(super) until: u64,
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
pub(super) struct Captured {
    pub(super) launch: Box<Launch>,
    pub(super) clock: EventsClock,
    pub(super) events: [CudaEvent; 2],
    /// Time of the last event, as it was read last.
    pub(super) last: Option<u64>,
    /// Time before the last reading, ticks.
    pub(super) read: u64,
    pub(super) readings: VecDeque<GraphReading>,
    /// Replays without a time so far, in their order.
    pub(super) replays: VecDeque<Replay>,
    /// Time of the last report, ticks.
    pub(super) reported: u64,
}

impl Captured {
    /// Reads the events, and measures their times from an event with a known time, which was looked for since `begun`.
    pub(super) fn read(&mut self, calls: &Relaxed<'_>, reference: Option<(CudaEvent, u64)>, begun: u64) {
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
    pub(super) fn take(
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

    /// Returns whether its events are to be read: replays wait, or came until a moment ago.
    pub(super) fn is_watched(&self, now: u64, scale: f64) -> bool {
        !self.replays.is_empty() || self.reported != 0 && (now.saturating_sub(self.reported) as f64) * scale < WHILE
    }

    /// Its events cannot be read any more.
    pub(super) fn give_up(&mut self) {
        if !self.replays.is_empty() {
            let now = CLOCK.now();
            let reading = GraphReading { from: now, until: now, since: 0, times: None, hopeless_before: now };
            self.readings.push_back(reading);
        }
    }
}

#[cfg(test)]
mod tests;
