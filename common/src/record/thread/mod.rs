//! What belongs to one thread: its counters, its blocks, and the mark that it is inside a callback.
//!
//! Only the owning thread writes; the collector and Score-P's readers read. So a counter is a load and a store, never a shared
//! read-modify-write. Cells outlive their threads and are handed on, with their counts, to later threads (`cells`).

mod api;
#[cfg(not(loom))]
mod at_hand;
mod cells;
#[cfg(not(loom))]
mod key;
pub(crate) mod launching;

use crate::base::mapping::{self, Zeroed};
use crate::base::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use crate::clock::CLOCK;
use crate::record::pool::{self, BLOCK_SLOTS, Pool};
use crate::record::window::Spare;
use std::sync::atomic::{self, compiler_fence};

pub use cells::MOST_THREADS;
use launching::Launching;

/// Windows whose blocks a thread keeps at hand: those of 64 communicators that were made one after the other.
const CACHE: usize = if cfg!(loom) { 2 } else { 256 };
/// Proxy operations whose last step a thread keeps in mind.
const STEPS: usize = if cfg!(loom) { 2 } else { 16 };
/// Operations of which a thread keeps in mind that a kernel channel has stopped.
const OPERATIONS: usize = if cfg!(loom) { 2 } else { 16 };

/// Where a window's block is kept.
fn place_of(window: u32) -> usize {
    window as usize % CACHE
}

/// A counter with one writer.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds; only the owning thread may.
    #[inline(always)]
    pub fn add(&self, amount: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).saturating_add(amount), Ordering::Relaxed);
    }

    /// Adds one, to what was never added more to at a time: it has no end to reach.
    #[inline(always)]
    pub fn one(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Where the value is; only to be read.
    pub fn value(&self) -> &AtomicU64 {
        &self.0
    }

    /// The value as last written.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A partly used block.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
struct Cached {
    window: AtomicU32,
    block: AtomicU32,
    generation: AtomicU32,
    next: AtomicU32,
}

/// One thread's cell. Counters are since the process began.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
#[repr(align(128))]
pub struct ThreadCell {
    /// Odd while the thread is inside a callback; it never falls.
    section: AtomicU64,
    /// Start callbacks, of whatever type.
    pub events: Count,
    /// Callbacks NCCL made besides.
    pub others: Count,
    /// The clock as the thread has read it last.
    last: AtomicU64,
    /// Events not recorded because the pool was full.
    pub dropped: Count,
    /// Event types this version does not know.
    pub unknown: Count,
    /// Handles and contexts that were stale, stopped or invented.
    pub ignored: Count,
    /// Proxy operations of other processes (PXN).
    pub foreign: Count,
    /// Children without a parent: it was not recorded, or belongs to another process.
    pub parentless: Count,
    /// Operations smaller than what is recorded.
    pub skipped: Count,
    /// Their children.
    pub skipped_children: Count,
    /// Operations enqueued by calls of this thread.
    pub enqueued_ops: Count,
    /// Their bytes.
    pub enqueued_bytes: Count,
    /// Nanoseconds spent inside NCCL's API by this thread.
    pub api_time: Count,
    /// When it went in, 0 outside.
    api_since: AtomicU64,
    /// Up to when the launch of a nested group is counted, 0 without one.
    launch_since: AtomicU64,
    /// Whether a group of calls has ended on the thread.
    has_ended_group: AtomicBool,
    /// The steps started last, by proxy operation: its handle, number of the step, handle of the step.
    steps: [[AtomicU64; 3]; STEPS],
    /// What the thread is launching.
    pub(crate) launching: Launching,
    /// Operations of which a kernel channel stopped last, by handle.
    stopped: [AtomicU64; OPERATIONS],
    cache: [Cached; CACHE],
    owned: AtomicBool,
    /// Its place among all.
    number: AtomicU32,
    /// Its thread's place in the order of first callbacks, from 1 on.
    thread: AtomicU32,
}

/// Set when the kernel cannot fence other threads for us, so callbacks must fence themselves.
static SELF_FENCING: atomic::AtomicBool = atomic::AtomicBool::new(cfg!(loom));

/// The calling thread is inside a callback until this is dropped.
#[derive(Debug)]
pub struct Section<'a>(&'a ThreadCell);

impl Drop for Section<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let section = self.0.section.load(Ordering::Relaxed);
        // even also behind a callback that a handler has made in the midst of this one, whose mark is gone; one instruction, as enter
        // has gone two on
        self.0.section.store(section & !1, Ordering::Release);
    }
}

// SAFETY: atomic integers, flags and pointers are valid as zeros; a cell is never dropped.
unsafe impl Zeroed for ThreadCell {}

impl ThreadCell {
    /// One that no thread has been given, but that counts as given; [`ThreadCell::current`] gives a thread its own. `None` where there is no
    /// memory.
    pub(crate) fn new() -> Option<&'static Self> {
        let cell: &Self = mapping::zeroed()?;
        for cached in &cell.cache {
            cached.window.store(pool::NONE, Ordering::Relaxed);
            cached.next.store(BLOCK_SLOTS, Ordering::Relaxed);
        }
        cell.owned.store(true, Ordering::Relaxed);
        Some(cell)
    }

    /// Callbacks NCCL made.
    pub fn callbacks(&self) -> u64 {
        self.events.get().wrapping_add(self.others.get())
    }

    /// The thread's place in the order of first callbacks, from 1 on.
    pub fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Ticks now.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        let now = CLOCK.now();
        self.last.store(now, Ordering::Relaxed);
        now
    }

    /// Ticks when the thread has read the clock last: near enough where a time only tells which of several was later.
    #[inline(always)]
    pub fn recently(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// Marks the thread as inside a callback. What it reads of windows from here on stays valid until the mark is gone:
    /// the collector waits for that before it takes a window apart (see `grace`).
    #[inline(always)]
    pub fn enter(&self) -> Section<'_> {
        let section = self.section.load(Ordering::Relaxed);
        // odd also behind a callback that a handler has left by siglongjmp, whose mark is still there;
        // a collector that sees this mark, and not the end of the callback before, must see what that one wrote
        self.section.store(section.wrapping_add(2) | 1, Ordering::Release);
        if SELF_FENCING.load(Ordering::Relaxed) {
            fence(Ordering::SeqCst);
        } else {
            // orders for the compiler; the collector's membarrier orders for the processor
            compiler_fence(Ordering::SeqCst);
        }
        Section(self)
    }

    /// The mark of [`ThreadCell::enter`]: odd inside a callback, and never the same in two callbacks.
    pub fn section(&self) -> u64 {
        self.section.load(Ordering::Acquire)
    }

    /// From here on callbacks fence themselves; true when they did not before.
    pub fn fence_yourselves() -> bool {
        !SELF_FENCING.swap(true, Ordering::SeqCst)
    }

    /// The next free place in this thread's block of `window`: (block, place, generation). `None` when it has no such block or
    /// the block is full.
    #[inline(always)]
    pub fn place(&self, pool: &Pool, window: u32) -> Option<(u32, u32, u32)> {
        let cached = &self.cache[place_of(window)];
        let next = cached.next.load(Ordering::Relaxed);
        if cached.window.load(Ordering::Relaxed) != window || next >= BLOCK_SLOTS {
            return None;
        }
        let block = cached.block.load(Ordering::Relaxed);
        let generation = cached.generation.load(Ordering::Relaxed);
        if pool.block(block)?.generation() != generation {
            return None;
        }
        cached.next.store(next + 1, Ordering::Relaxed);
        Some((block, next, generation))
    }

    /// Keeps a block of `window` at hand, from `place` on. Gives the block that made room, with its window, when it has places left.
    pub fn keep(&self, window: u32, Spare { block, place, generation }: Spare) -> Option<(u32, Spare)> {
        let cached = &self.cache[place_of(window)];
        let before = Spare {
            block: cached.block.load(Ordering::Relaxed),
            place: cached.next.load(Ordering::Relaxed),
            generation: cached.generation.load(Ordering::Relaxed),
        };
        let window_before = cached.window.load(Ordering::Relaxed);
        let left = window_before != window && window_before != pool::NONE && before.place < BLOCK_SLOTS;
        // a signal handler may leave this callback at any place: then the thread has no block of either window
        cached.window.store(pool::NONE, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        cached.block.store(block, Ordering::Relaxed);
        cached.generation.store(generation, Ordering::Relaxed);
        cached.next.store(place, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        cached.window.store(window, Ordering::Relaxed);
        left.then_some((window_before, before))
    }

    /// The thread has started a step of a proxy operation.
    #[inline(always)]
    pub fn note_step(&self, proxy: u64, step: u64, handle: u64) {
        let [noted_proxy, noted_step, noted_handle] = &self.steps[proxy as usize % STEPS];
        noted_proxy.store(proxy, Ordering::Relaxed);
        noted_step.store(step, Ordering::Relaxed);
        noted_handle.store(handle, Ordering::Relaxed);
    }

    /// The handle that it got, if that is still known.
    #[inline(always)]
    pub fn noted_step(&self, proxy: u64, step: u64) -> Option<u64> {
        let [noted_proxy, noted_step, handle] = &self.steps[proxy as usize % STEPS];
        let same = noted_proxy.load(Ordering::Relaxed) == proxy && noted_step.load(Ordering::Relaxed) == step;
        same.then(|| handle.load(Ordering::Relaxed))
    }

    /// Whether no other kernel channel of the operation has stopped on this thread, as far as it keeps that in mind; from here on one has.
    #[inline(always)]
    pub fn is_first_to_stop(&self, operation: u64) -> bool {
        let stopped = &self.stopped[operation as usize % OPERATIONS];
        let first = stopped.load(Ordering::Relaxed) != operation;
        stopped.store(operation, Ordering::Relaxed);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_odd_inside_a_callback() {
        let (cell, _) = ThreadCell::current().unwrap();
        let before = cell.section();
        let section = cell.enter();
        let inside = cell.section();
        assert!(before.is_multiple_of(2) && !inside.is_multiple_of(2) && inside > before, "{before} {inside}");
        drop(section);
        assert!(cell.section().is_multiple_of(2));
        // as siglongjmp leaves it
        std::mem::forget(cell.enter());
        let left = cell.section();
        let section = cell.enter();
        // another one, made by a signal handler
        let outer = cell.section();
        let nested = cell.enter();
        let marks = [inside, left, outer, cell.section()];
        assert!(marks.windows(2).all(|pair| pair[0] < pair[1]) && marks.iter().all(|mark| mark % 2 == 1), "{marks:?}");
        drop(nested);
        drop(section);
        assert_eq!(cell.section() % 2, 0);
    }

    #[test]
    fn the_last_step_of_a_proxy_operation_is_kept_in_mind() {
        let cell = ThreadCell::new().unwrap();
        cell.note_step(33, 4, 99);
        assert_eq!(
            [cell.noted_step(33, 4), cell.noted_step(33, 5), cell.noted_step(33 + STEPS as u64, 4)],
            [Some(99), None, None]
        );
    }

    #[test]
    fn one_kernel_channel_of_an_operation_is_the_first_to_stop() {
        let cell = ThreadCell::new().unwrap();
        let other = 33 + OPERATIONS as u64;
        assert_eq!(
            [33, 33, 34, 33, other, other, 33].map(|operation| cell.is_first_to_stop(operation)),
            [true, false, true, false, true, false, true]
        );
    }

    #[test]
    fn places_run_out_and_die_with_their_block() {
        let pool = Pool::new(2 * 4096).unwrap();
        let cell = ThreadCell::new().unwrap();
        assert_eq!(cell.place(&pool, 9), None);
        let block = pool.take().unwrap();
        let generation = pool.block(block).unwrap().generation();
        assert_eq!(cell.keep(9, Spare { block, place: 0, generation }), None);
        assert_eq!(cell.place(&pool, 9), Some((block, 0, generation)));
        assert_eq!(cell.place(&pool, 9 + CACHE as u32), None);
        let other = 9 + CACHE as u32;
        let left = cell.keep(other, Spare { block, place: 5, generation });
        assert_eq!(left, Some((9, Spare { block, place: 1, generation })));
        pool.give_back(block);
        assert_eq!(cell.place(&pool, other), None);
    }
}
