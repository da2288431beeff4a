//! The recorder: the recording memory and the communicators of the process, and the search for the next free slot.

use crate::base::bell::Bell;
use crate::config::Settings;
use crate::launch::lag::Stamps;
use crate::launch::launches::Launches;
use crate::launch::share::Share;
use crate::record::context::{Context, Contexts};
use crate::record::news::News;
use crate::record::pool::{BLOCK_SLOTS, Pool};
use crate::record::thread::ThreadCell;
use crate::record::window::{Spare, WINDOWS};
use crossbeam_queue::SegQueue;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Blocks that get memory before the first event, because a burst of events may be faster than the collector's start.
const FIRST_BLOCKS: u32 = 256;

/// Everything that the callbacks need.
#[derive(Debug)]
pub struct Recorder {
    /// The memory.
    pub pool: Pool,
    /// The communicators.
    pub contexts: Contexts,
    pub(crate) settings: Settings,
    /// Id of the recording process. A forked child does not record.
    pub(crate) pid: i64,
    /// News for the collector.
    pub(crate) news: SegQueue<News>,
    /// Set once a window was closed, until the collector knows.
    pub(crate) has_closed: AtomicBool,
    /// Set while the collector sleeps for a long time, and while event types are to be switched.
    pub(crate) asleep: AtomicBool,
    /// Wakes the collector.
    pub(crate) bell: Bell,
    /// Launches that CUDA events time.
    pub launches: Launches,
    /// Choice of the launches that get events, where not all can.
    pub(crate) share: Share,
    /// Whether the GPU's stamps are wanted.
    pub(crate) stamps: Stamps,
    window_ticks: OnceLock<u64>,
}

/// The process' recorder, for a callback's one look; NULL before it is published.
static CURRENT: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());

/// Returns the recorder once it is published, even if the plugin has been switched off since.
#[inline(always)]
pub fn begun() -> Option<&'static Recorder> {
    // SAFETY: the pointer is NULL, or `Recorder::publish` has stored a shared reference that lives for ever.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

impl Recorder {
    /// Makes callbacks record into this recorder from now on.
    pub(crate) fn publish(&'static self) {
        CURRENT.store(std::ptr::from_ref(self).cast_mut(), Ordering::Release);
    }

    /// Returns whether the calling process is the recording one: a forked child has no collector.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.pid == i64::from(std::process::id())
    }

    /// Makes a recorder. Callbacks do not use it before `publish`.
    ///
    /// # Errors
    /// Fails when the system refuses the address space.
    pub fn new(settings: Settings) -> io::Result<Self> {
        let pool = Pool::new(settings.memory_bytes)?;
        pool.commit_ahead(FIRST_BLOCKS);
        Ok(Self {
            pool,
            contexts: Contexts::new()?,
            settings,
            pid: i64::from(std::process::id()),
            news: SegQueue::new(),
            has_closed: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            bell: Bell::default(),
            launches: Launches::default(),
            share: Share::default(),
            stamps: Stamps::default(),
            window_ticks: OnceLock::new(),
        })
    }

    /// Returns the settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns a free slot in a window (block, place, generation), in the thread's own block or else in a fresh one.
    #[inline(always)]
    pub(crate) fn place(&self, cell: &ThreadCell, window: u32) -> Option<(u32, u32, u32)> {
        cell.blocks.place(&self.pool, window).or_else(|| self.place_in_fresh_block(cell, window))
    }

    #[cold]
    fn place_in_fresh_block(&self, cell: &ThreadCell, window: u32) -> Option<(u32, u32, u32)> {
        let context = self.contexts.at(window / WINDOWS)?;
        let home = context.window(window % WINDOWS);
        if let Some(spare) = home.adopt().filter(|spare| self.is_of(spare, window)) {
            self.keep(cell, window, spare);
            return cell.blocks.place(&self.pool, window);
        }
        let Some(block) = self.pool.take() else {
            // the full window is read and its blocks are given back the sooner
            self.close(context, window % WINDOWS, cell.now());
            self.wake();
            return None;
        };
        let entry = self.pool.block(block)?;
        entry.assign(window);
        // added to the window before the thread keeps it: a signal handler may make a callback at any place here, or end
        // the process, and recorded events must be found
        let blocks = home.add(&self.pool, block);
        self.keep(cell, window, Spare { block, place: 0, generation: entry.generation() });
        // the full window still takes this event; the next event goes to the window's successor
        if blocks.saturating_mul(BLOCK_SLOTS) >= self.settings.window_events {
            self.close(context, window % WINDOWS, cell.now());
        }
        cell.blocks.place(&self.pool, window)
    }

    /// Keeps a block at hand for the thread. A block that makes room for it is left to its window.
    fn keep(&self, cell: &ThreadCell, window: u32, spare: Spare) {
        if let Some((other, left)) = cell.blocks.keep(window, spare).filter(|(other, left)| self.is_of(left, *other))
            && let Some(home) = self.contexts.window(other)
        {
            home.leave(left);
        }
    }

    /// Returns whether the block still serves that window in that generation.
    fn is_of(&self, spare: &Spare, window: u32) -> bool {
        let block = self.pool.block(spare.block);
        block.is_some_and(|block| block.generation() == spare.generation && block.window() == window)
    }

    /// Closes a window, if it is still filling. The collector finds it by its state.
    pub(crate) fn close(&self, context: &Context, window: u32, now: u64) {
        if context.filling() == window && context.rotate(window, now) {
            self.has_closed.store(true, Ordering::Release);
        }
    }

    /// Returns a window's length in ticks. Until the tick rate is known, a tick counts as a nanosecond.
    pub(crate) fn window_ticks(&self) -> u64 {
        if let Some(&ticks) = self.window_ticks.get() {
            return ticks;
        }
        (self.settings.window_seconds * 1e9) as u64
    }

    /// Sets the window's length once the tick rate is known. The collector calls this.
    pub(crate) fn know_tick(&self, nanoseconds_per_tick: f64) {
        let _ = self.window_ticks.set((self.settings.window_seconds * 1e9 / nanoseconds_per_tick) as u64);
    }

    /// Passes news to the collector. Not for the hot path, because it may allocate.
    pub(crate) fn send(&self, news: News) {
        self.news.push(news);
        self.wake();
    }

    /// Has the next callback that starts an operation or a call look at the event types that are wanted.
    pub(crate) fn call_for_attention(&self) {
        self.asleep.store(true, Ordering::SeqCst);
    }

    /// Ends the collector's sleep.
    #[cold]
    pub(crate) fn wake(&self) {
        self.asleep.store(false, Ordering::Relaxed);
        self.bell.ring();
    }
}
