//! The data of one thread: its counters, its blocks, and the mark that it is inside a callback.
//!
//! Only the owning thread writes; the collector and Score-P's readers read. So a counter needs a load and a store,
//! never a shared read-modify-write. Cells outlive their threads and go to later threads with their counts (`cells`).

mod api;
#[cfg(not(loom))]
mod at_hand;
mod blocks;
mod cells;
mod count;
#[cfg(not(loom))]
mod key;
pub(crate) mod launching;
mod noted;
pub mod progress;

use crate::base::mapping::{self, Zeroed};
use crate::base::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use crate::clock::CLOCK;
use blocks::Blocks;
use launching::Launching;
use noted::Noted;
use progress::Progress;
use std::sync::atomic::{self, compiler_fence};

pub use cells::MOST_THREADS;
pub use count::Count;

/// One thread's cell. Its counters run since the process began.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
#[repr(align(128))]
pub struct ThreadCell {
    /// Odd while the thread is inside a callback, and greater in each callback than in those before.
    section: AtomicU64,
    /// Start callbacks, of all event types.
    pub events: Count,
    /// All other callbacks.
    pub others: Count,
    /// The thread's last reading of the clock.
    last: AtomicU64,
    /// Events dropped because the pool was full.
    pub dropped: Count,
    /// Events of types that this version does not know.
    pub unknown: Count,
    /// Handles and contexts that were stale, stopped or invented.
    pub ignored: Count,
    /// Proxy operations of other processes (PXN).
    pub foreign: Count,
    /// Children whose parent was not recorded.
    pub parentless: Count,
    /// Operations below the smallest size that is recorded.
    pub skipped: Count,
    /// Children of skipped operations, and of operations whose begin was not reported when event types were switched.
    pub skipped_children: Count,
    /// Operations enqueued by calls of this thread.
    pub enqueued_ops: Count,
    /// Bytes of the operations enqueued by calls of this thread.
    pub enqueued_bytes: Count,
    /// Nanoseconds spent inside NCCL's API by this thread.
    pub api_time: Count,
    /// Time at which the thread entered NCCL's API, ticks; 0 outside.
    api_since: AtomicU64,
    /// Time up to which the launch of an outer group's kernel is counted, ticks; 0 without such a launch.
    launch_since: AtomicU64,
    /// Whether a group of calls has ended on the thread.
    has_ended_group: AtomicBool,
    /// The launch under way on the thread.
    pub(crate) launching: Launching,
    /// The thread's last events, as far as later events depend on them.
    pub(crate) noted: Noted,
    /// The blocks for the thread's next events.
    pub(crate) blocks: Blocks,
    /// The states of a thread that progresses proxy operations.
    pub progress: Progress,
    owned: AtomicBool,
    /// Place of the cell among all cells.
    number: AtomicU32,
    /// Place of the thread in the order of first callbacks, from 1 on.
    thread: AtomicU32,
    /// The system's number of the thread; 0 before its first callback.
    system_id: AtomicU32,
    /// The thread's handle in the C library; 0 before its first callback.
    handle: AtomicU64,
}

/// Set when the kernel cannot fence other threads, so that callbacks must fence themselves.
static SELF_FENCING: atomic::AtomicBool = atomic::AtomicBool::new(cfg!(loom));

/// Marks the calling thread as inside a callback until this is dropped.
#[derive(Debug)]
pub struct Section<'a>(&'a ThreadCell);

impl Drop for Section<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let section = self.0.section.load(Ordering::Relaxed);
        // clears the bit, since a signal handler's callback within this one may have cleared it already; one
        // instruction, because `enter` adds 2
        self.0.section.store(section & !1, Ordering::Release);
    }
}

// SAFETY: a cell is atomic integers, flags and pointers, which are valid as zeros; it is never dropped.
unsafe impl Zeroed for ThreadCell {}

impl ThreadCell {
    /// Makes a cell that counts as owned and belongs to no thread. [`ThreadCell::current`] gives a thread its own.
    /// `None` where there is no memory.
    pub(crate) fn new() -> Option<&'static Self> {
        let cell: &Self = mapping::zeroed()?;
        cell.blocks.begin();
        cell.owned.store(true, Ordering::Relaxed);
        Some(cell)
    }

    /// Returns the number of callbacks.
    pub fn callbacks(&self) -> u64 {
        self.events.get().wrapping_add(self.others.get())
    }

    /// Returns the thread's place in the order of first callbacks, from 1 on.
    pub fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Returns the system's number of the thread; `None` if the thread has given the cell up. It may have ended all the
    /// same.
    pub fn system_id(&self) -> Option<u32> {
        let thread = self.system_id.load(Ordering::Relaxed);
        (thread != 0 && self.owned.load(Ordering::Relaxed)).then_some(thread)
    }

    /// Returns the thread's `pthread_t`, which may be another thread's since.
    pub fn handle(&self) -> Option<u64> {
        Some(self.handle.load(Ordering::Relaxed)).filter(|&handle| handle != 0)
    }

    /// Returns whether the thread has enqueued operations.
    pub fn has_launched(&self) -> bool {
        self.enqueued_ops.get() > 0
    }

    /// Reads the clock and returns its ticks.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        let now = CLOCK.now();
        self.last.store(now, Ordering::Relaxed);
        now
    }

    /// Returns the thread's last reading of the clock: precise enough where a time only orders events.
    #[inline(always)]
    pub fn recently(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// Marks the thread as inside a callback. Whatever it reads of windows stays valid until the mark is gone, because
    /// the collector waits for that before it takes a window apart (see `grace`).
    #[inline(always)]
    pub fn enter(&self) -> Section<'_> {
        let section = self.section.load(Ordering::Relaxed);
        // odd also inside a callback that a signal handler has interrupted to make this one; Release: a collector that
        // sees this mark, but did not see the end of the previous callback, must see that callback's writes
        self.section.store(section.wrapping_add(2) | 1, Ordering::Release);
        if SELF_FENCING.load(Ordering::Relaxed) {
            fence(Ordering::SeqCst);
        } else {
            // orders for the compiler; the collector's membarrier orders for the processor
            compiler_fence(Ordering::SeqCst);
        }
        Section(self)
    }

    /// Returns the mark of [`ThreadCell::enter`]: odd inside a callback, and never the same in two callbacks.
    pub fn section(&self) -> u64 {
        self.section.load(Ordering::Acquire)
    }

    /// Makes callbacks fence themselves from now on. Returns true if they did not before.
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
        let section = cell.enter();
        // another callback, made by a signal handler
        let outer = cell.section();
        let nested = cell.enter();
        let marks = [inside, outer, cell.section()];
        assert!(marks.windows(2).all(|pair| pair[0] < pair[1]) && marks.iter().all(|mark| mark % 2 == 1), "{marks:?}");
        drop(nested);
        drop(section);
        assert_eq!(cell.section() % 2, 0);
    }
}
