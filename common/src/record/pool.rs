//! The recording memory: one bounded pool of blocks of slots.
//!
//! Every window of every communicator takes its blocks from the pool, and the collector gives them back after reading.
//! A block serves one thread and one window at a time. Its generation grows when it is given back, so all handles into
//! it become invalid at that moment.

use crate::base::mapping::{Mapping, Zeroed};
use crate::base::sync::{AtomicU32, AtomicU64, Ordering};
use crate::event::handle::{GENERATION_BITS, Handle, INDEX_MASK};
use crate::record::slot::Slot;
use std::io;

/// Slots in a block: one page. Few in a model.
pub const BLOCK_SLOTS: u32 = if cfg!(loom) { 2 } else { 64 };
/// Most slots that a pool can have. Indices from here on name no slot.
pub const MOST_SLOTS: usize = 1 << 27;
/// Marks the absence of a block.
pub const NONE: u32 = u32::MAX;

/// Administration of a block.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
pub struct Block {
    generation: AtomicU32,
    window: AtomicU32,
    next: AtomicU32,
}

// SAFETY: a slot is atomic integers, which are valid as zeros and have no drop.
unsafe impl Zeroed for Slot {}
// SAFETY: a block's fields are atomic integers, too.
unsafe impl Zeroed for Block {}

impl Block {
    /// Returns the current generation. Handles with another one are dead.
    #[inline(always)]
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Returns the number of the window that the block serves.
    #[inline(always)]
    pub fn window(&self) -> u32 {
        self.window.load(Ordering::Relaxed)
    }

    /// Assigns the block to a window. Only the thread that took the block calls this, before another thread can know of
    /// it.
    pub fn assign(&self, window: u32) {
        self.window.store(window, Ordering::Relaxed);
    }

    /// Returns the next block in the list of this block.
    pub fn next(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    /// Links the block in front of `next`.
    pub fn link(&self, next: u32) {
        self.next.store(next, Ordering::Relaxed);
    }
}

/// All recording memory of the process.
#[derive(Debug)]
pub struct Pool {
    slots: Mapping<Slot>,
    blocks: Mapping<Block>,
    /// Blocks below this index were in use at least once.
    fresh: AtomicU32,
    /// Blocks below this index have memory. Only the collector writes it.
    committed: AtomicU32,
    /// Free list: the first block's index + 1 (0 for none) in the lower half, a count of changes in the upper half. The
    /// count shows when an index has gone and come back between the look and the exchange (ABA).
    free: AtomicU64,
    in_use: AtomicU32,
}

impl Pool {
    /// Makes a pool of at most `bytes` bytes of slots, and of at least one block.
    ///
    /// # Errors
    /// When the system refuses the address space.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let largest = MOST_SLOTS / BLOCK_SLOTS as usize;
        let count = (bytes / size_of::<Slot>() / BLOCK_SLOTS as usize).clamp(1, largest);
        Ok(Self {
            slots: Mapping::new(count * BLOCK_SLOTS as usize)?,
            blocks: Mapping::new(count)?,
            fresh: AtomicU32::new(0),
            committed: AtomicU32::new(0),
            free: AtomicU64::new(0),
            in_use: AtomicU32::new(0),
        })
    }

    /// Takes a block: one that was given back, else one that was never used. `None` when all are in use. Lock-free.
    pub fn take(&self) -> Option<u32> {
        let mut free = self.free.load(Ordering::Acquire);
        while let Some(block) = (free as u32).checked_sub(1) {
            let next = self.blocks[block as usize].next().wrapping_add(1);
            let changed = ((free >> 32) + 1) << 32 | u64::from(next);
            match self.free.compare_exchange_weak(free, changed, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    self.in_use.fetch_add(1, Ordering::Relaxed);
                    return Some(block);
                }
                Err(now) => free = now,
            }
        }
        let fresh = |block: u32| ((block as usize) < self.blocks.len()).then_some(block + 1);
        let block = self.fresh.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fresh).ok()?;
        self.in_use.fetch_add(1, Ordering::Relaxed);
        // generation 0 is never handed out, so untouched memory holds no event
        self.blocks[block as usize].generation.store(1, Ordering::Relaxed);
        Some(block)
    }

    /// Gives a block back; its events and handles are dead from now on. Only the collector calls this, when no thread
    /// can be about to start an event in the block (see `grace`).
    pub fn give_back(&self, block: u32) {
        let Some(entry) = self.blocks.get(block as usize) else { return };
        self.in_use.fetch_sub(1, Ordering::Relaxed);
        let next = (entry.generation() + 1) & ((1 << GENERATION_BITS) - 1);
        entry.generation.store(next.max(1), Ordering::Relaxed);
        let mut free = self.free.load(Ordering::Relaxed);
        loop {
            entry.link((free as u32).wrapping_sub(1));
            let changed = ((free >> 32) + 1) << 32 | u64::from(block + 1);
            match self.free.compare_exchange_weak(free, changed, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => free = now,
            }
        }
    }

    /// Has the system provide memory for `blocks` blocks ahead that were never used, which takes a microsecond each.
    /// The collector does so, to spare callbacks that time.
    pub fn commit_ahead(&self, blocks: u32) {
        let committed = self.committed.load(Ordering::Relaxed);
        let wanted = self.fresh.load(Ordering::Relaxed).saturating_add(blocks).min(self.blocks.len() as u32);
        for block in committed..wanted {
            if let Some(slot) = self.slot(block, 0) {
                slot.touch();
            }
        }
        self.committed.store(wanted.max(committed), Ordering::Relaxed);
    }

    /// Returns whether more than half of the memory is in use.
    pub fn is_pressed(&self) -> bool {
        self.in_use.load(Ordering::Relaxed) as usize > self.blocks.len() / 2
    }

    /// Returns the block of that index.
    #[inline(always)]
    pub fn block(&self, block: u32) -> Option<&Block> {
        self.blocks.get(block as usize)
    }

    /// Returns the slot at a place within a block.
    #[inline(always)]
    pub fn slot(&self, block: u32, place: u32) -> Option<&Slot> {
        self.slots.get(Self::index(block, place) as usize)
    }

    /// Returns all slots of a block.
    pub fn slots(&self, block: u32) -> &[Slot] {
        let first = Self::index(block, 0) as usize;
        self.slots.get(first..first + BLOCK_SLOTS as usize).unwrap_or_default()
    }

    /// Returns the index of the slot at a place within a block.
    #[inline(always)]
    pub fn index(block: u32, place: u32) -> u32 {
        block * BLOCK_SLOTS + place
    }

    /// Returns the slot that holds the event of that handle, even if its block was given back.
    #[inline(always)]
    pub fn holding(&self, handle: u64) -> Option<&Slot> {
        self.slots.get((handle & INDEX_MASK) as usize).filter(|slot| slot.holds(handle))
    }

    /// Returns the slot and the block that a handle names, if the handle is alive.
    #[inline(always)]
    pub fn find(&self, handle: Handle) -> Option<(&Slot, &Block)> {
        let block = self.blocks.get((handle.index() / BLOCK_SLOTS) as usize)?;
        let slot = self.slots.get(handle.index() as usize)?;
        (block.generation() == handle.generation()).then_some((slot, block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::kind::EventKind;
    use std::collections::HashSet;

    #[test]
    fn hands_out_each_block_once_and_no_more_than_there_are() {
        let pool = Pool::new(10 * 4096).unwrap();
        let taken: Vec<u32> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(taken.len(), 10);
        assert_eq!(taken.iter().collect::<HashSet<_>>().len(), 10);
        pool.give_back(3);
        pool.give_back(7);
        assert_eq!((pool.take(), pool.take(), pool.take()), (Some(7), Some(3), None));
    }

    #[test]
    fn handles_die_when_their_block_is_given_back() {
        let pool = Pool::new(4096).unwrap();
        let block = pool.take().unwrap();
        let generation = pool.block(block).unwrap().generation();
        let handle = Handle::of_event(EventKind::Coll, Pool::index(block, 5), generation);
        assert!(pool.holding(handle.raw()).is_none());
        pool.slot(block, 5).unwrap().start(handle, 0, 1, [0; 4]);
        assert!(pool.find(handle).is_some() && pool.holding(handle.raw()).is_some());
        pool.give_back(block);
        assert!(pool.find(handle).is_none());
        let again = pool.take().unwrap();
        let generation = pool.block(again).unwrap().generation();
        assert!(pool.slot(again, 5).unwrap().read(generation).is_none());
    }

    #[test]
    fn threads_never_share_a_block() {
        let pool = Pool::new(64 * 4096).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        let Some(block) = pool.take() else { continue };
                        let entry = pool.block(block).unwrap();
                        entry.assign(block + 1);
                        std::hint::spin_loop();
                        assert_eq!(entry.window(), block + 1);
                        entry.assign(0);
                        pool.give_back(block);
                    }
                });
            }
        });
        assert_eq!(std::iter::from_fn(|| pool.take()).count(), 64);
    }

    #[test]
    fn handles_that_point_past_the_pool_find_nothing() {
        let pool = Pool::new(4096).unwrap();
        assert!(pool.find(Handle::new(1 << 20, 1)).is_none());
        assert!(pool.find(Handle::group_api()).is_none());
    }
}
