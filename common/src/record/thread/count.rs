//! A counter of a thread's cell.

use crate::base::sync::{AtomicU64, Ordering};

/// A counter with one writer.
#[derive(Debug, Default)]
pub struct Count(pub(super) AtomicU64);

impl Count {
    /// Adds an amount. Only the owning thread may call this.
    #[inline(always)]
    pub fn add(&self, amount: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).saturating_add(amount), Ordering::Relaxed);
    }

    /// Adds one. For counters that grow only by one and so never reach their limit.
    #[inline(always)]
    pub fn one(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Returns the counter itself, for reading only.
    pub fn value(&self) -> &AtomicU64 {
        &self.0
    }

    /// Returns the value as last written.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
