//! What belongs to one thread: its counters, its blocks, and the mark that it is inside a callback.
//!
//! Only the owning thread writes; the collector and Score-P's readers read. So a counter is a load and a store, never a
//! shared read-modify-write. Cells outlive their threads and are handed on, with their counts, to later threads
//! (`cells`).

mod api;
#[cfg(not(loom))]
mod at_hand;
mod blocks;
mod cells;
#[cfg(not(loom))]
mod key;
pub(crate) mod launching;
mod noted;

use crate::base::mapping::{self, Zeroed};
use crate::base::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use crate::clock::CLOCK;
use blocks::Blocks;
use launching::Launching;
use noted::Noted;
use std::sync::atomic::{self, compiler_fence};

pub use cells::MOST_THREADS;

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
    /// What the thread is launching.
    pub(crate) launching: Launching,
    /// What it keeps in mind of its last events.
    pub(crate) noted: Noted,
    /// Where its next events go.
    pub(crate) blocks: Blocks,
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
        // even also behind a callback that a handler has made in the midst of this one, whose mark is gone; one
        // instruction, as enter has gone two on
        self.0.section.store(section & !1, Ordering::Release);
    }
}

// SAFETY: atomic integers, flags and pointers are valid as zeros; a cell is never dropped.
unsafe impl Zeroed for ThreadCell {}

impl ThreadCell {
    /// One that no thread has been given, but that counts as given; [`ThreadCell::current`] gives a thread its own.
    /// `None` where there is no memory.
    pub(crate) fn new() -> Option<&'static Self> {
        let cell: &Self = mapping::zeroed()?;
        cell.blocks.begin();
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
}
