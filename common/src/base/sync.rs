//! Atomics and locks that callbacks and the collector share: from the standard library, or from the model checker
//! (`--cfg loom`, see `tests/models`). Statics that only count use the standard library's atomics, because loom starts
//! a model anew for every interleaving.

#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell;
#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence},
};

/// A cell whose content one thread at a time touches, as the model checker has it.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    /// Makes a cell with this content.
    pub(crate) fn new(content: T) -> Self {
        Self(std::cell::UnsafeCell::new(content))
    }

    /// Passes the content's address on.
    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, touches: impl FnOnce(*mut T) -> R) -> R {
        touches(self.0.get())
    }
}
