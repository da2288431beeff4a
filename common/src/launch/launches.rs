//! All launches of the process: the pools of their contexts, and the queue to the collector.

use super::at_launch::AtLaunch;
use super::own_stream::OwnStream;
use super::pool::{MOST, Pool};
use super::{Launch, LaunchSource, News, Recorded, Starts};
use crate::launch::cuda::{CudaCalls, CudaContext, Driver, Look};
use crossbeam_queue::ArrayQueue;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Most captured launches with events, for each context. Events of a graph are never given back.
const MOST_CAPTURED: usize = 256;
/// Launches that are made at a time.
const BATCH: usize = 64;
/// Most CUDA contexts: one for each GPU that the process uses.
const CONTEXTS: usize = 64;
/// Most news on their way to the collector.
const NEWS: usize = 4 * MOST;

/// All launches of the process: their pools, and the queue to the collector.
#[derive(Debug)]
pub struct Launches {
    driver: OnceLock<Option<Driver>>,
    /// Set while launches are timed.
    on: AtomicBool,
    /// Set once a recording gives the times of kernels, instead of events.
    replays: AtomicBool,
    pools: Box<[OnceLock<Box<Pool>>]>,
    /// Set once news of a launch were lost.
    lost: AtomicBool,
    /// Captured launches so far that events could time.
    captures: AtomicU64,
    /// News for the collector.
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
            captures: AtomicU64::new(0),
            news: ArrayQueue::new(NEWS),
        }
    }
}

impl Launches {
    /// Handles the begin of a communicator whose launches are to be timed by events. Looks the driver up, once, and
    /// makes the first events where a context is current. Not for the hot path.
    ///
    /// Returns the number of the context's pool, for [`Launches::leave`].
    pub fn begin(&self) -> Option<u32> {
        let driver = self.driver.get_or_init(Driver::look_up).as_ref()?;
        // after a failure launches are still reported, as launches that CUDA does not time
        self.on.store(!driver.is_over() || driver.has_failed(), Ordering::Relaxed);
        let calls = driver.calls()?;
        let context = calls.context()?;
        let (number, pool) = self.pool(context)?;
        pool.begin(calls.id(context));
        pool.communicators.fetch_add(1, Ordering::AcqRel);
        if pool.free.is_empty() {
            self.make(&calls, context);
        }
        pool.make_own(&calls);
        Some(number as u32)
    }

    /// Handles the end of a communicator with that pool. Returns true if it was the pool's last communicator: then the
    /// pool is to be closed.
    pub fn leave(&self, pool: u32) -> bool {
        let pool = self.at(pool as usize);
        pool.is_some_and(|pool| pool.communicators.fetch_sub(1, Ordering::AcqRel) == 1)
    }

    /// Returns the pool with that number.
    fn at(&self, number: usize) -> Option<&Pool> {
        Some(self.pools.get(number)?.get()?)
    }

    /// Returns the present generation of a pool.
    pub fn generation(&self, pool: u32) -> u32 {
        self.at(pool as usize).map_or(0, Pool::generation)
    }

    /// Gives up a pool's events of a generation, and waits until the collector has left its look at events. Returns
    /// whether it has: then it asks CUDA about none of them any more. Otherwise it is within a call of CUDA's.
    pub fn abandon(&self, pool: u32, generation: u32, patience: Duration) -> bool {
        if let Some(pool) = self.at(pool as usize) {
            pool.forget(generation);
        }
        self.driver().is_none_or(|driver| driver.wait_for_look(patience))
    }

    /// Destroys a pool's events of a generation and its own stream, and those that are `left`. The collector calls this,
    /// after which it asks about none of them.
    pub fn close(&self, number: u32, generation: u32, (left, own): (Vec<Box<Launch>>, Option<OwnStream>)) {
        let Some(pool) = self.at(number as usize) else { return };
        // before the generation is read: who abandons it waits for this look
        let look = self.driver().and_then(Driver::look);
        if pool.communicators.load(Ordering::Acquire) > 0 || pool.generation() != generation {
            // a communicator has begun there meanwhile, or the generation was abandoned
            own.into_iter().for_each(|own| self.give_back_own(number as usize, own));
            return left.into_iter().for_each(|launch| self.give_back(launch));
        }
        if !look.as_ref().is_some_and(|look| look.is_there(pool.context, pool.id())) {
            let left = left.len();
            pool.made.fetch_sub(left, Ordering::Relaxed);
            return pool.forget(generation);
        }
        let next = generation.wrapping_add(1);
        let is_closed = pool.generation.compare_exchange(generation, next, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        // those of an earlier generation went with their context
        let is_there = |of: u32| is_closed && of == generation;
        let relaxed = look.as_ref().and_then(Look::relaxed);
        for launch in std::iter::from_fn(|| pool.free.pop()).chain(left) {
            pool.made.fetch_sub(1, Ordering::Relaxed);
            if let (LaunchSource::Events { generation: of, first, last, .. }, Some(relaxed)) = (launch.source, &relaxed)
                && is_there(of)
            {
                relaxed.destroy(first);
                relaxed.destroy(last);
            }
        }
        if let (Some(own), Some(relaxed)) = (own.or_else(|| pool.own.pop()), &relaxed)
            && is_there(own.generation)
        {
            own.destroy(relaxed);
        }
    }

    /// Takes the library's own stream in the context of a pool, if it has one.
    pub fn take_own(&self, pool: usize) -> Option<OwnStream> {
        self.at(pool)?.own.pop()
    }

    /// Returns the anchor of a pool that a launching thread is to make.
    pub(super) fn at_launch(&self, pool: usize) -> Option<&AtLaunch> {
        Some(&self.at(pool)?.at_launch)
    }

    /// Makes the anchor in the context of a pool, if one is wanted. The calling thread has launched there.
    #[inline]
    pub fn make_anchor(&self, pool: usize, calls: &CudaCalls<'_>) {
        if let Some(pool) = self.at(pool) {
            pool.at_launch.make(pool.generation(), calls);
        }
    }

    /// Takes it back, unless the pool was closed or its context reset since it was made.
    fn give_back_own(&self, pool: usize, own: OwnStream) {
        if let Some(pool) = self.at(pool)
            && pool.generation() == own.generation
        {
            let _ = pool.own.push(own);
        }
    }

    /// Returns whether the pool was closed or its context reset since it had that generation. CUDA must not be asked
    /// about events and streams from before.
    pub fn is_of_before(&self, pool: usize, generation: u32) -> bool {
        let pool = self.at(pool);
        pool.is_none_or(|pool| pool.generation() != generation)
    }

    /// Checks that the context of a pool is still the same. If not, the pool forgets its launches.
    pub fn find_again(&self, pool: usize, look: &Look<'_>) {
        let Some(pool) = self.at(pool) else { return };
        // read before the context's number: a communicator that begins there meanwhile makes a later generation
        let generation = pool.generation();
        if !look.is_there(pool.context, pool.id()) {
            pool.forget(generation);
        }
    }

    /// Returns whether launches are timed, by events or by a recording.
    #[inline]
    pub fn are_timed(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Takes the times of kernels from a recording from now on.
    pub fn replay(&self) {
        self.replays.store(true, Ordering::Relaxed);
        self.on.store(true, Ordering::Relaxed);
    }

    /// Returns whether a recording gives the times of kernels.
    pub fn are_replayed(&self) -> bool {
        self.replays.load(Ordering::Relaxed)
    }

    /// Returns the driver, once a communicator has begun in a process that has it loaded.
    pub fn driver(&self) -> Option<&Driver> {
        self.driver.get()?.as_ref()
    }

    /// Stops timing launches by events, and makes no more calls of CUDA.
    pub fn end(&self) {
        if let Some(driver) = self.driver() {
            driver.end();
        }
        if !self.are_replayed() {
            self.on.store(false, Ordering::Relaxed);
        }
    }

    /// Returns the context's pool and its number; `None` when there are too many contexts.
    fn pool(&self, context: CudaContext) -> Option<(usize, &Pool)> {
        self.pools.iter().enumerate().find_map(|(number, place)| {
            let pool = &**place.get_or_init(|| Box::new(Pool::new(context)));
            (pool.context == context).then_some((number, pool))
        })
    }

    /// Takes a free launch of the calling thread's context, or makes some. `None` when too many are under way.
    pub fn take(&self, calls: &CudaCalls<'_>) -> Option<Box<Launch>> {
        let context = calls.context()?;
        let (_, pool) = self.pool(context)?;
        pool.take().or_else(|| {
            self.make(calls, context);
            pool.take()
        })
    }

    /// Returns whether the next captured launch gets events, where one in `one_in` does.
    pub fn is_capture_chosen(&self, one_in: u32) -> bool {
        self.captures.fetch_add(1, Ordering::Relaxed).is_multiple_of(one_in.max(1).into())
    }

    /// Makes a launch of the calling thread's context for a graph: its events have no time yet. `None` when too many
    /// are in graphs.
    pub fn make_for_graph(&self, calls: &CudaCalls<'_>) -> Option<Box<Launch>> {
        let (number, pool) = self.pool(calls.context()?)?;
        if pool.captured.fetch_add(1, Ordering::Relaxed) >= MOST_CAPTURED {
            pool.captured.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let mut launch = pool.make(number, &calls.relaxed()?)?;
        launch.starts = Starts::InGraph;
        Some(launch)
    }

    /// Makes a launch whose times come from a recording. Its callback comes at `now`, ticks.
    pub fn recorded(&self, times: Recorded, now: u64) -> Box<Launch> {
        Box::new(Launch { before: times.at.max(now), ..Launch::new(LaunchSource::Recording(times)) })
    }

    /// Makes a batch of launches in the calling thread's context, unless there are too many.
    #[cold]
    fn make(&self, calls: &CudaCalls<'_>, context: CudaContext) {
        let Some((number, pool)) = self.pool(context) else { return };
        if pool.made.fetch_add(BATCH, Ordering::Relaxed) >= MOST {
            pool.made.fetch_sub(BATCH, Ordering::Relaxed);
            return;
        }
        let Some(relaxed) = calls.relaxed() else { return };
        for _ in 0..BATCH {
            let Some(launch) = pool.make(number, &relaxed) else { return };
            let _ = pool.free.push(launch);
        }
    }

    /// Takes a launch back that is over or did not begin.
    pub fn give_back(&self, mut launch: Box<Launch>) {
        if launch.starts == Starts::InGraph {
            // its events are the graph's for good
            return;
        }
        (launch.kernel, launch.number, launch.after, launch.starts) = (None, 0, 0, Starts::AtReturn);
        launch.is_reached = false;
        if let LaunchSource::Events { pool, generation, .. } = launch.source
            && let Some(pool) = self.at(pool)
        {
            if pool.generation() == generation {
                let _ = pool.free.push(launch);
            } else {
                // its context may be gone, and its events with it
                pool.made.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Returns whether the launch's pool was closed or its context reset since the launch was made. CUDA must not be
    /// asked about its events any more.
    pub fn are_of_before(&self, launch: &Launch) -> bool {
        matches!(launch.source, LaunchSource::Events { pool, generation, .. } if self.is_of_before(pool, generation))
    }

    /// Passes news to the collector. If the collector takes none for long, news are lost, and their operations get no
    /// time.
    pub fn tell(&self, news: News) {
        let Err(news) = self.news.push(news) else { return };
        self.lose_news();
        if let News::Launched(launch) = news {
            self.give_back(launch);
        }
    }

    /// Notes that news were lost.
    pub fn lose_news(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Returns whether news were lost.
    pub fn have_lost_news(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Takes the news that the collector has not taken yet.
    pub fn heard(&self) -> impl Iterator<Item = News> {
        (0..self.news.len()).map_while(|_| self.news.pop())
    }
}
