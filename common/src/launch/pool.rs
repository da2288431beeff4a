//! Launches that are free, with their events: some for each context of CUDA's, made where they are used and used again.
//!
//! An event belongs to the context that it was made in, so it is made on a thread that launches there. When a context's
//! last communicator ends, its events are destroyed: what the program does with the context after that, such as
//! `cudaDeviceReset`, must not find us asking about them. Where it does so before, the context has another number
//! (`Calls::id`), and the events of before are forgotten.

use super::{Launch, News, Recorded, Source, Starts};
use crate::launch::cuda::{Calls, Context, Driver, Look};
use crossbeam_queue::ArrayQueue;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Launches of a context that may be under way, about: those beyond have no time.
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
    /// The context's number plus one when a communicator began there last; 0 where nobody can tell.
    id: AtomicU64,
    free: ArrayQueue<Box<Launch>>,
    /// Launches that were made and not given up.
    made: AtomicUsize,
    /// Communicators that live there.
    communicators: AtomicUsize,
    /// How often the last one has ended: launches of before are not used again.
    generation: AtomicU32,
}

impl Pool {
    fn new(context: Context) -> Self {
        let [made, communicators] = [const { AtomicUsize::new(0) }; 2];
        Self {
            context,
            id: AtomicU64::new(0),
            free: ArrayQueue::new(MOST),
            made,
            communicators,
            generation: AtomicU32::new(0),
        }
    }

    /// The context's number, if somebody could tell.
    fn id(&self) -> Option<u64> {
        self.id.load(Ordering::Acquire).checked_sub(1)
    }

    /// A communicator begins in the context of that number: where it is another than before, its events are gone.
    fn begin(&self, id: Option<u64>) {
        let id = id.map_or(0, |id| id.wrapping_add(1));
        if self.id.swap(id, Ordering::AcqRel) != id {
            self.forget();
        }
    }

    /// What is free until then.
    fn take_all(&self) -> impl Iterator<Item = Box<Launch>> {
        std::iter::from_fn(|| self.free.pop())
    }

    /// The events are used no more, nor asked about, nor destroyed.
    fn forget(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        let forgotten = self.take_all().count();
        self.made.fetch_sub(forgotten, Ordering::Relaxed);
    }
}

/// All launches of the process: where they come from, and where they go.
#[derive(Debug)]
pub struct Launches {
    driver: OnceLock<Option<Driver>>,
    /// Set while launches are to be timed by events.
    on: AtomicBool,
    /// Set once a recording tells when kernels ran, in the events' place.
    replays: AtomicBool,
    pools: Box<[OnceLock<Pool>]>,
    /// Set once the collector could not be told of a launch.
    lost: AtomicBool,
    /// To the collector.
    news: ArrayQueue<News>,
}

impl Default for Launches {
    fn default() -> Self {
        Self {
            driver: OnceLock::new(),
            on: AtomicBool::new(false),
            replays: AtomicBool::new(false),
            pools: (0..CONTEXTS).map(|_| OnceLock::new()).collect(),
            lost: AtomicBool::new(false),
            news: ArrayQueue::new(NEWS),
        }
    }
}

impl Launches {
    /// A communicator begins whose launches are to be timed by events: looks the driver up, once, and makes the first
    /// events where a context is current. Not for the hot path.
    ///
    /// Gives the number of the context's pool, for [`Launches::leave`].
    pub fn begin(&self) -> Option<u32> {
        let driver = self.driver.get_or_init(Driver::look_up).as_ref()?;
        // after a failure launches are told of, as those that CUDA does not time
        self.on.store(!driver.is_over() || driver.has_failed(), Ordering::Relaxed);
        let calls = driver.calls()?;
        let context = calls.context()?;
        let (number, pool) = self.pool(context)?;
        pool.begin(calls.id(context));
        pool.communicators.fetch_add(1, Ordering::AcqRel);
        if pool.free.is_empty() {
            self.make(&calls, context);
        }
        Some(number as u32)
    }

    /// A communicator has ended whose context has that pool. True when it was the last one there: then the pool is to
    /// be closed.
    pub fn leave(&self, pool: u32) -> bool {
        let pool = self.pools.get(pool as usize).and_then(OnceLock::get);
        pool.is_some_and(|pool| pool.communicators.fetch_sub(1, Ordering::AcqRel) == 1)
    }

    /// Destroys a pool's events, and those of the launches that were `left`. The collector calls this, which asks about
    /// none of them any more.
    pub fn close(&self, number: u32, left: Vec<Box<Launch>>) {
        let Some(pool) = self.pools.get(number as usize).and_then(OnceLock::get) else { return };
        if pool.communicators.load(Ordering::Acquire) > 0 {
            // another one came meanwhile
            return left.into_iter().for_each(|launch| self.give_back(launch));
        }
        let look = self.driver().and_then(Driver::look);
        if !look.as_ref().is_some_and(|look| look.is_there(pool.context, pool.id())) {
            let left = left.len();
            pool.made.fetch_sub(left, Ordering::Relaxed);
            return pool.forget();
        }
        pool.generation.fetch_add(1, Ordering::AcqRel);
        let relaxed = look.as_ref().and_then(Look::relaxed);
        for launch in pool.take_all().chain(left) {
            pool.made.fetch_sub(1, Ordering::Relaxed);
            if let (Source::Events { first, last, .. }, Some(relaxed)) = (launch.source, &relaxed) {
                relaxed.destroy(first);
                relaxed.destroy(last);
            }
        }
    }

    /// Looks whether the context of that pool is there as it was. If not, its launches are of before from here on.
    pub fn find_again(&self, pool: usize, look: &Look<'_>) {
        if let Some(pool) = self.pools.get(pool).and_then(OnceLock::get)
            && !look.is_there(pool.context, pool.id())
        {
            pool.forget();
        }
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
        pool.free.pop().or_else(|| {
            self.make(calls, context);
            pool.free.pop()
        })
    }

    /// One whose times a recording tells; its callback comes now, in ticks.
    pub fn recorded(&self, times: Recorded, now: u64) -> Box<Launch> {
        Box::new(Launch { before: times.at.max(now), ..Launch::new(Source::Recording(times)) })
    }

    /// Makes some more launches in the calling thread's context, as long as there are not too many.
    #[cold]
    fn make(&self, calls: &Calls<'_>, context: Context) {
        let Some((number, pool)) = self.pool(context) else { return };
        if pool.made.fetch_add(BATCH, Ordering::Relaxed) >= MOST {
            pool.made.fetch_sub(BATCH, Ordering::Relaxed);
            return;
        }
        let Some(relaxed) = calls.relaxed() else { return };
        for _ in 0..BATCH {
            let (Some(first), Some(last)) = (relaxed.create(), relaxed.create()) else { return };
            let generation = pool.generation.load(Ordering::Acquire);
            let launch = Launch::new(Source::Events { pool: number, generation, first, last });
            let _ = pool.free.push(Box::new(launch));
        }
    }

    /// A launch is over, or did not begin.
    pub fn give_back(&self, mut launch: Box<Launch>) {
        (launch.kernel, launch.number, launch.after, launch.starts) = (None, 0, 0, Starts::AtReturn);
        if let Source::Events { pool, generation, .. } = launch.source
            && let Some(pool) = self.pools.get(pool).and_then(OnceLock::get)
        {
            if pool.generation.load(Ordering::Acquire) == generation {
                let _ = pool.free.push(launch);
            } else {
                // its context may be gone, and its events with it
                pool.made.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Whether its pool was closed since it was made, or its context reset: CUDA is asked about its events no more.
    pub fn are_of_before(&self, launch: &Launch) -> bool {
        let Source::Events { pool, generation, .. } = launch.source else { return false };
        let pool = self.pools.get(pool).and_then(OnceLock::get);
        pool.is_none_or(|pool| pool.generation.load(Ordering::Acquire) != generation)
    }

    /// Tells the collector. When it hears nothing for long, news are lost: their operations have no time.
    pub fn tell(&self, news: News) {
        let Err(news) = self.news.push(news) else { return };
        self.lost.store(true, Ordering::Relaxed);
        if let News::Launched(launch) = news {
            self.give_back(launch);
        }
    }

    /// Whether the collector could once not be told.
    pub fn have_lost_news(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// What the collector has not heard yet.
    pub fn heard(&self) -> impl Iterator<Item = News> {
        std::iter::from_fn(|| self.news.pop())
    }
}
