//! Atomics and locks that callbacks and the collector share: from the standard library, or from the model checker
//! (`--cfg loom`, see `tests/models`). Statics that only count use the standard library's atomics, because loom starts
//! a model anew for every interleaving.

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
