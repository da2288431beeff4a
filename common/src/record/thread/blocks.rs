//! The blocks that a thread fills: it keeps one block at hand for each window that it records in.

use crate::base::sync::{AtomicU32, Ordering};
use crate::record::pool::{self, BLOCK_SLOTS, Pool};
use crate::record::window::Spare;
use std::sync::atomic::compiler_fence;

/// Windows whose blocks a thread keeps at hand: those of 64 communicators that were made one after the other.
const CACHE: usize = if cfg!(loom) { 2 } else { 256 };

/// Returns the place in the cache for a window's block.
fn place_of(window: u32) -> usize {
    window as usize % CACHE
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

/// The blocks that a thread keeps at hand. Only the owning thread reads or writes them.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
pub(crate) struct Blocks([Cached; CACHE]);

impl Blocks {
    /// Turns zeroed memory into an empty cache.
    pub(super) fn begin(&self) {
        for cached in &self.0 {
            cached.window.store(pool::NONE, Ordering::Relaxed);
            cached.next.store(BLOCK_SLOTS, Ordering::Relaxed);
        }
    }

    /// Returns the next free place in the thread's block of `window`: (block, place, generation). `None` when the
    /// thread has no such block or the block is full.
    #[inline(always)]
    pub(crate) fn place(&self, pool: &Pool, window: u32) -> Option<(u32, u32, u32)> {
        let cached = &self.0[place_of(window)];
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

    /// Keeps a block of `window` at hand, with free places from `place` on. Returns the block that it replaces, with
    /// its window, if that has free places left.
    pub(crate) fn keep(&self, window: u32, Spare { block, place, generation }: Spare) -> Option<(u32, Spare)> {
        let cached = &self.0[place_of(window)];
        let before = Spare {
            block: cached.block.load(Ordering::Relaxed),
            place: cached.next.load(Ordering::Relaxed),
            generation: cached.generation.load(Ordering::Relaxed),
        };
        let window_before = cached.window.load(Ordering::Relaxed);
        let left = window_before != window && window_before != pool::NONE && before.place < BLOCK_SLOTS;
        // a signal handler may make a callback at any place here: then the thread has no block of either window
        cached.window.store(pool::NONE, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        cached.block.store(block, Ordering::Relaxed);
        cached.generation.store(generation, Ordering::Relaxed);
        cached.next.store(place, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        cached.window.store(window, Ordering::Relaxed);
        left.then_some((window_before, before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::thread::ThreadCell;

    #[test]
    fn places_run_out_and_die_with_their_block() {
        let pool = Pool::new(2 * 4096).unwrap();
        let blocks = &ThreadCell::new().unwrap().blocks;
        assert_eq!(blocks.place(&pool, 9), None);
        let block = pool.take().unwrap();
        let generation = pool.block(block).unwrap().generation();
        assert_eq!(blocks.keep(9, Spare { block, place: 0, generation }), None);
        assert_eq!(blocks.place(&pool, 9), Some((block, 0, generation)));
        assert_eq!(blocks.place(&pool, 9 + CACHE as u32), None);
        let other = 9 + CACHE as u32;
        let left = blocks.keep(other, Spare { block, place: 5, generation });
        assert_eq!(left, Some((9, Spare { block, place: 1, generation })));
        pool.give_back(block);
        assert_eq!(blocks.place(&pool, other), None);
    }
}
