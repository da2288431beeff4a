//! The atomics of what callbacks and the collector share: the standard library's, or those of the model checker (`--cfg loom`, see
//! `tests/loom.rs`). Statics keep the standard library's, since a model begins anew at every interleaving.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering, fence};
