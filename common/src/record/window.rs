//! Windows: the events that a communicator records between two roll-overs.
//!
//! Every communicator has four windows. One is FILLING. When it is full or old, it is CLOSING: its events go on to
//! their stops, and it takes their children. Then it is PROCESSING: the collector reads it for the last time. Then it
//! is READY to be filled again.
//!
//! ```text
//! READY ──rotate──► FILLING ──count, time, finalize──► CLOSING ──all stopped, or deadline──► PROCESSING ──► READY
//! ```
//! Callbacks make the first two changes, the collector the other two.

use crate::base::sync::{AtomicU32, AtomicU64, Ordering};
use crate::record::pool::Pool;

/// Windows of a communicator.
pub const WINDOWS: u32 = 4;

/// State of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WindowState {
    /// Empty.
    Ready = 0,
    /// Takes new events.
    Filling = 1,
    /// Takes only children of its events.
    Closing = 2,
    /// Takes nothing.
    Processing = 3,
}

/// A window. All zero is an empty, READY one.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
pub struct Window {
    state: AtomicU32,
    /// Index + 1 of the block added last; 0 for none. Each block is linked to the one added before it; `NONE` ends the
    /// list.
    head: AtomicU32,
    blocks: AtomicU32,
    opened: AtomicU64,
    /// A partly used block that its thread had no more room to keep, see [`Spare`]; 0 for none.
    spare: AtomicU64,
}

/// A block with free places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spare {
    /// Block.
    pub block: u32,
    /// First free place.
    pub place: u32,
    /// The block's generation. If the block has another one by now, the spare is worthless.
    pub generation: u32,
}

impl Window {
    /// Returns the current state.
    #[inline(always)]
    pub fn state(&self) -> WindowState {
        match self.state.load(Ordering::Acquire) {
            1 => WindowState::Filling,
            2 => WindowState::Closing,
            3 => WindowState::Processing,
            _ => WindowState::Ready,
        }
    }

    /// Returns whether children of this window's events may still join it.
    #[inline(always)]
    pub fn takes_children(&self) -> bool {
        matches!(self.state(), WindowState::Filling | WindowState::Closing)
    }

    /// Changes the state from `from` to `to`. Returns false if the state was another.
    pub fn change(&self, from: WindowState, to: WindowState) -> bool {
        self.state.compare_exchange(from as u32, to as u32, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Returns when the window began to fill, in ticks.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Sets when the window begins to fill, in ticks.
    pub fn open_at(&self, time: u64) {
        self.opened.store(time, Ordering::Relaxed);
    }

    /// Returns the number of blocks in the window.
    pub fn blocks(&self) -> u32 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Adds a block that the calling thread has taken. Returns the number of blocks in the window.
    pub fn add(&self, pool: &Pool, block: u32) -> u32 {
        let mut head = self.head.load(Ordering::Relaxed);
        if let Some(entry) = pool.block(block) {
            loop {
                entry.link(head.wrapping_sub(1));
                match self.head.compare_exchange_weak(head, block + 1, Ordering::Release, Ordering::Relaxed) {
                    Ok(_) => break,
                    Err(now) => head = now,
                }
            }
        }
        self.blocks.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Leaves a partly used block for the next thread that needs one. A block that was left before is lost.
    pub fn leave(&self, Spare { block, place, generation }: Spare) {
        let packed = u64::from(generation) << 36 | u64::from(place) << 28 | u64::from(block + 1);
        self.spare.store(packed, Ordering::Release);
    }

    /// Takes the block that was left. The caller checks its generation.
    pub fn adopt(&self) -> Option<Spare> {
        if self.spare.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let packed = self.spare.swap(0, Ordering::Acquire);
        let block = (packed as u32 & 0x0FFF_FFFF).checked_sub(1)?;
        Some(Spare { block, place: (packed >> 28) as u32 & 0xFF, generation: (packed >> 36) as u32 })
    }

    /// Returns the block added last.
    pub fn newest(&self) -> Option<u32> {
        self.head.load(Ordering::Acquire).checked_sub(1)
    }

    /// Empties the window. The collector gives the blocks back itself and calls this in PROCESSING only.
    pub fn clear(&self) {
        self.head.store(0, Ordering::Relaxed);
        self.blocks.store(0, Ordering::Relaxed);
        self.spare.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::mapping::{Mapping, Zeroed};

    struct Zero(Window);
    // SAFETY: a window is atomic integers, valid as zeros, without drop.
    unsafe impl Zeroed for Zero {}

    #[test]
    fn a_zeroed_window_is_ready_and_empty() {
        let windows = Mapping::<Zero>::new(1).unwrap();
        assert_eq!(windows[0].0.state(), WindowState::Ready);
        assert_eq!((windows[0].0.newest(), windows[0].0.blocks()), (None, 0));
    }

    #[test]
    fn states_change_only_from_what_they_are() {
        let windows = Mapping::<Zero>::new(1).unwrap();
        let window = &windows[0].0;
        assert!(window.change(WindowState::Ready, WindowState::Filling));
        assert!(!window.change(WindowState::Ready, WindowState::Filling));
        assert!(window.takes_children());
        assert!(window.change(WindowState::Filling, WindowState::Closing));
        assert!(window.takes_children());
        assert!(window.change(WindowState::Closing, WindowState::Processing));
        assert!(!window.takes_children());
    }

    #[test]
    fn a_spare_block_is_handed_on_once() {
        let windows = Mapping::<Zero>::new(1).unwrap();
        let spare = Spare { block: 77, place: 63, generation: 0x0FFF_FFFF };
        windows[0].0.leave(spare);
        assert_eq!((windows[0].0.adopt(), windows[0].0.adopt()), (Some(spare), None));
    }

    #[test]
    fn blocks_are_linked_newest_first() {
        let windows = Mapping::<Zero>::new(1).unwrap();
        let window = &windows[0].0;
        let pool = Pool::new(3 * 4096).unwrap();
        let blocks: Vec<u32> = std::iter::from_fn(|| pool.take()).collect();
        let counts: Vec<u32> = blocks.iter().map(|&block| window.add(&pool, block)).collect();
        assert_eq!(counts, [1, 2, 3]);
        let mut found = vec![];
        let mut next = window.newest();
        while let Some(block) = next {
            found.push(block);
            next = pool.block(block).map(|entry| entry.next()).filter(|&next| next != crate::record::pool::NONE);
        }
        found.reverse();
        assert_eq!(found, blocks);
    }
}
