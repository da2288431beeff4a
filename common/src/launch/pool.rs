//! Launches that are free, with their events: some for each context of CUDA's, made where they are used and used again.
//!
//! An event belongs to the context that it was made in, so it is made on a thread that launches there. It is never destroyed: a context takes
//! its events with it.

use super::{Launch, News, Recorded, Source};
use crate::cuda::{Calls, Context, Driver};
use crossbeam_channel::{Receiver, Sender, TrySendError};
use once_cell::sync::OnceCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Launches of a process that may be under way, about: those beyond have no time.
const MOST: usize = 4096;
/// Launches that are made at a time.
const BATCH: usize = 64;
/// Contexts of CUDA's that are told apart: one a GPU that the process uses.
const CONTEXTS: usize = 64;
/// What may be on its way to the collector.
const NEWS: usize = 4 * MOST;

/// The free launches of a context.
#[derive(Debug)]
struct Pool {
    context: Context,
    free: Receiver<Box<Launch>>,
    give_back: Sender<Box<Launch>>,
}

impl Pool {
    fn new(context: Context) -> Self {
        let (give_back, free) = crossbeam_channel::bounded(MOST);
        Self { context, free, give_back }
    }
}

/// All launches of the process: where they come from, and where they go.
#[derive(Debug)]
pub struct Launches {
    driver: OnceCell<Option<Driver>>,
    /// Set while launches are to be timed by events.
    on: AtomicBool,
    /// Set once a recording tells when kernels ran, in the events' place.
    replays: AtomicBool,
    pools: [OnceCell<Pool>; CONTEXTS],
    made: AtomicUsize,
    news: Sender<News>,
    inbox: Receiver<News>,
}

impl Default for Launches {
    fn default() -> Self {
        let (news, inbox) = crossbeam_channel::bounded(NEWS);
        Self {
            driver: OnceCell::new(),
            on: AtomicBool::new(false),
            replays: AtomicBool::new(false),
            pools: [const { OnceCell::new() }; CONTEXTS],
            made: AtomicUsize::new(0),
            news,
            inbox,
        }
    }
}

impl Launches {
    /// A communicator begins whose launches are to be timed by events: looks the driver up, once, and makes the first events where a context
    /// is current. Not for the hot path.
    pub fn begin(&self) {
        let Some(driver) = self.driver.get_or_init(Driver::look_up) else { return };
        if let Some(calls) = driver.calls()
            && let Some(context) = calls.context()
            && let Some((_, pool)) = self.pool(context)
            && pool.free.is_empty()
        {
            self.make(&calls, context);
        }
        self.on.store(true, Ordering::Relaxed);
    }

    /// Whether launches are timed, by events or by a recording.
    #[inline]
    pub fn are_timed(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// From here on a recording tells when kernels ran.
    pub fn replay(&self) {
        self.replays.store(true, Ordering::Relaxed);
        self.on.store(true, Ordering::Relaxed);
    }

    /// Whether a recording does.
    pub fn are_replayed(&self) -> bool {
        self.replays.load(Ordering::Relaxed)
    }

    /// The driver, once a communicator has begun where it is loaded.
    pub fn driver(&self) -> Option<&Driver> {
        self.driver.get()?.as_ref()
    }

    /// Times no launch by events from here on, and makes no call of CUDA's.
    pub fn end(&self) {
        if let Some(driver) = self.driver() {
            driver.end();
        }
        if !self.are_replayed() {
            self.on.store(false, Ordering::Relaxed);
        }
    }

    /// The context's pool and its number; `None` when there are too many.
    fn pool(&self, context: Context) -> Option<(usize, &Pool)> {
        self.pools.iter().enumerate().find_map(|(number, place)| {
            let pool = place.get_or_init(|| Pool::new(context));
            (pool.context == context).then_some((number, pool))
        })
    }

    /// A free launch of the calling thread's context, made if there is none; `None` when too many are under way.
    pub fn take(&self, calls: &Calls<'_>) -> Option<Box<Launch>> {
        let context = calls.context()?;
        let (_, pool) = self.pool(context)?;
        pool.free.try_recv().ok().or_else(|| {
            self.make(calls, context);
            pool.free.try_recv().ok()
        })
    }

    /// One whose times a recording tells.
    pub fn recorded(&self, times: Recorded) -> Box<Launch> {
        Box::new(Launch::new(Source::Recording(times)))
    }

    /// Makes some more launches in the calling thread's context, as long as there are not too many.
    #[cold]
    fn make(&self, calls: &Calls<'_>, context: Context) {
        let Some((number, pool)) = self.pool(context) else { return };
        if self.made.fetch_add(BATCH, Ordering::Relaxed) >= MOST {
            self.made.fetch_sub(BATCH, Ordering::Relaxed);
            return;
        }
        for _ in 0..BATCH {
            let (Some(first), Some(last)) = (calls.create(), calls.create()) else { return };
            let launch = Launch::new(Source::Events { pool: number, first, last });
            let _ = pool.give_back.try_send(Box::new(launch));
        }
    }

    /// A launch is over, or did not begin.
    pub fn give_back(&self, mut launch: Box<Launch>) {
        (launch.kernel, launch.number, launch.after) = (None, 0, 0);
        if let Source::Events { pool, .. } = launch.source
            && let Some(pool) = self.pools.get(pool).and_then(OnceCell::get)
        {
            let _ = pool.give_back.try_send(launch);
        }
    }

    /// Tells the collector. When it hears nothing for long, news are lost: their operations have no time.
    pub fn tell(&self, news: News) {
        if let Err(TrySendError::Full(News::Launched(launch))) = self.news.try_send(news) {
            self.give_back(launch);
        }
    }

    /// What the collector has not heard yet.
    pub fn heard(&self) -> impl Iterator<Item = News> {
        self.inbox.try_iter()
    }
}
