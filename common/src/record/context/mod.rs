//! Contexts: the data of a communicator that its callbacks need. NCCL gets a context's number, never its address.

mod stamping;
mod stamps;
pub mod switching;

use crate::base::mapping::{Mapping, Zeroed};
use crate::base::sync::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Mutex, Ordering};
use crate::event::handle::{GENERATION_BITS, Handle};
use crate::record::window::{WINDOWS, Window, WindowState};
use stamps::Stamping;
use std::io;
use std::sync::PoisonError;

/// Most communicators that can be alive at a time in one process. Communicators beyond that are not recorded.
pub const MOST: usize = if cfg!(loom) { 1 } else { 4096 };

/// Fields that change with every operation and call. They have a cache line of their own, because threads that record
/// children read the context's other fields all the time.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
#[repr(align(64))]
struct StartOrders {
    /// Operations and API calls started so far: the order of their starts.
    next: AtomicU64,
    /// Place in the order of the first operation or call that found no room; `u64::MAX` for none.
    lost: AtomicU64,
}

/// One rank of one communicator, for its callbacks. All zero is a dead one.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
#[repr(align(64))]
pub struct Context {
    /// Generation while NCCL may start events; 0 when the communicator is dead.
    live: AtomicU32,
    /// Generation while children of its operations may still come; 0 after that.
    known: AtomicU32,
    /// The window that takes new events, 0 to 3.
    filling: AtomicU32,
    orders: StartOrders,
    api_calls: AtomicBool,
    /// This process' rank in it; valid once `told` is set.
    rank: AtomicI32,
    told: AtomicBool,
    windows: [Window; WINDOWS as usize],
    stamping: Stamping,
}

// SAFETY: a context is atomic integers and flags, which are valid as zeros and have no drop.
unsafe impl Zeroed for Context {}

impl Context {
    /// Returns whether NCCL reports API calls. If not, operations stand in for them.
    pub fn has_api_calls(&self) -> bool {
        self.api_calls.load(Ordering::Relaxed)
    }

    /// Returns this process' rank, if it is known.
    pub fn rank(&self) -> Option<i32> {
        self.told.load(Ordering::Acquire).then(|| self.rank.load(Ordering::Relaxed))
    }

    /// Stores the rank. Returns true for the first call.
    pub fn tell(&self, rank: i32) -> bool {
        self.rank.store(rank, Ordering::Relaxed);
        !self.told.swap(true, Ordering::AcqRel)
    }

    /// Returns the place of the next operation or call in the order of starts, and counts it.
    pub fn next_order(&self) -> u64 {
        self.orders.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes no new events from now on.
    pub fn die(&self) {
        self.live.store(0, Ordering::Release);
    }

    /// Notes that an operation or call found no room at this place in the order.
    pub fn lose(&self) {
        self.orders.lost.fetch_min(self.orders.next.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Returns the place in the order from which operations or calls may be missing.
    pub fn lost_from(&self) -> Option<u64> {
        Some(self.orders.lost.load(Ordering::Relaxed)).filter(|&order| order != u64::MAX)
    }

    /// Takes no more children of its operations from now on, except in their parents' windows.
    pub fn forget(&self) {
        self.known.store(0, Ordering::Release);
    }

    /// Returns the index of the window that takes new events.
    #[inline(always)]
    pub fn filling(&self) -> u32 {
        self.filling.load(Ordering::Acquire) % WINDOWS
    }

    /// Returns one of the four windows.
    #[inline(always)]
    pub fn window(&self, index: u32) -> &Window {
        &self.windows[(index % WINDOWS) as usize]
    }

    /// Closes the FILLING window `from` and opens another one. Returns true for the one caller that did it. If no
    /// window is READY, `from` goes on filling: a longer window is better than a lost event.
    pub fn rotate(&self, from: u32, now: u64) -> bool {
        let from = from % WINDOWS;
        let next = (1..WINDOWS)
            .map(|step| (from + step) % WINDOWS)
            .find(|&next| self.window(next).change(WindowState::Ready, WindowState::Filling));
        let Some(next) = next else { return false };
        self.window(next).open_at(now);
        if self.filling.compare_exchange(from, next, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            self.window(next).change(WindowState::Filling, WindowState::Ready);
            return false;
        }
        self.window(from).change(WindowState::Filling, WindowState::Closing)
    }
}

/// All contexts of the process.
#[derive(Debug)]
pub struct Contexts {
    all: Mapping<Context>,
    /// Dead contexts for reuse, with their last generation; and the number of contexts ever used.
    dead: Mutex<(Vec<(u32, u32)>, u32)>,
}

impl Contexts {
    /// Makes room for [`MOST`] contexts.
    ///
    /// # Errors
    /// When the system refuses the address space.
    pub fn new() -> io::Result<Self> {
        // all the memory now: the collector must not stop because memory has run out while it holds the lock
        Ok(Self { all: Mapping::new(MOST)?, dead: Mutex::new((Vec::with_capacity(MOST), 0)) })
    }

    /// Makes a context alive and opens its first window at `now`. `None` when all contexts are in use.
    pub fn open(&self, api_calls: bool, now: u64) -> Option<Handle> {
        let (index, generation) = {
            let mut dead = self.dead.lock().unwrap_or_else(PoisonError::into_inner);
            match dead.0.pop() {
                Some((index, last)) => (index, ((last + 1) & ((1 << GENERATION_BITS) - 1)).max(1)),
                None if (dead.1 as usize) < MOST => {
                    dead.1 += 1;
                    (dead.1 - 1, 1)
                }
                None => return None,
            }
        };
        let context = self.at(index)?;
        context.orders.next.store(0, Ordering::Relaxed);
        context.orders.lost.store(u64::MAX, Ordering::Relaxed);
        context.api_calls.store(api_calls, Ordering::Relaxed);
        context.told.store(false, Ordering::Relaxed);
        context.filling.store(0, Ordering::Relaxed);
        context.window(0).open_at(now);
        context.window(0).change(WindowState::Ready, WindowState::Filling);
        context.known.store(generation, Ordering::Release);
        context.live.store(generation, Ordering::Release);
        Some(Handle::new(index, generation))
    }

    /// Returns the living context that a number from NCCL names, and its index. `None` for NULL and for foreign and
    /// dead numbers.
    #[inline]
    pub fn find(&self, raw: u64) -> Option<(&Context, u32)> {
        let id = Handle::parse_context(raw)?;
        let context = self.at(id.index())?;
        // generation 0 marks dead contexts
        let alive = id.generation() != 0 && context.live.load(Ordering::Acquire) == id.generation();
        alive.then_some((context, id.index()))
    }

    /// Like [`Contexts::find`], but also after the context's end while children of its operations may come.
    #[inline]
    pub fn find_for_child(&self, raw: u64) -> Option<(&Context, u32)> {
        let id = Handle::parse_context(raw)?;
        let context = self.at(id.index())?;
        let known = id.generation() != 0 && context.known.load(Ordering::Acquire) == id.generation();
        known.then_some((context, id.index()))
    }

    /// Takes no new events for the context from now on. Returns its handle for the first call.
    pub fn end(&self, raw: u64) -> Option<Handle> {
        let (context, _) = self.find(raw)?;
        let generation = context.live.swap(0, Ordering::AcqRel);
        Handle::parse_context(raw).filter(|_| generation != 0)
    }

    /// Lets a context be used again. The collector calls this once all its windows are READY.
    pub fn release(&self, index: u32, generation: u32) {
        let mut dead = self.dead.lock().unwrap_or_else(PoisonError::into_inner);
        dead.0.push((index, generation));
    }

    /// Returns the context of that index, dead or alive.
    #[inline(always)]
    pub fn at(&self, index: u32) -> Option<&Context> {
        self.all.get(index as usize)
    }

    /// Returns the window of that number: 4 times the context's index, plus the window's index.
    #[inline(always)]
    pub fn window(&self, number: u32) -> Option<&Window> {
        Some(self.at(number / WINDOWS)?.window(number % WINDOWS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_lives_from_open_to_end() {
        let contexts = Contexts::new().unwrap();
        let id = contexts.open(true, 5).unwrap();
        let (context, index) = contexts.find(id.raw()).unwrap();
        assert!(context.has_api_calls());
        assert_eq!(context.window(0).state(), WindowState::Filling);
        assert_eq!(context.window(0).opened(), 5);
        assert_eq!((contexts.end(id.raw()), index), (Some(id), id.index()));
        assert_eq!(contexts.end(id.raw()), None);
        assert!(contexts.find(id.raw()).is_none());
    }

    #[test]
    fn a_released_context_comes_back_under_another_number() {
        let contexts = Contexts::new().unwrap();
        let first = contexts.open(true, 0).unwrap();
        contexts.end(first.raw());
        contexts.release(first.index(), first.generation());
        let second = contexts.open(true, 0).unwrap();
        assert_eq!(first.index(), second.index());
        assert_ne!(first, second);
        assert!(contexts.find(first.raw()).is_none());
    }

    #[test]
    fn there_are_no_more_than_most() {
        let contexts = Contexts::new().unwrap();
        assert_eq!(std::iter::from_fn(|| contexts.open(true, 0)).count(), MOST);
    }

    #[test]
    fn windows_rotate_until_none_is_ready() {
        let contexts = Contexts::new().unwrap();
        let id = contexts.open(true, 0).unwrap();
        let (context, _) = contexts.find(id.raw()).unwrap();
        assert!(context.rotate(0, 10));
        assert!(!context.rotate(0, 10), "window 0 no longer fills");
        assert!(context.rotate(1, 20) && context.rotate(2, 30));
        assert!(!context.rotate(3, 40), "none is READY");
        assert_eq!((context.filling(), context.window(3).state()), (3, WindowState::Filling));
        context.window(1).change(WindowState::Closing, WindowState::Processing);
        context.window(1).change(WindowState::Processing, WindowState::Ready);
        assert!(context.rotate(3, 50));
        assert_eq!(context.filling(), 1);
    }
}
