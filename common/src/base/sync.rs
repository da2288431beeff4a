//! What callbacks and the collector share is made of this: the standard library's atomics, or those of the model checker (`--cfg loom`,
//! see `tests/models`). Statics that only count keep the standard library's, since a model begins anew at every interleaving.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering, fence},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex, OnceLock,
    atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering, fence},
};

/// The standard library's, as the model checker sees it: whoever finds a value sees what was written before it was set.
#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    is_set: AtomicBool,
}

#[cfg(loom)]
impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self { value: std::sync::OnceLock::new(), is_set: AtomicBool::new(false) }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.is_set.load(Ordering::Acquire).then(|| self.value.get()).flatten()
    }

    /// Not by two threads at a time.
    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        let value = self.value.get_or_init(make);
        self.is_set.store(true, Ordering::Release);
        value
    }
}
