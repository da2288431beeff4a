//! Handles and context identifiers: numbers that NCCL hands back, never pointers.
//!
//! NCCL gives back stale, foreign (PXN) and stopped handles in ordinary runs, so nothing it hands back is dereferenced. A number
//! packs a nonce of this process, a generation and an index; the owner of the index compares the generation at every use.
//!
//! ```text
//! bit 63      56 55                28 27                 0
//!     [ nonce 8 ][   generation 28   ][     index 28      ]
//! ```

use std::sync::atomic::{AtomicU8, Ordering};

/// Number of bits of the index.
pub const INDEX_BITS: u32 = 28;
/// Number of bits of the generation.
pub const GENERATION_BITS: u32 = 28;
const MASK: u64 = (1 << INDEX_BITS) - 1;
/// Indices from here on name no slot: they are the handles of events that need none.
const SLOTLESS: u32 = (1 << INDEX_BITS) - 16;

static NONCE: AtomicU8 = AtomicU8::new(0);

/// An event handle or a context identifier, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(u64);

impl Handle {
    /// The handle of an API group: it takes no slot, since only the time between its callbacks on one thread counts.
    pub fn group_api() -> Self {
        Self::new(SLOTLESS, 0)
    }

    /// Packs an index (a slot or a context) with its generation.
    #[inline(always)]
    pub fn new(index: u32, generation: u32) -> Self {
        let generation = u64::from(generation) & MASK;
        Self(u64::from(nonce()) << 56 | generation << INDEX_BITS | u64::from(index) & MASK)
    }

    /// What NCCL handed back, if this process could have given it. `None` for NULL and for another process' numbers.
    #[inline(always)]
    pub fn parse(raw: u64) -> Option<Self> {
        // 0 as long as no handle was given
        let nonce = NONCE.load(Ordering::Relaxed);
        (nonce != 0 && raw >> 56 == u64::from(nonce)).then_some(Self(raw))
    }

    /// The number to give to NCCL; never 0.
    #[inline(always)]
    pub fn raw(self) -> u64 {
        self.0
    }

    /// Index of the slot or context.
    #[inline(always)]
    pub fn index(self) -> u32 {
        (self.0 & MASK) as u32
    }

    /// Generation of the slot's block or of the context.
    #[inline(always)]
    pub fn generation(self) -> u32 {
        (self.0 >> INDEX_BITS & MASK) as u32
    }

    /// True for a handle of [`Handle::group_api`].
    #[inline(always)]
    pub fn is_slotless(self) -> bool {
        self.index() >= SLOTLESS
    }
}

/// A number from 1 to 255 that differs between processes with probability 254/255, so that another process' handle (PXN) is
/// most likely seen at once. The process id in a proxy operation is the surer test, but two containers may have the same one.
#[inline(always)]
fn nonce() -> u8 {
    match NONCE.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: the kernel gives every process 16 random bytes, which stay where they are.
            let random = unsafe { (libc::getauxval(libc::AT_RANDOM) as *const u8).as_ref() };
            let nonce = random.map_or_else(|| std::process::id() as u8, |&byte| byte).max(1);
            NONCE.store(nonce, Ordering::Relaxed);
            nonce
        }
        nonce => nonce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_and_unpacks() {
        let handle = Handle::new(123_456, 0x0FFF_FFFF);
        assert_eq!(Handle::parse(handle.raw()), Some(handle));
        assert_eq!((handle.index(), handle.generation()), (123_456, 0x0FFF_FFFF));
        assert!(!handle.is_slotless());
        assert!(Handle::group_api().is_slotless());
    }

    #[test]
    fn null_and_foreign_numbers_are_refused() {
        assert_eq!(Handle::parse(0), None);
        let raw = Handle::new(1, 1).raw();
        assert_eq!(Handle::parse(raw ^ 1 << 60), None);
    }

    #[test]
    fn generations_wrap_within_their_bits() {
        assert_eq!(Handle::new(7, 1 << GENERATION_BITS).generation(), 0);
    }
}
