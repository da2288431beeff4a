//! Anchors: moments that are known on the host's clock and on that of CUDA's events, whatever the application has queued.
//!
//! An event in a stream that is the library's own and has no other work happens as soon as the GPU's front end sees it:
//! some microseconds after its record. So the time right before the record and the time of the first look that finds it
//! over enclose it. The collector makes a few such events a second on its own thread, and keeps the one that is enclosed
//! most closely. No call of the application waits for one.
//!
//! Under Score-P a launching thread makes them, one at a time ([`AtLaunch`](super::at_launch::AtLaunch)).
//!
//! Where all streams share one hardware queue (`CUDA_DEVICE_MAX_CONNECTIONS=1`), an event waits for all that is queued.
//! Its bounds are wide then, and true.

use super::Anchor;
use super::at_launch::{AtLaunch, MadeAnchor};
use super::cuda::{CudaEvent, Driver, Relaxed};
use super::launches::Launches;
use super::own_stream::OwnStream;
use crate::clock::CLOCK;
use crate::event::handle::Handle;
use rustc_hash::FxHashMap;

/// Nanoseconds from one anchor of a context to the next. The first ones are closer together, for short runs.
const INTERVAL: f64 = 1e9;
const FIRST_INTERVAL: f64 = 1e7;

/// Events for one anchor.
const TRIES: usize = 4;

/// Looks at one event without a pause, 0.2 to 0.5 us each. Most events happen within 10 us.
const LOOKS: usize = 200;

/// An event between two looks at the host's clock, ticks.
#[derive(Debug, Clone, Copy)]
struct Enclosed {
    /// Its place in [`OwnStream::events`].
    event: usize,
    from: u64,
    until: u64,
}

/// The anchors of one context.
#[derive(Debug)]
struct OfContext {
    own: OwnStream,
    /// Time of the first anchor, and the time from which the next one is due, ticks.
    first: u64,
    next: u64,
    /// An event that has not happened yet, with the ticks right before its record.
    asked: Option<(usize, u64)>,
    /// The event that a launching thread is to record, with the stream.
    lent: Option<usize>,
    /// The event of the latest anchor, until its time is known.
    found: Option<Enclosed>,
    latest: Option<Anchor>,
    /// The event of the latest anchor whose time is known, until it is recorded again.
    known: Option<usize>,
    /// The event that times are measured from, which is not recorded again.
    kept: Option<usize>,
    /// Communicators that have the latest anchor.
    served: Vec<Handle>,
}

impl OfContext {
    fn new(own: OwnStream) -> Self {
        let now = CLOCK.now();
        let asked = own.recorded.map(|from| (0, from));
        let (lent, found, latest, known, kept) = (None, None, None, None, None);
        Self { own, first: now, next: now, asked, lent, found, latest, known, kept, served: Vec::new() }
    }

    /// Returns an event that is neither kept nor that of the closest anchor so far.
    fn free(&self, best: Option<Enclosed>) -> Option<usize> {
        (0..self.own.events.len())
            .find(|&event| self.kept != Some(event) && best.is_none_or(|best| best.event != event))
    }

    /// Takes in the time of the anchor that was found, if there is one.
    fn learn(&mut self, time: impl FnOnce(CudaEvent, u64, u64) -> Option<u64>) {
        let Some(Enclosed { event, from, until }) = self.found.take() else { return };
        self.latest = time(self.own.events[event], from, until).map(|time| Anchor { from, until, time });
        self.known = self.latest.map(|_| event);
        self.served.clear();
    }

    /// Makes an anchor if one is due, or asks a launching thread for it. A tick is worth `scale` nanoseconds.
    fn look(&mut self, calls: &Relaxed<'_>, launching: Option<&AtLaunch>, scale: f64) -> Option<()> {
        let now = CLOCK.now();
        if let Some(event) = self.lent {
            let MadeAnchor { generation, from, until } = launching?.take()?;
            if generation != self.own.generation {
                return None;
            }
            self.lent = None;
            match until {
                Some(until) => self.found = Some(Enclosed { event, from, until }),
                None => self.asked = Some((event, from)),
            }
        }
        if let Some((event, from)) = self.asked {
            if calls.has_happened(self.own.events[event]) {
                (self.asked, self.found) = (None, Some(Enclosed { event, from, until: CLOCK.now() }));
            }
            return Some(());
        }
        if now < self.next || self.found.is_some() {
            return Some(());
        }
        let age = now.saturating_sub(self.first) as f64 * scale;
        self.next = now.saturating_add((age.clamp(FIRST_INTERVAL, INTERVAL) / scale) as u64);
        if let Some(launching) = launching {
            let event = self.free(None)?;
            self.known = self.known.filter(|&known| known != event);
            self.lent = Some(event);
            launching.want(self.own.events[event], self.own.stream, self.own.generation);
            return Some(());
        }
        let mut best: Option<Enclosed> = None;
        for _ in 0..TRIES {
            let event = self.free(best)?;
            self.known = self.known.filter(|&known| known != event);
            let from = CLOCK.now();
            calls.record(self.own.events[event], self.own.stream)?;
            let Some(until) = calls.see(self.own.events[event], LOOKS) else {
                // something is ahead of it in the GPU's queue
                if best.is_none() {
                    self.asked = Some((event, from));
                }
                break;
            };
            if best.is_none_or(|best| until.saturating_sub(from) < best.until.saturating_sub(best.from)) {
                best = Some(Enclosed { event, from, until });
            }
        }
        self.found = best;
        Some(())
    }
}

/// The anchors of all contexts, by the numbers of their pools.
#[derive(Debug, Default)]
pub(super) struct Anchors(FxHashMap<usize, OfContext>);

impl Anchors {
    /// Makes an anchor in the context of a pool if one is due.
    pub(super) fn look(&mut self, pool: usize, launches: &Launches, calls: &Relaxed<'_>, scale: f64) {
        self.0.retain(|&pool, context| !launches.is_of_before(pool, context.own.generation));
        if !self.0.contains_key(&pool)
            && let Some(own) = launches.take_own(pool)
            && !launches.is_of_before(pool, own.generation)
        {
            self.0.insert(pool, OfContext::new(own));
        }
        let launching = launches.at_launch(pool).filter(|_| launches.driver().is_some_and(Driver::is_watched));
        let _ = self.0.get_mut(&pool).and_then(|context| context.look(calls, launching, scale));
    }

    /// Takes in the time of a new anchor of a context, if there is one. `time` returns an event's time on the clock of
    /// CUDA's events.
    pub(super) fn learn(&mut self, pool: usize, time: impl FnOnce(CudaEvent) -> Option<u64>) {
        if let Some(context) = self.0.get_mut(&pool) {
            context.learn(|event, _, _| time(event));
        }
    }

    /// Returns the latest anchor of a pool's generation, once to each communicator.
    pub(super) fn serve(&mut self, (pool, generation): (usize, u32), communicator: Handle) -> Option<Anchor> {
        let context = self.0.get_mut(&pool).filter(|context| context.own.generation == generation)?;
        let latest = context.latest.filter(|_| !context.served.contains(&communicator))?;
        context.served.push(communicator);
        Some(latest)
    }

    /// Returns the latest anchor of a context, once, with its event and the event's generation. The event is kept until the
    /// next call that returns one. `time` returns the time of an event on the clock of CUDA's events; it happened between
    /// two times in ticks.
    pub(super) fn keep(
        &mut self,
        pool: usize,
        time: impl FnOnce(CudaEvent, u64, u64) -> Option<u64>,
    ) -> Option<(Anchor, CudaEvent, u32)> {
        let context = self.0.get_mut(&pool)?;
        context.learn(time);
        let (event, anchor) = context.known.filter(|&event| context.kept != Some(event)).zip(context.latest)?;
        context.kept = Some(event);
        Some((anchor, context.own.events[event], context.own.generation))
    }

    /// Takes the stream of a context out. `None` while a launching thread has it: then it stays with its context.
    pub(super) fn close(&mut self, pool: usize, launches: &Launches) -> Option<OwnStream> {
        let OfContext { own, lent, .. } = self.0.remove(&pool)?;
        (lent.is_none() || launches.at_launch(pool).is_some_and(AtLaunch::withdraw)).then_some(own)
    }
}
