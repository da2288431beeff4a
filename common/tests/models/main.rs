//! The recording, in every interleaving of two threads and every order of memory that the language allows: `make
//! models`.
//!
//! The models make callbacks as NCCL does ([`Recorder::start`] and its siblings) and take in what was recorded as the
//! collector does ([`round::follow`]). What they leave out is the thread and the channels between the two, and the
//! kernel's fence: in a model, callbacks fence themselves.
//!
//! [`Recorder::start`]: common::recorder::Recorder::start

#![cfg(loom)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod blocks;
mod gate;
mod hand_over;

use common::clock::CLOCK;
use common::communicator::FollowedCommunicator;
use common::config::Settings;
use common::context::Context;
use common::course::Course;
use common::event::{Event, InitCommunicator, StartedOperation, TimingOptions};
use common::figures::Figures;
use common::grace::Graces;
use common::handle::Handle;
use common::pool::BLOCK_SLOTS;
use common::recorder::Recorder;
use common::round;
use common::slot::{Slot, SlotContent};
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;
use std::cell::Cell;

/// After so many ticks a callback closes the window that fills; the collector does so after twice as many.
const WINDOW_TICKS: u64 = 100;
/// Rounds that the collector makes at most while others go on.
const MOST_ROUNDS: u32 = 50;

thread_local! {
    /// The time. A model's threads take turns on one thread of the system, so all see the same, and it is another
    /// model's never.
    static NOW: Cell<u64> = const { Cell::new(0) };
}

unsafe extern "C" fn now() -> u64 {
    NOW.get()
}

/// Later, whatever window fills is old.
pub(crate) fn later() {
    NOW.set(NOW.get() + 10 * WINDOW_TICKS);
}

/// Checks every interleaving, or those with at most so many preemptions where all would take minutes.
pub(crate) fn check(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    CLOCK.set_function(now);
    let mut builder = Builder::new();
    builder.max_branches = 10_000;
    builder.preemption_bound = preemptions;
    builder.check(move || {
        NOW.set(10 * WINDOW_TICKS);
        model();
    });
}

/// The settings of a model: room for so many blocks, and windows that only time closes, and that wait for all their
/// events.
pub(crate) fn settings(blocks: usize) -> Settings {
    Settings {
        memory_bytes: blocks * size_of::<Slot>() * BLOCK_SLOTS as usize,
        window_seconds: WINDOW_TICKS as f64 / 1e9,
        deadline_seconds: 1e9,
        ..Settings::default()
    }
}

/// The callbacks' side, for any thread.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) recorder: Arc<Recorder>,
    /// The communicator's context.
    pub(crate) context: u64,
}

impl Process {
    pub(crate) fn new(settings: Settings) -> (Self, Collector) {
        let recorder = Recorder::new(settings).unwrap();
        Self::with(Arc::new(recorder))
    }

    /// One that has another communicator.
    pub(crate) fn with(recorder: Arc<Recorder>) -> (Self, Collector) {
        let context = recorder.init(introduction());
        let communicator = FollowedCommunicator::new(Handle::parse(context).unwrap(), &introduction());
        let collector = Collector {
            recorder: recorder.clone(),
            communicator,
            graces: Graces::default(),
            figures: Figures::default(),
        };
        (Self { recorder, context }, collector)
    }

    /// NCCL starts and stops an operation. Gives its handle, 0 when there was no room.
    pub(crate) fn operation(&self) -> u64 {
        let handle = self.recorder.start(self.context, 0, &Event::Coll(all_reduce()));
        self.recorder.stop(handle);
        handle
    }

    /// NCCL starts a child of an operation, which does not stop.
    pub(crate) fn child(&self, parent: u64) -> u64 {
        self.recorder.start(self.context, parent, &Event::KernelCh { channel: 0, ptimer: None })
    }

    /// What is recorded under a handle, while it lives.
    pub(crate) fn event(&self, handle: u64) -> Option<SlotContent> {
        let handle = Handle::parse(handle)?;
        self.recorder.pool.find(handle)?.0.read(handle.generation())
    }

    pub(crate) fn state(&self) -> &Context {
        self.recorder.contexts.at(0).unwrap()
    }
}

/// The collector's side, for one thread.
pub(crate) struct Collector {
    recorder: Arc<Recorder>,
    pub(crate) communicator: FollowedCommunicator,
    graces: Graces,
    pub(crate) figures: Figures,
}

impl Collector {
    /// As the collector's round. True when the communicator has ended and all of it is taken in.
    pub(crate) fn round(&mut self) -> bool {
        self.communicator.close_old_window(&self.recorder, CLOCK.now(), WINDOW_TICKS);
        let course = Course { recorder: &self.recorder, now: CLOCK.now(), hasty: true };
        round::follow(std::iter::once(&mut self.communicator), course, &mut self.graces, &mut self.figures);
        self.communicator.is_over()
    }

    /// As the last of NCCL's calls and all that follows from it.
    pub(crate) fn end(&mut self, context: u64) {
        self.recorder.finalize(context);
        self.communicator.end(CLOCK.now());
        let mut rounds = 1;
        while !self.round() {
            assert!(rounds < MOST_ROUNDS, "a window is never done");
            rounds += 1;
            thread::yield_now();
        }
    }

    /// Operations taken in.
    pub(crate) fn operations(&self) -> usize {
        self.figures.totals.operations.values().map(|sum| sum.count as usize).sum()
    }

    /// Operations of which something was left without a stop, and children without a parent.
    pub(crate) fn loose(&self) -> (usize, usize) {
        (self.figures.totals.unfinished as usize, self.figures.totals.orphans as usize)
    }
}

pub(crate) fn all_reduce() -> StartedOperation<'static> {
    StartedOperation {
        function: Some(c"AllReduce".into()),
        count: 1,
        datatype: Some(c"ncclInt8".into()),
        sequence: 0,
        peer: None,
        root: None,
        channels: 1,
        algorithm: None,
        protocol: None,
        identity: None,
        stream: 0,
    }
}

fn introduction() -> InitCommunicator {
    let (id, name) = (7, String::new());
    InitCommunicator {
        id,
        name,
        nranks: 2,
        nnodes: 1,
        rank: 0,
        api_calls: false,
        kernel_events: false,
        introduced: true,
        timed: TimingOptions::default(),
    }
}
